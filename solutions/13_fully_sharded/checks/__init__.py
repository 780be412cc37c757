"""Checks of lab 13."""
