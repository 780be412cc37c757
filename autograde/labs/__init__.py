"""What a lab is on disk: its source, checks, questions, and known answers."""
