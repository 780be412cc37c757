"""Verdicts on the number that all ranks are to return, as `autograde.contract.calls.described` gives it.

`on_all` is the judge: of exact numbers, and with a larger tolerance of those that may have gone through float32. What
known mistakes would give is up to its caller; `autograde.verdicts.means` knows that of means.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import ROUNDING, agree, diagnose
from course.world.report import name_ranks

KNOWN = 1e-6  # as near to what a mistake gives a result is taken to come of it
SINGLE = 1e-5  # relative errors below this, and above the tolerance, are what float32 leaves

finding = Findings("""
no-number 3
Rank {rank} of {size} returns {what}; a finite float is expected.

not-a-float 1
What rank {rank} of {size} returns is of type {kind}. The lab asks for a float (numpy's float64 is one).

not-an-int 0.5
The function returns a value of type {kind}. What is counted is a whole number: an int is expected.

float32 1.5
{seen}. That is single precision: 7 digits of 16 are left. Where does a float32 get in?

last-digits-differ 1
The ranks' results differ in their last digits. Every rank should return the very same number, bit for bit: does each of
them get it from the same call?

not-on-all-ranks 2
Rank 0 returns the expected {expected:.6g}, but rank {rank} returns {what}. Every rank needs the result. Which call
gives it to all of them?

own-part-only 2
Each rank returns what follows from its own part alone: {values}. Every one of them should return {expected:.6g}. Where
do the other ranks' parts come in?

average-for-sum 2
On {size} ranks the result is {size} times too small: {actual:.6g}, where {expected:.6g} is expected. Is there an
average over the ranks where a sum belongs?

wrong-value 3
Rank {rank} of {size} returns {actual:.10g}, where {expected:.10g} is expected{times}. Work out a small example by hand
and compare: is anything missing, counted twice, or divided once too often?

empty-rank 1.5
Where a rank has nothing of its own to do, {who} {does}. What should such a rank contribute, so that the others can go
on?
""")


def single_precision(seen: str) -> Finding:
    """The finding that digits were lost. seen: where, a sentence without its full stop."""
    return finding("float32", seen=seen)


def on_all(
    results: Sequence[dict],
    expected: float | Sequence[float],
    candidates: Mapping[str, Any] | None = None,
    make: Callable[..., Finding] = finding,
    *,
    tolerance: float = ROUNDING,
    empty: Collection[int] = (),
    subject: str = "result",
) -> list[Finding | Diagnosis]:
    """What is wrong with the floats that the ranks returned, where `expected` is expected of all of them.

    results: by rank, as `described` gives them. expected: one number, or where each rank has its own, a list by rank.
    candidates: what each known mistake gives, the same way, by its key or ``key/form``, the most likely first. make:
    makes the findings of keys that are not known here; fields are actual, expected, rank, size and values. tolerance:
    with `ROUNDING`, float32 is a mistake, and so are results that are not the same bit for bit. empty: ranks which have
    nothing of their own to do.
    """
    size, values, exact = len(results), [result["value"] for result in results], tolerance <= ROUNDING
    alike, right = isinstance(expected, (int, float)), by_rank(expected, size)
    wrong = [rank for rank in range(size) if not agree(values[rank], right[rank], tolerance)]
    missing = [rank for rank in range(size) if values[rank] is None]
    # Rank 0 is right, and the others return nothing, also where they had something to do.
    dropped = alike and 0 not in wrong and len(empty) == size
    dropped = dropped and all(results[rank]["type"] == "NoneType" for rank in missing)
    if missing and empty and not dropped and ({*missing} <= {*empty} or (alike and 0 in missing)):
        return [finding("empty-rank", who=name_ranks(missing), does="returned no finite number")]
    if missing and not (alike and 0 not in wrong):
        return [finding("no-number", rank=missing[0], size=size, what=in_words(results[missing[0]]))]
    otherwise: Finding | str = "wrong-value"
    if alike and wrong and 0 not in wrong:
        what = in_words(results[wrong[0]])
        otherwise = finding("not-on-all-ranks", rank=wrong[0], expected=expected, what=what)
        if missing:
            return [otherwise]
    found = not_floats(results, exact)
    if wrong and exact and near(values, right, SINGLE):
        return found or [single_precision(f"The result is off by {abs(values[wrong[0]] - right[wrong[0]]):.0e}")]
    if alike and exact and not wrong and len({*values}) > 1:
        found.append(finding("last-digits-differ"))
    rank = wrong[0] if wrong else 0
    about = {"actual": values[rank], "expected": right[rank], "rank": rank, "size": size}
    about |= {"values": ", ".join(f"{value:.6g}" for value in values), "times": ratio(values[rank], right[rank])}
    given = {key: by_rank(each, size) for key, each in (candidates or {}).items()}

    def made(key: str) -> Finding:
        return (finding if key in finding.known else make)(key, **about)

    equal = partial(near, tolerance=max(tolerance, KNOWN))
    return [*found, diagnose(subject, values, right, given, made, otherwise, equal)]


def in_words(result: dict) -> str:
    """What a rank returned, as `described` gives it: the number, or why there is none."""
    if result["value"] is not None:
        return f"{result['value']:.6g}"
    if result["type"] == "NoneType":
        return "None"
    return "a float that is nan or infinite" if result["float"] else f"a value of type {result['type']}"


def by_rank(number: float | Sequence[float], size: int) -> Sequence[float]:
    """A list by rank, of a number that is the same on all."""
    return [number] * size if isinstance(number, (int, float)) else number


def near(values: Sequence[float], others: Sequence[float], tolerance: float) -> bool:
    """Whether all numbers agree to a tolerance."""
    return all(agree(one, other, tolerance) for one, other in zip(values, others, strict=True))


def not_floats(results: Sequence[dict], exact: bool = True) -> list[Finding]:
    """A finding for the first result that is of another type. exact: whether float32 is a mistake of its own."""
    for rank, result in enumerate(results):
        if exact and "float32" in result["type"]:
            return [single_precision(f"The result is of type {result['type']}")]
        if not result["float"]:
            return [finding("not-a-float", rank=rank, size=len(results), kind=result["type"])]
    return []


def ratio(actual: float, expected: float) -> str:
    """How many times as much it is, as the end of a sentence."""
    return f": it is {actual / expected:.6g} times as much" if expected else ""
