"""What runs beside the student's code of lab 08: calls of each TODO's function, and what they show."""
