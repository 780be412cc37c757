"""What each TODO of lab 09 must show: the same start, averages, when each of them left, and that nothing is waited for
too soon or never."""

RANKS = 4
