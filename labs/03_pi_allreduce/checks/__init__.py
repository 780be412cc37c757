"""What each TODO of lab 03 must show: who evaluates which midpoint, what ranks communicate, what they return."""

RANKS = 4
