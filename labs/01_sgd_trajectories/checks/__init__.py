"""Checks of lab 01: a gradient by hand, the path of SGD, gradients accumulated over micro-batches."""

RANKS = 1
