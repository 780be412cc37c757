"""What runs beside a student's code in lab 14."""
