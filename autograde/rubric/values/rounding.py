"""Equal but for rounding: the one place that says how near two numbers have to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

DIGITS = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "float64": 1e-12}  # what the order of a sum may change


@dataclass(frozen=True)
class Rounding:
    """Compares numbers, and lists of them inside each other.

    relative: of the expected number, and of `least` at least. Where an int is expected, it is compared exactly, as an
    int.
    """

    relative: float = DIGITS["float64"]
    least: float = 1.0

    @classmethod
    def of(cls, dtype: str) -> Rounding:
        """What the order of adding may change in this dtype; nothing in an integer."""
        return cls(DIGITS.get(dtype, 0.0))

    def __call__(self, actual: Any, expected: Any) -> bool:
        """Whether `actual`, which may be anything, is what is expected."""
        if isinstance(expected, (list, tuple)):
            alike = isinstance(actual, (list, tuple)) and len(actual) == len(expected)
            return alike and all(map(self, actual, expected))
        if expected is None or isinstance(expected, (bool, str)):
            return type(actual) is type(expected) and actual == expected
        if isinstance(actual, bool) or not isinstance(actual, (int, float)):
            return False
        if isinstance(expected, int):
            return actual == expected
        return abs(actual - expected) <= self.relative * max(self.least, abs(expected))


EXACT = Rounding()  # what the order of a sum may change in float64
KNOWN = Rounding(1e-6)  # as near to what a mistake gives, a number is taken to come of it
SINGLE = Rounding(1e-5)  # as near to what is expected, a number went through float32
DOUBLE = Rounding(2.0**-40)  # as near to an int, a number went through float64
