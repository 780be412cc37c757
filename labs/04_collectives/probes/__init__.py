"""What runs beside the student's code: calls of each TODO, and what each of them shows."""
