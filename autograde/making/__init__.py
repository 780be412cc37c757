"""Makes labs for students out of their source."""
