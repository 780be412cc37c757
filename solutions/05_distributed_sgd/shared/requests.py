"""Tags of the parameter server's messages, and the arrays that a call draws."""

from __future__ import annotations

import numpy as np

PULL, PUSH, DONE = 1, 2, 3
TURN = 77  # tag of the messages by which the check's workers tell each other whose turn it is


def drawn(seed: int, count: int) -> np.ndarray:
    """An array [count], the same wherever it is drawn."""
    return np.random.default_rng(seed).uniform(-1, 1, count)


def gradient_of(call: dict, number: int) -> np.ndarray:
    """The gradient that the entry `number` of a call's script pushes."""
    return drawn(call["seed"] + 1 + number, call["count"])


def parameters_of(call: dict, rank: int, number: int) -> np.ndarray:
    """What the check's server answers to the PULL `number` of a rank: each time something else."""
    return drawn(call["seed"] + 100 * rank + number, call["count"])


def gradient_at(parameters: np.ndarray) -> np.ndarray:
    """A gradient that tells parameters apart."""
    return 3 * parameters + np.cos(7 * parameters)
