"""Checks of lab 01: a gradient by hand, the path of SGD, gradients accumulated over micro-batches.

Expected gradients come from autograd. A path is judged by the samples that its steps used, not by how it shuffles.
"""

RANKS = 1
