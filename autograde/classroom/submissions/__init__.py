"""What students hand in: how it is collected, found and read."""
