"""The data sets that labs train on."""

from course.data.sets import DataError, Digits, Pairs, digits, sentence_pairs

__all__ = ["DataError", "Digits", "Pairs", "digits", "sentence_pairs"]
