"""The curve of lab 03, and the parts of its area that a `partial_sum` of the check's returns."""

from __future__ import annotations

import math
import random
from typing import Any

# By so much, relative, the curve that a student's code calls is off: less than counts as wrong, and more than rounding
# does. So the sum of what the ranks were given is told from one that each of them worked out alone.
OFF = 5e-13


def curve(x: Any) -> Any:
    """What the lab integrates."""
    return 4.0 / (1.0 + x * x)


def curve_of_check(x: Any) -> Any:
    """The curve that a student's code calls."""
    return curve(x) * (1 + OFF)


def weights_of(seed: int, size: int) -> list[float]:
    """How large the ranks' parts of a call are, of 1."""
    rng = random.Random(seed)
    sizes = [rng.uniform(0.5, 1.5) for _ in range(size)]
    return [each / math.fsum(sizes) for each in sizes]


def share_of(weights: list[float], intervals: int, rank: int) -> float:
    """The part of the whole that is a rank's, of 1: where there are fewer intervals than ranks, the last ranks have
    none. weights: by rank."""
    busy = weights[: max(1, intervals)]
    return weights[rank] / math.fsum(busy) if rank < len(busy) else 0.0
