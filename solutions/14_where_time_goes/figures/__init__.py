"""Pictures of lab 14."""
