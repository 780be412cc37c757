"""Starts that hold whatever the home is like: what lies elsewhere, what is copied there, and what is told of it."""
