"""What each TODO of lab 06 must show: which rank draws which sample in which epoch, and that each counts once."""

RANKS = 4
