"""Checks of lab 09."""

RANKS = 4
