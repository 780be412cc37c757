"""What is kept in the gradebook while a lab changes, and how it is shared with other programs."""
