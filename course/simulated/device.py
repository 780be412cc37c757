"""A device that takes as long as it should, and computes nothing."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class SimulatedDevice:
    """A device that makes so many floating-point operations per second. Raises ValueError unless that is positive.

    It sleeps instead of computing: four ranks that share two cores scale as four nodes do.
    """

    flops_per_second: float

    def __post_init__(self) -> None:
        if not self.flops_per_second > 0:
            raise ValueError(f"A device makes a positive number of operations per second, not {self.flops_per_second}.")

    def compute(self, flops: float) -> None:
        """Take as long as so many operations do."""
        time.sleep(flops / self.flops_per_second)
