"""What each TODO of lab 05 must show: gradients and paths of one process, and messages in time."""

RANKS = 4
