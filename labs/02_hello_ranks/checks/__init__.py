"""What each TODO of lab 02 must show: what every rank returns, what it sends to whom, and who waits for whom."""

RANKS = 4
