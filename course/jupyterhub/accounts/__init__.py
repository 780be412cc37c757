"""The accounts of a hub that root starts: their names, homes, and what they can read."""
