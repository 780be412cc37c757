"""Whether the number that all ranks return can have come of what they communicate.

A rank knows its own part of a sum. The others' parts reach it by what the ranks put into their reductions, which the
watch keeps where it is few numbers. A right result beside a reduction that carries nothing, or that brings something
else, was found elsewhere: each rank did all of the work, or read a file. Pure functions of the events of one call; see
`course.watch.events`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import nan, prod
from statistics import mean

import numpy as np

from autograde.contract.findings import Findings
from autograde.contract.verdict import Finding
from autograde.verdicts.diagnosis import agree
from course.world.report import enumerate_words, name_ranks

NEAR = 1e-4  # relative; parts may have gone through float32
SHORT = 2  # of how many numbers a reduction may be, if they are to be told apart
FEW = 3  # how many reductions a rank may make, likewise
EMPTY = frozenset({"barrier", "communicator"})  # kinds of calls that carry nothing from rank to rank

finding = Findings("""
unseen-communication 2
Every rank returns the right number, and yet no call was seen that could have brought it the other ranks' parts. Does
each rank do all of the work? The parts should meet in a call that also works between machines.

same-on-every-rank 2
Every rank puts the same into its reductions: {values}. So nothing that a rank found by itself reaches the others, and
the result does not come from there.

not-own-part 2
What {who} puts into the reductions, {values}, is not in proportion to what this rank found by itself, {part:.6g}. The
result should be made of what each rank found.

not-what-came-out 2
Every rank returns the right number, {actual:.6g}. But the ranks put in {values}, and what comes out is {out}. The
result does not follow from that: it was found elsewhere. Which number should a rank put in, and what should it do with
the one that comes out?

one-rank-works 2
Only {who} puts in anything but 0: {values}. There is work for all ranks. Which part of it is whose?
""")
OUTCOMES = {"SUM": sum, "AVERAGE": mean, "MAX": max, "MIN": min, "PROD": prod}  # of what the ranks put in


def carried(logs: Sequence[Sequence[dict]], *parts: Sequence[float]) -> list[Finding]:
    """What is wrong with how a right result came about.

    logs: events of one call, by rank. parts: by rank, what its own work gives, in each form in which it may be put in;
    where one of them is the same on all ranks, nothing can be told. None: these are not known.
    """
    if len(logs) < 2 or any(level(part) for part in parts):
        return []
    logs = [[event for event in log if event["kind"] not in EMPTY] for log in logs]
    if not any(logs):
        return [unseen()]
    put_in = [[event["values"] for event in log] for log in logs]
    if unknown(logs):
        return []
    if all(of_rank == put_in[0] for of_rank in put_in):
        return [finding("same-on-every-rank", values=shown(put_in[0]))]
    columns = components(put_in)
    if not columns or not parts or any(proportional(column, part) for column in columns for part in parts):
        return []
    rank = farthest(columns, parts[0])
    return [finding("not-own-part", who=name_ranks([rank]), values=shown(put_in[rank]), part=parts[0][rank])]


def came_out(
    logs: Sequence[Sequence[dict]], returned: float, factors: Collection[float], all_work: bool
) -> list[Finding]:
    """What is wrong where a right result does not follow from what came out of the reductions.

    logs: as for `carried`. returned: by all ranks. factors: what it may be, times the one number that came out, or the
    sum of those that did. all_work: there is something to do for each rank, so that its part is not 0.
    """
    logs = [[event for event in log if event["kind"] not in EMPTY] for log in logs]
    if len(logs) < 2 or not any(logs) or unlike(logs):
        return []
    outcomes = [outcome(events) for events in zip(*logs, strict=True)]
    if None in outcomes or max(map(len, outcomes)) > SHORT:
        return []
    put_in = [[event["values"] for event in log] for log in logs]
    numbers = [number for of_one in outcomes for number in of_one]
    if not any(agree(returned, factor * number, NEAR) for factor in factors for number in [*numbers, sum(numbers)]):
        values = by_rank(put_in)
        return [finding("not-what-came-out", actual=returned, out=shown(outcomes), values=values)]
    busy = [rank for rank, values in enumerate(put_in) if any(number for of_one in values for number in of_one)]
    if all_work and len(busy) == 1:
        return [finding("one-rank-works", who=name_ranks(busy), values=by_rank(put_in))]
    return []


def outcome(events: Sequence[dict]) -> list[float] | None:
    """What comes out of a reduction, given its event on each rank; None if that is not known. Numbers that are not
    finite come out as nan."""
    if seen := next((event["results"] for event in events if event["results"]), None):
        return [nan if number is None else number for number in seen]
    values, combine = [event["values"] for event in events], OUTCOMES.get(events[0]["reduction"])
    if not combine:
        return None
    return [nan if None in column else combine(column) for column in zip(*values, strict=True)]


def unseen() -> Finding:
    """That the ranks know of each other, and how is not seen: it is not said that they do not communicate."""
    return finding("unseen-communication")


def unknown(logs: Sequence[Sequence[dict]]) -> bool:
    """Whether anything was communicated other than by reductions to all whose numbers are known, on all ranks alike."""
    return unlike(logs) or None in [number for log in logs for event in log for number in event["values"]]


def unlike(logs: Sequence[Sequence[dict]]) -> bool:
    """Whether anything was communicated other than by reductions to all of few numbers, on all ranks alike."""
    calls = [[(event["kind"], len(event["values"] or ())) for event in log] for log in logs]
    return any(of_rank != calls[0] for of_rank in calls) or any(kind != "allreduce" or not n for kind, n in calls[0])


def components(put_in: Sequence[Sequence[list]]) -> list[list[float]]:
    """Each number that is reduced, by rank, and sums over reductions of numbers at the same place, and of all; none at
    all where a reduction is of more than a few, or there are many."""
    lengths = {len(values) for values in put_in[0]}
    if max(lengths, default=0) > SHORT or len(put_in[0]) > FEW:
        return []
    single = [
        [float(of_rank[number][place]) for of_rank in put_in]
        for number, values in enumerate(put_in[0])
        for place in range(len(values))
    ]
    sums = [
        [float(sum(values[place] for values in of_rank if len(values) > place)) for of_rank in put_in]
        for place in range(max(lengths, default=0))
    ]
    return [*single, *sums, [float(sum(map(sum, of_rank))) for of_rank in put_in]]


def level(part: Sequence[float]) -> bool:
    """Whether all ranks have the same, so that nothing can be told."""
    return max(part) - min(part) <= NEAR * max(map(abs, part))


def proportional(column: Sequence[float], part: Sequence[float]) -> bool:
    """Whether all ranks put in the same multiple of their part, which is not zero."""
    found, given = np.array(column), np.array(part, dtype=float)
    factor = found @ given / max(given @ given, 1e-300)
    return bool(factor) and bool(np.abs(found - factor * given).max() <= NEAR * np.abs(found).max())


def farthest(columns: Sequence[Sequence[float]], part: Sequence[float]) -> int:
    """The rank whose number is farthest from being in proportion to its part."""
    column, given = np.array(columns[-1]), np.array(part, dtype=float)
    return int(np.abs(column - given * (column.sum() / (given.sum() or 1.0))).argmax())


def by_rank(put_in: Sequence[Sequence[list]]) -> str:
    """What the ranks put in, as text, in their order."""
    return enumerate_words([shown(of_rank) for of_rank in put_in])


def shown(put_in: Sequence[list]) -> str:
    """What a rank put in, as text."""
    return ", ".join(f"{nan if number is None else number:.6g}" for values in put_in for number in values)
