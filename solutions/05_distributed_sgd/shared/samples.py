"""Samples and learning rates of `distributed_path`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def samples(call: dict) -> tuple[np.ndarray, np.ndarray]:
    """x and y of a call, each [N]."""
    draw = np.random.default_rng(call["data"])
    return draw.uniform(-1.5, 2.5, call["samples"]), draw.uniform(-1.5, 2.5, call["samples"])


def rate_of(call: dict) -> Callable[[int], float]:
    """The learning rate by step."""
    return lambda step: call["rate"] / (1 + 0.13 * step)
