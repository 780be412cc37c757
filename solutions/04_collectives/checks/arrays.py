"""Arrays that ranks bring and return: whole numbers, so that every order of adding them up gives the same sum."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np

from autograde.contract.calls import type_in_words
from autograde.contract.findings import Findings
from autograde.contract.schema import array, boolean, integer, numbers, optional, record, string
from autograde.contract.verdict import Finding, hiding
from autograde.verdicts.diagnosis import agree
from course.world.report import name_ranks

FEW = 24  # entries up to which an array is shown whole

finding = Findings("""
returns-no-array 3
Rank {rank} of {size} returns {kind}, where a NumPy array is expected.

array-of-other-dtype 1.5
Rank {rank} returns an array of {actual}, made from arrays of {expected}. In which array do the numbers arrive?

array-of-other-shape 1.5
Rank {rank} returns an array of shape {actual}, where the shape {expected} is expected.

memory-of-the-argument 0.5
What rank {rank} returns shares its memory with its argument. Whoever changes the one changes the other: return an
array of its own.
""")


def values_of(rank: int, plan: dict) -> np.ndarray:
    """The array that a rank brings. plan: seed, shape, dtype, and perhaps `most`, the largest number in it."""
    draw = np.random.default_rng([plan["seed"], rank])
    most = plan.get("most", 900 if plan["dtype"] == "float32" else 2**40)
    return np.asarray(draw.integers(1, most + 1, plan["shape"])).astype(plan["dtype"])


def sketch(values: np.ndarray) -> list[float | None]:
    """The entries of an array if they are few; else some of them, and two sums. It is linear in the array."""
    flat = np.asarray(values, dtype=float).ravel()
    if flat.size > FEW:
        weights = np.linspace(1, 2, flat.size)
        flat = np.array([*flat[:3], *flat[-3:], flat[flat.size // 2], flat.sum(), flat @ weights])
    return [float(each) if np.isfinite(each) else None for each in flat]


def shown(value: Any, *arguments: np.ndarray) -> dict:
    """What a rank returned, as plain data. arguments: with which it should share no memory."""
    if not isinstance(value, (np.ndarray, np.generic)) or value.dtype.kind not in "iuf":
        kind = type_in_words(value)
        if isinstance(value, np.ndarray):
            kind = f"an array of {value.dtype}"
        return {"kind": kind, "array": None}
    own = isinstance(value, np.ndarray) and any(np.shares_memory(value, other) for other in arguments)
    return {"kind": "", "array": picture_of(value) | {"shared": bool(own)}}


def picture_of(value: Any) -> dict:
    """What is kept of an array."""
    digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    about = {"dtype": str(value.dtype), "shape": [*value.shape]}
    return about | {"sketch": sketch(value), "digest": digest}


def shape_of_shown() -> dict[str, dict]:
    """Schemas of what `shown` gives."""
    of_array = record(dtype=string(), shape=array(integer(0)), sketch=numbers(), digest=string(), shared=boolean())
    return {"kind": string(), "array": optional(of_array)}


def not_as_expected(results: Sequence[dict], expected: Sequence[np.ndarray]) -> list[Finding]:
    """What is wrong with the form of the arrays, by rank: the first thing that is."""
    for rank, (result, right) in enumerate(zip(results, expected, strict=True)):
        if result["array"] is None:
            return [finding("returns-no-array", rank=rank, size=len(results), kind=result["kind"])]
        own = result["array"]
        if own["dtype"] != str(right.dtype):
            return [finding("array-of-other-dtype", rank=rank, actual=own["dtype"], expected=right.dtype)]
    return []


def never_returned(found: Iterable[Finding]) -> list[Finding]:
    """Findings on a run that did not come to its end, after which nobody knows what it would have returned."""
    return [hiding(each, *finding.some("returns-no-array")) for each in found]


def other_shape(results: Sequence[dict], expected: Sequence[np.ndarray]) -> Finding | None:
    """The finding for the first rank whose array has another shape."""
    for rank, (result, right) in enumerate(zip(results, expected, strict=True)):
        own = result["array"]
        if own["shape"] != [*right.shape] or len(own["sketch"]) != len(sketch(right)):
            about = {"actual": result["array"]["shape"], "expected": [*right.shape]}
            return finding("array-of-other-shape", rank=rank, **about)
    return None


def shared(results: Sequence[dict]) -> list[Finding]:
    """The finding for the first rank whose result is in its argument."""
    ranks = [rank for rank, result in enumerate(results) if result["array"] and result["array"]["shared"]]
    return [finding("memory-of-the-argument", rank=ranks[0])] if ranks else []


def near(dtype: str) -> Callable[[Any, Any], bool]:
    """Compares sketches, or lists of them by rank, as sums of this dtype may differ by the order of adding."""
    tolerance = 1e-5 if dtype == "float32" else 1e-12

    def equal(actual: Any, expected: Any) -> bool:
        if not isinstance(expected, list):
            return agree(actual, expected, tolerance)
        return len(actual) == len(expected) and all(map(equal, actual, expected))

    return equal


def summands(actual: Sequence[float | None], arrays: Sequence[np.ndarray]) -> list[int] | None:
    """How often each rank's array is in a sum, by its sketch; None if it is no such sum, or cannot be told."""
    columns = np.array([sketch(values) for values in arrays], dtype=float).T
    if len(columns) < len(arrays) or None in actual or len(actual) != len(columns):
        return None
    times = np.linalg.lstsq(columns, np.array(actual, dtype=float), rcond=None)[0]
    whole = np.round(times)
    fits = np.allclose(columns @ whole, np.array(actual, dtype=float), rtol=1e-6)
    return whole.astype(int).tolist() if fits and (whole >= 0).all() else None


def some_of(actual: Sequence[float | None], arrays: Sequence[np.ndarray], op: Any, dtype: str) -> list[int] | None:
    """The largest set of ranks, not all, whose arrays `op` combines to what is seen; None if there is none."""
    for count in range(len(arrays) - 1, 0, -1):
        for ranks in combinations(range(len(arrays)), count):
            if near(dtype)([*actual], sketch(reduce(op, [arrays[rank] for rank in ranks]))):
                return [*ranks]
    return None


def counted(times: Sequence[int]) -> str:
    """How often each rank's array is in a sum, in words, for those that are not in it once."""
    groups = {number: [rank for rank, each in enumerate(times) if each == number] for number in sorted({*times} - {1})}
    told = []
    for number, ranks in groups.items():
        often = {0: "missing", 2: "counted twice"}.get(number, f"counted {number} times")
        told.append(f"{name_ranks(ranks)} {'is' if len(ranks) == 1 else 'are'} {often}")
    return ", and ".join(told)
