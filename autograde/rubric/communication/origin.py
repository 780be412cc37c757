"""Where a right result comes from: whether it can have come of what the ranks communicate.

A rank knows its own part of a sum. The others' parts reach it by what the ranks put into their calls, and by what comes
out; the watch keeps both where it is few numbers. A right result beside calls that carry nothing, or that bring
something else, was found elsewhere: each rank did all of the work, or read a file. Where what was communicated cannot
be followed, nothing is said. Pure functions of the events of one call; see `course.watch.events`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import nan, prod
from statistics import mean
from typing import Any

import numpy as np

from autograde.rubric.communication.calls import among_ranks
from autograde.rubric.values.rounding import Rounding
from autograde.rubric.words import Ranks, Words, Wrong
from course.watch.payload import FEW

NEAR = 1e-4  # relative; parts may have gone through float32
LATE = 1e-13  # relative; less than two ways to work may differ in on purpose, and more than rounding does
MANY = 12  # of more numbers, it cannot be told what comes of which
FIXED = 1e9  # a larger number may be in fixed point
LARGE = 10  # times all that there is to count; a larger number may be several in one
EMPTY = frozenset({"barrier", "communicator", "probe"})  # kinds of calls that carry nothing from rank to rank
REDUCTIONS = frozenset({"allreduce", "reduce"})
OUTCOMES = {"SUM": sum, "AVERAGE": mean, "AVG": mean, "MAX": max, "MIN": min, "PROD": prod}  # of what ranks put in
Numbers = Sequence[list[float]]  # by rank

words = Words("""
unseen-communication: Every rank returns the right number, and yet no call was seen that could have brought it the other
ranks' parts. Does each rank do all of the work? The parts should meet in a call that also works between machines.

same-on-every-rank: Every rank puts the same into its reductions: {values}. So nothing that a rank found by itself
reaches the others, and the result does not come from there.

not-own-part: What {who} puts into the reductions, {values}, is not in proportion to what this rank found by itself,
{part:.6g}. The result should be made of what each rank found.

not-what-came-out: Every rank returns the right number, {actual:.6g}. But the ranks put in {values}, and what comes out
is {out}: how does the result follow from that? Which number should a rank put in, and what should it do with the one
that comes out?

result-stays: Every rank returns the right number, {actual:.6g}. Then the check let one rank's part weigh more on its
way, so that {out} came out of the reduction, and every rank returned {actual:.6g} all the same. The result does not
come from the reduction: it was found elsewhere.

result-dropped: What comes out of the reduction is {out:.15g}, and the ranks return {actual:.15g}. The late digits show
that it is another number, which each rank found by itself. The result of the reduction is the one to return.

not-the-sum: The ranks put in {values}, and what comes out is {out}. That is not what these add up to, to all their
digits. What should the operation do with two ranks' parts?

