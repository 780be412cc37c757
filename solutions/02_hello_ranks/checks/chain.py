"""The check of `chain`."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, Mistakes, first_of, of_record
from autograde.rubric.judges.arrays import EachRankReturnsArray, alike
from autograde.rubric.judges.conduct import argument_unchanged, result_stays
from autograde.rubric.run import Run
from autograde.rubric.words import Ranks, Words, Wrong
from autograde.verdicts.collectives import MESSAGES
from course.watch.notes import note_of

from ..probes import chain
from ..shared.drawn import matrices

ASIDE = 1024  # bytes that a call may carry besides the sender's own rows
TO_EVERYBODY = frozenset({"allgather", "alltoall", "allreduce", "reduce_scatter", "scan"})  # kinds of collectives
FROM_ONE = frozenset({"broadcast", "scatter", "recv", "sendrecv"})

words = Words("""
collective-of-some: A deadlock in a collective call: {who} never made it. It is a call of a communicator to which these
ranks belong, too. Does it stand behind an `if` that lets only some of its ranks pass?

factors-do-not-fit: An error on {who}, in a product ({error}). A product needs as many columns on the left as there are
rows on the right. Where rows cannot be divided evenly by the ranks of a group, who has the rest?

product-elsewhere: {who:returns|return} something. Only rank 0 returns the product, and all others return None.

not-by-multiply: The calls of `multiply` make up {counted} multiplications on the {group} ranks together, where their
products take {expected}. All products are to be made by `multiply`.

too-much-work: With {p} rows of A and {r} of D on {size} ranks, rank {rank} makes {counted} multiplications by
`multiply`, where {most} are its share at most. Which rows are its own, and whom does it share them with?

waited-for-the-others: Before rank {rank} begins to compute its rows of A, it has already been waiting for something
from {who} ({op}, line {line}). A does not need that: B and C are here. What can an even rank do while the odd ones
work?

