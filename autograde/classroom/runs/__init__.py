"""A grading while it runs: how far it is, and how it goes on without a terminal."""
