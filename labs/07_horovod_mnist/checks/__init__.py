"""What each TODO of lab 07 must show: the device, who draws what, steps, one start, exact means, who writes; a record.

What ranks compute is compared with a replay of all of them in one process, `autograde.rubric.training.replay`.
"""

RANKS = 4
