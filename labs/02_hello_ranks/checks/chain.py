"""The check of `chain`."""

import numpy as np

from autograde.rubric import (
    CallCheck,
    Criterion,
    EachRankReturnsArray,
    Errors,
    Mistakes,
    Words,
    alike,
    argument_unchanged,
    first_of,
    of_record,
    partners,
    result_stays,
)

from ..probes import chain
from ..shared.drawn import matrices

ASIDE = 1024  # bytes that a call may carry besides the sender's own rows
TO_EVERYBODY = ("allgather", "alltoall", "allreduce", "reduce_scatter", "scan")  # kinds of collectives
FROM_ONE = ("broadcast", "scatter", "recv")

words = Words("""
product-elsewhere: {who:returns|return} something. Only rank 0 returns the product, and all others return None.

not-by-multiply: The calls of `multiply` make up {counted} multiplications on the {group} ranks together, where their
products take {due}. All products are to be made by `multiply`.

too-much-work: With {p} rows of A and {r} of D on {size} ranks, rank {rank} makes {counted} multiplications by
`multiply`, where {most} are its share at most. Which rows are its own, and whom does it share them with?

waited-for-the-others: Before rank {rank} begins to compute its rows of A, it has already been waiting for something
from {who} ({op}, line {line}). A does not need that: B and C are here. What can an even rank do while the odd ones
work?

too-much-sent: Rank {rank} sends {bytes} bytes by {op} (line {line}). Its own rows of {matrix} are {own} bytes. Of A,
and of the given matrices, nothing needs to move.
""")
UNFIT = """
factors-do-not-fit: An error on {who}, in a product ({error}). A product needs as many columns on the left as there are
rows on the right. Where rows cannot be divided evenly by the ranks of a group, who has the rest?
"""


def a_and_d(call):
    given = matrices(call.arguments)
    return given["B"] @ given["C"], given["E"] @ given["F"]


def product(call):
    a, d = a_and_d(call)
    return a @ d


def rows_in_another_order(call):
    """Ranks take every so-many-th row, and the rows are stacked by rank: of which matrix."""
    a, d = a_and_d(call)
    moved_a, moved_d = (
        np.concatenate([rows[rank::ranks] for rank in range(ranks)])
        for rows, ranks in ((a, (call.size + 1) // 2), (d, call.size // 2))
    )
    stacked = {"D": a @ moved_d, "A": moved_a @ d, "each of A and D": moved_a @ moved_d}
    seen = call.seen[0].result.entries
    return next(({"matrix": matrix} for matrix, other in stacked.items() if alike(seen, other)), False)


def nowhere_else(call):
    others = [rank for rank, result in enumerate(call.of("result")) if rank and result.kind != "None"]
    return words.on_ranks("product-elsewhere", others)


def equal_shares(call):
    (p, q, r, s, t), done = call.arguments["sizes"], call.of("counted")
    for odd, group, rows, each in (0, "even", p, q * r + r * t), (1, "odd", r, s * t):
        ranks = range(odd, call.size, 2)
        if (counted := sum(done[odd::2])) < rows * each:
            return words("not-by-multiply", counted=counted, group=group, due=rows * each)
        most = -(-rows // len(ranks)) * each
        for rank in ranks:
            if done[rank] > most:
                about = {"p": p, "r": r, "size": call.size, "rank": rank}
                return words("too-much-work", counted=done[rank], most=most, **about)
    return None


@of_record
def own_rows_move(call):
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
def nobody_waited(call):
    for rank in range(0, call.size, 2):
        for event in call.before_note(rank, chain.BEGINS):
            odd = sorted(each for each in senders(event) if each % 2)
            if wrong := words.on_ranks("waited-for-the-others", odd, rank=rank, op=event["op"], line=event["line"]):
                return wrong
    return None


def senders(event):
    """The ranks whose data a call has brought."""
    if event["kind"] in (*FROM_ONE, "sendrecv"):
        return {event["source" if event["kind"] == "sendrecv" else "peer"]} - {None}
    return partners(event) if event["kind"] in TO_EVERYBODY else set()


def cases(rng):
    """Four ranks, three in another order, and two; r and s are large and t is small, so moved matrices show."""

    def call(p):
        return {"sizes": [p, rng.randint(3, 6), rng.randint(300, 320), rng.randint(340, 360), rng.randint(2, 3)]}

    drawn = ([0, 1, 2, 3], 2 * rng.randint(4, 6) + 1, 1), ([2, 0, 3], 7), ([3, 1], 5, 5)
    return [(ranks, *map(call, rows)) for ranks, *rows in (*drawn, ([3, 1, 0, 2], 9, 1), ([1, 3, 0], 6, 5))]


PRODUCT = first_of(EachRankReturnsArray(product, ranks=lambda call: [0]), nowhere_else)
MISTAKES = Mistakes(
    """
    rows-in-another-order: Rank 0 returns a product in which {matrix} has its rows in another order: those of one rank,
    then those of the next. Each rank takes every so-many-th row, but where they are put together they are taken for
    neighbours.
    """,
    rows_in_another_order=rows_in_another_order,
)
SHARES = (
    "all products are made by `multiply`, in equal shares: of n even ranks, each has ceil(p / n) rows at most; of n "
    "odd ones, ceil(r / n)"
)
BYTES = (
    "no call sends a rank more bytes than the sender's own rows have: on an odd rank its rows of D, on an even one "
    "those of G; and 1 kB for packing"
)
SIDE_BY_SIDE = (
    "an even rank computes its rows of A before its first call that takes data from an odd rank (a `Split` takes none)"
)
CHECK = CallCheck.of(
    "chain",
    chain.PROBE,
    cases,
    Criterion("product", 1.25, "rank 0 returns G [p, t], and all others None", PRODUCT, MISTAKES),
    Criterion("shares", 1, SHARES, equal_shares),
    Criterion("bytes", 0.75, BYTES, own_rows_move, after=("shares",)),
    Criterion("side-by-side", 0.75, SIDE_BY_SIDE, nobody_waited),
    Criterion("arguments", 0.25, "`left` and `right` stay as they are", first_of(argument_unchanged, result_stays)),
    inputs=("sizes",),
    errors=Errors(UNFIT, factors_do_not_fit="core dimension"),
    consolidation="Independent work goes on side by side, and who waits for whom follows from what each product needs. "
    "What moves is the small matrix: the large one is used where it was computed.",
)
