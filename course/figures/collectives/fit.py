"""Latency and bandwidth from measured times, and where one plan overtakes another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Sample(NamedTuple):
    """A measured collective: rounds that follow each other, bytes of a message in each, and seconds in all."""

    rounds: int
    nbytes: float
    seconds: float


def fit_alpha_beta(samples: Sequence[Sample]) -> tuple[float, float]:
    """alpha in seconds and beta in seconds per byte, of seconds = rounds (alpha + beta nbytes); neither is negative.

    By least squares of *relative* errors: with plain ones the largest arrays would decide alone, and leave an alpha
    that means nothing.
    """
    rows = np.array([[each.rounds / each.seconds, each.rounds * each.nbytes / each.seconds] for each in samples])
    scale = rows.max(axis=0)
    alpha, beta = np.linalg.lstsq(rows / scale, np.ones(len(rows)), rcond=None)[0] / scale
    if alpha < 0:
        alpha, beta = 0.0, only(rows[:, 1])
    elif beta < 0:
        alpha, beta = only(rows[:, 0]), 0.0
    return float(alpha), float(beta)


def only(column: np.ndarray) -> float:
    """The best factor if there is nothing but this column."""
    return float(column.sum() / (column @ column))


def tree_seconds(nbytes: float, size: int, alpha: float, beta: float) -> float:
    """An all-reduce by a tree: reduce, then broadcast, of whole arrays."""
    return 2 * (size - 1).bit_length() * (alpha + beta * nbytes)


def ring_seconds(nbytes: float, size: int, alpha: float, beta: float) -> float:
    """An all-reduce around a ring, of chunks."""
    return 2 * (size - 1) * (alpha + beta * nbytes / size)


def crossing(alpha: float, beta: float, size: int) -> float | None:
    """From how many bytes on the ring is faster than the tree; None if it never is."""
    rounds = (size - 1) - (size - 1).bit_length()  # that the ring takes more, each way
    saved = (size - 1).bit_length() - (size - 1) / size  # arrays that it moves less, each way
    if saved <= 0 or beta <= 0:
        return None
    return max(0.0, rounds * alpha / (saved * beta))
