"""Figures and animations, one idea per file."""
