"""Pages for the instructor on how a class did, and what they are made from."""
