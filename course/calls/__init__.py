"""What is called in another process, and what it finds there."""
