"""Checks of lab 14."""
