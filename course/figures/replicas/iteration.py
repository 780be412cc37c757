"""One iteration of data parallelism in numbers: three ranks, two samples each, and the line y = m x + n."""

from __future__ import annotations

from collections.abc import Sequence

Pair = tuple[float, float]  # slope and intercept, or the gradient by them
Samples = Sequence[tuple[float, float]]  # (x, y)

SHARES: tuple[Samples, ...] = (((-2.0, -1.0), (-1.0, 1.0)), ((0.0, 0.5), (1.0, 2.5)), ((2.0, 2.0), (3.0, 4.0)))
RATE = 0.1
START: Pair = (0.0, 0.0)
APART: tuple[Pair, ...] = ((0.0, 0.0), (1.0, 2.5), (-0.5, 3.5))  # what ranks draw if nobody tells them


def loss(weights: Pair, samples: Samples) -> float:
    """The mean squared error of a line."""
    m, n = weights
    return sum((m * x + n - y) ** 2 for x, y in samples) / len(samples)


def gradient(weights: Pair, samples: Samples) -> Pair:
    """The gradient of `loss` by slope and intercept."""
    m, n = weights
    errors = [(2 * (m * x + n - y), x) for x, y in samples]
    return sum(error * x for error, x in errors) / len(samples), sum(error for error, _ in errors) / len(samples)


def mean(gradients: Sequence[Pair]) -> Pair:
    """What all ranks have after the all-reduce."""
    return sum(m for m, _ in gradients) / len(gradients), sum(n for _, n in gradients) / len(gradients)


def stepped(weights: Pair, direction: Pair) -> Pair:
    """The weights after a step of SGD."""
    return weights[0] - RATE * direction[0], weights[1] - RATE * direction[1]
