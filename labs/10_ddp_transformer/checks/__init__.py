"""What each TODO of lab 10 must show: N ranks train as one process does, and what they communicate for it.

Models are tiny and in float64; sentences are told apart by their ids. What is expected is computed in one process.
"""

RANKS = 4
