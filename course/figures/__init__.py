"""Figures and animations, one idea a file."""
