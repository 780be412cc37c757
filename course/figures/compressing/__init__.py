"""Pictures of how to send less: fewer bits for each number, fewer numbers, fewer times."""