too-much-sent: Rank {rank} sends {bytes} bytes by {op} (line {line}). Its own rows of {matrix} are {own} bytes. Of A,
and of the given matrices, nothing needs to move.
""")


def product(call: Call) -> np.ndarray:
    """G."""
    given = matrices(call.arguments)
    return given["B"] @ given["C"] @ (given["E"] @ given["F"])


def rows_in_another_order(call: Call) -> dict | bool:
    """Whether ranks take every so-many-th row, and the rows are stacked by rank: of which matrix."""
    given = matrices(call.arguments)
    a, d = given["B"] @ given["C"], given["E"] @ given["F"]

    def by_rank(rows: np.ndarray, ranks: int) -> np.ndarray:
        return np.concatenate([rows[rank::ranks] for rank in range(ranks)])

    moved_a, moved_d = by_rank(a, (call.size + 1) // 2), by_rank(d, call.size // 2)
    stacked = {"D": a @ moved_d, "A": moved_a @ d, "each of A and D": moved_a @ moved_d}
    seen = call.seen[0].result.entries
    return next(({"matrix": matrix} for matrix, other in stacked.items() if alike(seen, other)), False)


def nowhere_else(call: Call) -> Wrong | None:
    """All ranks but 0 return None."""
    others = [rank for rank, result in enumerate(call.of("result")) if rank and result.kind != "None"]
    return words("product-elsewhere", who=Ranks(others)) if others else None


def equal_shares(call: Call) -> Wrong | None:
    """Each rank makes its share of the products, by `multiply`."""
    (p, q, r, s, t), done = call.arguments["sizes"], call.of("counted")
    for odd, group, rows, each in (0, "even", p, q * r + r * t), (1, "odd", r, s * t):
        ranks = range(odd, call.size, 2)
        if (counted := sum(done[rank] for rank in ranks)) < rows * each:
            return words("not-by-multiply", counted=counted, group=group, expected=rows * each)
        most = -(-rows // len(ranks)) * each
        if more := [rank for rank in ranks if done[rank] > most]:
            about = {"p": p, "r": r, "size": call.size, "rank": more[0]}
            return words("too-much-work", counted=done[more[0]], most=most, **about)
    return None


@of_record
def own_rows_move(call: Call) -> Wrong | None:
    """No rank sends more than its own rows of D or G."""
    p, _, r, _, t = call.arguments["sizes"]
    for rank, log in enumerate(call.events):
        group, rows, matrix = range(rank % 2, call.size, 2), (p, r)[rank % 2], "GD"[rank % 2]
        own = -(-rows // len(group)) * t * 8
        for event in log:
            # What the root of a gather puts in does not move.
            moves = event["kind"] != "gather" or event["peer"] != rank
            if moves and (event["bytes"] or 0) > own + ASIDE:
                about = {"bytes": event["bytes"], "op": event["op"], "line": event["line"]}
                return words("too-much-sent", rank=rank, matrix=matrix, own=own, **about)
    return None


@of_record
def nobody_waited(call: Call) -> Wrong | None:
    """Nothing from an odd rank reached an even one before that began to multiply."""
    for rank in range(0, call.size, 2):
        began = next((event["start"] for event in call.notes[rank] if note_of(event) == chain.BEGINS), None)
        for event in call.events[rank]:
            if began is None or event["end"] is None or event["end"] > began:
                continue
            if odd := [other for other in senders(event) if other % 2]:
                about = {"op": event["op"], "line": event["line"]}
                return words("waited-for-the-others", rank=rank, who=Ranks(odd), **about)
    return None


def senders(event: dict) -> list[int]:
    """The ranks whose data a call has brought."""
    if event["kind"] in FROM_ONE:
        source = event["source"] if event["kind"] == "sendrecv" else event["peer"]
        return [] if source is None else [source]
    if event["kind"] in TO_EVERYBODY:
        return [rank for rank in event["members"] or () if rank is not None]
    return []


def absent(logs: Sequence[Sequence[dict]]) -> list[int]:
    """The ranks that are missing in a collective in which others wait at the end of a run. logs: events by rank."""
    calls = [[event for event in log if event["kind"] != "communicator"] for log in logs]
    for event in [log[-1] for log in calls if log and log[-1]["end"] is None and log[-1]["members"]]:
        there = [any(each["end"] is None and each["kind"] == event["kind"] for each in log) for log in calls]
        missing = [rank for rank in event["members"] if rank is not None and not there[rank]]
        if event["kind"] not in MESSAGES and missing:
            return missing
    return []


class Chain(CallCheck):
    """Two groups of ranks, each with its own product, and one message's worth of D between them."""

    todo, probe = "chain", chain.PROBE
    inputs = ("sizes",)
    consolidation = (
        "Independent work goes on side by side, and who waits for whom follows from what each product needs. What "
        "moves is the small matrix: the large one is used where it was computed."
    )
    criteria = (
        Criterion(
            "product",
            1.25,
            "rank 0 returns G [p, t], and all others None",
            first_of(EachRankReturnsArray(product, ranks=lambda call: [0]), nowhere_else),
            Mistakes(
                """
                rows-in-another-order: Rank 0 returns a product in which {matrix} has its rows in another order: those
                of one rank, then those of the next. Each rank takes every so-many-th row, but where they are put
                together they are taken for neighbours.
                """,
                rows_in_another_order=rows_in_another_order,
            ),
        ),
        Criterion(
            "shares",
            1,
            "all products are made by `multiply`, in equal shares: of n even ranks, each has ceil(p / n) rows "
            "at most; of n odd ones, ceil(r / n)",
            equal_shares,
        ),
        Criterion(
            "bytes",
            0.75,
            "no call sends a rank more bytes than the sender's own rows have: on an odd rank its rows of D, on "
            "an even one those of G; and 1 kB for packing",
            own_rows_move,
            after=("shares",),
        ),
        Criterion(
            "side-by-side",
            0.75,
            "an even rank computes its rows of A before its first call that takes data from an odd rank (a "
            "`Split` takes none)",
            nobody_waited,
        ),
        Criterion("arguments", 0.25, "`left` and `right` stay as they are", first_of(argument_unchanged, result_stays)),
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Four ranks, three in another order, and two; r and s are large and t is small, so moved matrices show."""

        def case(ranks: list[int], *rows: int) -> dict:
            calls = []
            for p in rows:
                sizes = [p, rng.randint(3, 6), rng.randint(300, 320), rng.randint(340, 360), rng.randint(2, 3)]
                calls.append({"sizes": sizes, "seed": rng.getrandbits(32)})
            return {"ranks": ranks, "calls": calls, "late": rng.randrange(len(ranks))}

        cases = [case([0, 1, 2, 3], 2 * rng.randint(4, 6) + 1, 1), case([2, 0, 3], 7), case([3, 1], 5, 5)]
        return [*cases, case([3, 1, 0, 2], 9, 1), case([1, 3, 0], 6, 5)]

    def broke_off(self, run: Run) -> Wrong | None:
        """A collective that some ranks leave out, or factors that do not fit."""
        if run.state == "hang" and not run.full and (missing := absent(run.of_call(run.reached))):
            return words("collective-of-some", run.report, who=Ranks(missing))
        errors = {rank["rank"]: rank["error"]["message"] for rank in run.ranks if rank["error"]}
        unfit = [rank for rank, error in errors.items() if "core dimension" in error]
        return words("factors-do-not-fit", run.report, who=Ranks(unfit), error=errors[unfit[0]]) if unfit else None


CHECK = Chain()
