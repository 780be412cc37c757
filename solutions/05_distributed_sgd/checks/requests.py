"""What the parameter server's two sides share: its tags, gradients, what is kept of long arrays, and who is stuck."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograde.contract.calls import type_in_words
from autograde.verdicts.judged import Run

PULL, PUSH, DONE = 1, 2, 3
TWO = "a worker and rank 0"  # who exchanges messages
TOKEN = 77  # tag of the check's own messages between workers: whose turn it is
KEPT = 6  # numbers that are kept of an array


def draw(seed: int, count: int) -> np.ndarray:
    """An array [count], the same wherever it is drawn."""
    return np.random.default_rng(seed).uniform(-1, 1, count)


def kept(values: np.ndarray) -> list[float]:
    """Some of the numbers of an array, and two sums over all of them."""
    middle, weights = values[len(values) // 2], np.cos(np.arange(len(values)))
    return [float(each) for each in (values[0], values[1], middle, values[-1], values.sum(), values @ weights)]


def like_array(value: Any, count: int) -> np.ndarray | None:
    """`value` if it is a float64 array [count] of finite numbers."""
    fits = isinstance(value, np.ndarray) and value.shape == (count,) and value.dtype == np.float64
    return value if fits and np.isfinite(value).all() else None


def in_words(value: Any) -> str:
    """What a value is."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, of shape {list(value.shape)}"
    return type_in_words(value)


def own_messages(run: Run) -> list[list[dict]]:
    """What each rank communicated in the call in which a run stopped, without the check's own."""
    return [[event for event in log if event["tag"] != TOKEN] for log in run.of_call(run.reached)]


def open_call(log: Sequence[dict]) -> dict | None:
    """The call in which a rank waits."""
    waiting = [event for event in log if event["end"] is None]
    return waiting[-1] if waiting else None
