"""What each TODO of lab 04 must show: what every rank returns, and which messages brought it there."""

RANKS = 4
