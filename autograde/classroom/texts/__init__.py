"""Answers in words: shown without harm, and scored all at once."""
