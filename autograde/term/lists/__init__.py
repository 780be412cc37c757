"""Lists of students and marks, as other systems write them."""