idle-ranks: The ranks put in {values}: {who} brought hardly anything to the sum. There is work for all ranks. Which part
of it is whose?
""")


def absent(key: str, **facts: Any) -> Wrong:
    """The words `key`; a call that is not recorded would refute each of them."""
    return words(key, absent=True, **facts)


@dataclass(frozen=True)
class Due:
    """What is known of a right result, beside the ranks' parts.

    returned: by all ranks. factors: what it may be, times a number that came out or a sum of such numbers. least: the
    smallest share of the sum that a rank has. alone: what a rank finds that does all of the work by itself, where its
    late digits tell it from the sum of what ranks were given. counts, items: of a mean, how much each rank's part is
    of, and of how much all is; then a result may be a quotient, too, or what that lacks to 1, and a way that cannot be
    followed is right. beside: what else the ranks may put in, by rank, of which no result is made.
    """

    returned: float
    factors: Collection[float] = (1.0,)
    least: float = 0.0
    alone: float | None = None
    counts: Sequence[float] = ()
    items: int = 0
    beside: Sequence[Sequence[float]] = ()


def carried(logs: Sequence[Sequence[dict]], *parts: Sequence[float], due: Due | None = None) -> Wrong | None:
    """What is wrong with how a right result came about.

    logs: events of one call, by rank. parts: by rank, what its own work gives, in each form in which it may be put in;
    where one of them is the same on all ranks, they tell nothing. None: these are not known. due: None: what came out
    is not looked at.
    """
    calls = together(logs)
    if len(logs) < 2 or calls is None:
        return None
    telling = not any(map(level, parts))
    senders = {call[0]["peer"] for call in calls if call[0]["kind"] == "broadcast"}
    calls = [call for call in calls if call[0]["kind"] != "broadcast"]
    if not calls and len(senders) < 2 and None not in senders:
        return unseen() if telling else None
    put_in = numbers(calls, [[event["values"] for event in call] for call in calls])
    if len(senders) > 1 or put_in is None or any(call[0]["kind"] not in REDUCTIONS for call in calls):
        return None
    if telling and all(np.array_equal(row, put_in[0], equal_nan=True) for row in put_in):
        return absent("same-on-every-rank", values=shown(put_in[0]))
    mean_due = due is not None and bool(due.counts)
    out = numbers(calls, [outcome(call) for call in calls])
    if out is None or len(put_in[0]) > MANY or (mean_due and not countable(calls, put_in, parts, due)):
        return None
    if telling and parts and not own_parts(put_in, parts, due):
        rank = farthest(put_in, parts[0])
        return absent("not-own-part", who=Ranks([rank]), values=shown(put_in[rank]), part=parts[0][rank])
    if (
        due is None
        or (np.abs(put_in) > FIXED).any()
        or (mean_due and not plain(put_in, [*parts, due.counts, *due.beside]))
    ):
        return None
    return came_out(put_in, out, due, custom={call[0]["reduction"] for call in calls} == {"custom"})


def own_parts(put_in: Numbers, parts: Sequence[Sequence[float]], due: Due | None) -> bool:
    """Whether something that the ranks put in is made of their own parts; for a mean, of other numbers beside."""
    also = [due.counts, [1.0] * len(put_in)] if due and due.counts else []
    return any(made_of(column, part, *also) for column in columns(put_in) for part in parts)


def came_out(put_in: Numbers, out: Numbers, due: Due, custom: bool) -> Wrong | None:
    """What is wrong where a result does not follow from what came out. custom: of an operation of one's own, which is
    to add."""
    values, sums = [*map(shown, put_in)], np.sum(put_in, axis=1)
    if lost := [row for row in out if not follows(row, due)]:
        return absent("not-what-came-out", actual=due.returned, values=values, out=shown(lost[0]))
    added, exact = np.sum(put_in, axis=0), NEAR if due.alone is None else LATE
    if custom and (wrong := [row for row in out if not np.allclose(row, added, rtol=exact, atol=0)]):
        return absent("not-the-sum", values=values, out=shown(wrong[0]))
    if due.alone is not None and Rounding(LATE)(due.returned, due.alone) and not follows(out[0], due, LATE):
        candidates = made(out[0], due)
        nearest = float(candidates[np.abs(candidates - due.returned).argmin()])
        return absent("result-dropped", actual=due.returned, out=nearest)
    if idle := [rank for rank, own in enumerate(np.abs(sums)) if own < due.least * np.abs(sums).sum()]:
        return absent("idle-ranks", who=Ranks(idle), values=values)
    return None


def stays(logs: Sequence[Sequence[dict]], due: Due) -> Wrong | None:
    """What is wrong with a right result where a rank's part weighed more on its way, so that another one was to come
    out.

    logs: events of such a call, by rank; see `autograde.probes.weighed_part`.
    """
    calls = together(logs)
    out = numbers(calls, [outcome(call) for call in calls]) if calls else None
    if out is None or len(out[0]) > MANY or any(follows(row, due, weighed=True) for row in out):
        return None
    return absent("result-stays", actual=due.returned, out=shown(out[0]))


def unseen() -> Wrong:
    """That the ranks know of each other, and how is not seen: it is not said that they do not communicate."""
    return absent("unseen-communication")


def together(logs: Sequence[Sequence[dict]]) -> list[tuple[dict, ...]] | None:
    """The calls that carry anything, each as its events by rank; None unless all ranks make all of them."""
    logs = [[event for event in log if event["kind"] not in EMPTY] for log in among_ranks(logs)]
    kinds = [[event["kind"] for event in log] for log in logs]
    groups = [event["members"] for log in logs for event in log if event["members"] is not None]
    if any(of_rank != kinds[0] for of_rank in kinds) or any({*group} != {*range(len(logs))} for group in groups):
        return None
    return [call for call in zip(*logs, strict=True) if any(event["bytes"] != 0 for event in call)]


def numbers(calls: Sequence[Sequence[dict]], values: Sequence[Sequence[Sequence | None]]) -> Numbers | None:
    """By rank, all numbers of its calls, one call after the other. None where they are not known, or not equally many
    on all ranks. values: by call and rank; floats that are not finite are None."""
    rows: list[list[float]] = [[] for _ in calls[0]] if calls else []
    for call, of_call in zip(calls, values, strict=True):
        for row, event, own in zip(rows, call, of_call, strict=True):
            if not own or (None in own and "float" not in (event["dtype"] or "")):
                return None
            row += [nan if number is None else float(number) for number in own]
    return rows if len({*map(len, rows)}) == 1 else None


def outcome(call: Sequence[dict]) -> list[Sequence | None]:
    """What comes out of a reduction on each rank; None where that is not known."""
    values, combine = [event["values"] for event in call], OUTCOMES.get(call[0]["reduction"])
    if call[0]["kind"] == "allreduce" and all(event["results"] for event in call):
        return [event["results"] for event in call]
    if not combine or len({*map(len, values)}) > 1:
        return [None for _ in call]
    return [[None if None in column else combine(column) for column in zip(*values, strict=True)]] * len(call)


def columns(rows: Numbers) -> np.ndarray:
    """Each number, by rank, and each sum of numbers at equal distances, as of slots for ranks or for batches."""
    table, count = np.array(rows), len(rows[0])
    steps = [(start, step) for start in range(count) for step in range(1, max(2, count - start))]
    return np.unique(np.concatenate([table[:, start::step].cumsum(axis=1).T for start, step in steps]), axis=0)


def follows(row: Sequence[float], due: Due, tolerance: float = NEAR, weighed: bool = False) -> bool:
    """Whether the result may come of these numbers, which came out. weighed: no two of them are equal by chance."""
    return bool((np.abs(made(row, due, weighed) - due.returned) <= tolerance * max(1.0, abs(due.returned))).any())


def made(row: Sequence[float], due: Due, weighed: bool = False) -> np.ndarray:
    """All that a result may be where these numbers came out, or the same with the other sign. weighed: as for
    `follows`; then the quotient of a number by itself tells nothing."""
    sums = columns([row])[:, 0]
    if due.counts:
        quotients = np.divide.outer(sums, sums[sums != 0])
        sums = np.concatenate([sums, quotients[quotients != 1.0] if weighed else quotients.ravel()])
    results = np.multiply.outer(sums, [*due.factors, *(-factor for factor in due.factors)]).ravel()
    return np.concatenate([results, 1 - results]) if due.counts else results


def made_of(column: np.ndarray, *bases: Sequence[float]) -> bool:
    """Whether all ranks put in the same multiple of the first of these, which is not zero, and perhaps of others."""
    basis = np.array(bases, dtype=float).T
    factors, *_ = np.linalg.lstsq(basis, np.nan_to_num(column), rcond=None)
    limit = NEAR * np.abs(column).max()
    return bool(np.abs(factors[0] * basis[:, 0]).max() > limit and np.abs(column - basis @ factors).max() <= limit)


def countable(calls: Sequence[Sequence[dict]], put_in: Numbers, parts: Sequence[Sequence[float]], due: Due) -> bool:
    """Whether what is put in for a mean is what it seems: no number may be several in one, as bits are, or that of a
    single sample, where these are few, or stand for none."""
    events = [event for call in calls for event in call]
    most = LARGE * max(np.abs(each).sum() for each in (*parts, due.counts))
    known = all(event["reduction"] in OUTCOMES for event in events)
    none = any(event["reduction"] in ("MAX", "MIN") and None in event["values"] for event in events)
    return due.items > FEW and known and not none and not (np.abs(put_in) > most).any()


def plain(put_in: Numbers, bases: Sequence[Sequence[float]]) -> bool:
    """Whether each number is a multiple of one of these, or the same on all ranks."""
    single = np.array(put_in).T
    return all(level(column) or any(made_of(column, base) for base in bases) for column in single)


def level(part: Sequence[float]) -> bool:
    """Whether all ranks have the same, so that nothing can be told."""
    return max(part) - min(part) <= NEAR * max(map(abs, part))


def farthest(put_in: Numbers, part: Sequence[float]) -> int:
    """The rank whose numbers are farthest from being in proportion to its part."""
    column, given = np.nan_to_num(np.sum(put_in, axis=1)), np.array(part, dtype=float)
    return int(np.abs(column - given * (column.sum() / (given.sum() or 1.0))).argmax())


def shown(row: Sequence[float]) -> str:
    """Numbers, as text."""
    return ", ".join(f"{number:.6g}" for number in row)
