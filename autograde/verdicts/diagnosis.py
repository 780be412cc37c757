"""Wrong results held against what known mistakes would give.

A mistake is a candidate, which computes what it would give. It is told only if it explains every comparison that can
tell it from a right answer and from other mistakes; `autograde.contract.verdict.settle`, which sees all cases, does it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autograde.contract.verdict import Diagnosis, Finding

ROUNDING = 1e-12  # what the order of a sum may change


def agree(actual: Any, expected: float | None, tolerance: float = ROUNDING) -> bool:
    """Whether two numbers are there, and the same to a tolerance, relative to 1 at least. actual: also no number."""
    if isinstance(actual, bool) or not isinstance(actual, (int, float)) or expected is None:
        return False
    return abs(actual - expected) <= tolerance * max(1, abs(expected))


def same(actual: Any, expected: Any) -> bool:
    """Whether two numbers, or two lists of them inside each other, agree but for rounding."""
    if isinstance(expected, (list, tuple)):
        return isinstance(actual, (list, tuple)) and len(actual) == len(expected) and all(map(same, actual, expected))
    return agree(actual, expected)


def diagnose(
    subject: str,
    actual: Any,
    expected: Any,
    candidates: Mapping[str, Any],
    finding: Callable[[str], Finding],
    otherwise: Finding | str,
    equal: Callable[[Any, Any], bool] = same,
) -> Diagnosis:
    """What known mistakes say to a result.

    subject: what is compared; comparisons of one subject are settled together. candidates: what each mistake would
    give, by its key, the most likely first; a mistake that comes in several forms has ``key/form`` for each of them.
    finding: makes the finding of a key. otherwise: the generic finding, or its key. equal: whether a result is what is
    expected, or what a mistake gives.
    """
    forms: dict[str, list[Any]] = {}
    for name, result in candidates.items():
        forms.setdefault(name.partition("/")[0], []).append(result)
    explaining = [key for key, results in forms.items() if any(equal(actual, result) for result in results)]
    ruled_out = frozenset(forms) - frozenset(explaining)
    if equal(actual, expected):
        return Diagnosis(subject, ruled_out=ruled_out)
    generic = finding(otherwise) if isinstance(otherwise, str) else otherwise
    return Diagnosis(subject, tuple(map(finding, explaining)), ruled_out, generic)
