"""What each TODO of lab 08 must show: what a launcher says, one training on any number of ranks, honest times."""

RANKS = 4
