"""What each TODO of lab 05 must show: the numbers, which rank used which samples, and what was sent to whom."""

RANKS = 4
