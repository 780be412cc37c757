"""Verdicts on numbers that ranks returned, as `autograde.probes.described` gives them."""

from __future__ import annotations

from typing import Any

from autograde.check import Finding
from autograde.findings import Findings

TOLERANCE = 1e-12  # what the order of a sum may change
SINGLE = 1e-5  # relative errors below this, and above the tolerance, are what float32 leaves

finding = Findings("""
no-number 3
What rank {rank} of {size} returns is of type {kind}, and there is no finite number in it.

not-a-float 1
What rank {rank} of {size} returns is of type {kind}. The lab asks for a float (numpy's float64 is one).

float32 1.5
{seen}. That is single precision: 7 digits of 16 are left. Where does a float32 get in?

wrong-value 3
Rank {rank} of {size} returns a value that is off by {off:.3g}{times}.
""")


def single_precision(seen: str) -> Finding:
    """The finding that digits were lost. seen: where, a sentence without its full stop."""
    return finding("float32", seen=seen)


def compared(result: dict, right: float, rank: int, size: int) -> list[Finding]:
    """What is wrong with the float that a rank returned, where `right` is due."""
    value = result["value"]
    if value is None:
        return [finding("no-number", rank=rank, size=size, kind=result["type"])]
    off = value - right
    if TOLERANCE * max(1, abs(right)) < abs(off) <= SINGLE * abs(right):
        return [single_precision(f"The result is off by {abs(off):.0e}")]
    if "float32" in result["type"]:
        return [single_precision(f"The result is of type {result['type']}")]
    found = [] if result["float"] else [finding("not-a-float", rank=rank, size=size, kind=result["type"])]
    if abs(off) > TOLERANCE * max(1, abs(right)):
        times = f": it is {value / right:.6g} times what it should be" if right else ""
        found.append(finding("wrong-value", rank=rank, size=size, off=off, times=times))
    return found


def agree(value: Any, due: float | None) -> bool:
    """Whether two numbers are there, and the same but for rounding. value: also what is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or due is None:
        return False
    return abs(value - due) <= TOLERANCE * max(1, abs(due))
