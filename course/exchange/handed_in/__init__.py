"""What a student has handed in: what is in it, which one counts, what was given back on it."""
