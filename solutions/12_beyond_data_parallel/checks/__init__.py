"""What each TODO of lab 12 must show: a model that is split computes what one process does, forward and backward."""

RANKS = 4
