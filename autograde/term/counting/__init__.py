"""Which of a student's hand-ins counts, for instructors."""
