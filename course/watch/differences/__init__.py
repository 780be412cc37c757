"""What differs between the ranks of a run, though it should not, from the record of what they communicated."""

from course.watch.differences.all_differences import differences, waiting_for_ever
from course.watch.differences.difference import Difference, in_words

__all__ = ["Difference", "differences", "in_words", "waiting_for_ever"]
