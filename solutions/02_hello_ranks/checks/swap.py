"""The check of `swap`."""

from __future__ import annotations

import random

import numpy as np

from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, Mistakes, first_of
from autograde.rubric.judges.arrays import EachRankReturnsArray, alike
from autograde.rubric.judges.conduct import arrays_stay
from autograde.rubric.judges.messages import may_be_kept, messages_between, unchanged_under_way
from autograde.rubric.run import Run
from autograde.rubric.words import Words, Wrong
from autograde.verdicts.collectives import MESSAGES, group_sizes, wrong_group

from ..probes import swap
from ..shared.drawn import array_of_rank

OTHER_PARTNER = """
other-partner: Rank {one} exchanges a message with rank {other}. Its partner is rank {partner}: ranks 0 and 1 are
partners, 2 and 3, and so on.
"""
words = Words(f"""
{OTHER_PARTNER}

partner-is-no-rank: Rank {{one}} of {{size}} exchanges a message with a rank of a number that none has. Its partner is
rank {{partner}}: ranks 0 and 1 are partners, 2 and 3, and so on.
""")


def partner_of(rank: int, size: int) -> int:
    """A rank's partner; the last of an odd number of ranks has itself only."""
    return rank ^ 1 if rank ^ 1 < size else rank


def arrays(call: Call) -> list[np.ndarray]:
    """The arrays that the ranks have."""
    return [array_of_rank(call.arguments, rank) for rank in range(call.size)]


def partners_arrays(call: Call) -> list[np.ndarray]:
    """What each rank should return."""
    own = arrays(call)
    return [own[partner_of(rank, call.size)] for rank in range(call.size)]


def returned(call: Call, expected: list[np.ndarray]) -> bool:
    """Whether the ranks returned these arrays, whose dtypes and shapes may differ."""
    return all(alike(each.entries, right) for each, right in zip(call.of("result"), expected, strict=True))


def both_ways(call: Call) -> set[tuple[int, int]]:
    """The messages that there are to be, as pairs (source, destination)."""
    return {(rank, partner_of(rank, call.size)) for rank in range(call.size)}


def stranger(logs: list[list[dict]]) -> dict | None:
    """The first rank that exchanges a message with another than its partner, as facts for its words; None if none does,
    or where ranks communicate otherwise. logs: events by rank."""
    size = len(logs)
    if any(event["kind"] not in MESSAGES for log in logs for event in log):
        return None
    for rank, log in enumerate(logs):
        others = {event[end] for event in log for end in ("peer", "source")} - {None, rank, partner_of(rank, size)}
        for other in sorted(others & {*range(size)} if partner_of(rank, size) != rank else ()):
            return {"one": rank, "other": other, "partner": partner_of(rank, size)}
    return None


MISTAKES = Mistakes(
    f"""
    own-array-back: Each rank returns the array that it had, not that of its partner. What does your code receive, and
    what does it return?

    ring-not-pairs: Each rank returns the array of a neighbour in a ring, in which all ranks pass on in one direction.
    Here they are in pairs: 0 and 1, 2 and 3, and so on.

    {OTHER_PARTNER}
    """,
    own_array_back=lambda call: returned(call, arrays(call)),
    ring_not_pairs=lambda call: any(returned(call, arrays(call)[step:] + arrays(call)[:step]) for step in (1, -1)),
    other_partner=lambda call: None if call.size < 2 else stranger(call.events) or False,
)
ARRAYS = EachRankReturnsArray(partners_arrays)


class Swap(CallCheck):
    """Pairs exchange arrays, also where each send waits for its receive."""

    todo, probe = "swap", swap.PROBE
    consolidation = (
        "Two that send first, or receive first, wait for each other. Sendrecv does both at once, and so is safe with "
        "any number of bytes."
    )
    criteria = (
        Criterion(
            "partner",
            1,
            "each rank returns its partner's array; a last rank without a partner returns a copy of its own",
            ARRAYS,
            MISTAKES,
            on=may_be_kept,
        ),
        Criterion(
            "messages",
            0.5,
            "each of two partners sends one message to the other; nothing else is communicated",
            first_of(messages_between(both_ways, "partners", least=1), unchanged_under_way),
            on=may_be_kept,
            after=("partner",),
        ),
        Criterion(
            "new-array",
            0.5,
            "the result is a new array; `array` stays as it is, and they share no memory",
            arrays_stay,
            on=may_be_kept,
        ),
        Criterion(
            "safe",
            1,
            "it also works where each send waits for its receive",
            ARRAYS,
            on=lambda arguments: arguments["safe"],
            after=("partner", "messages"),
        ),
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Few numbers, of several shapes and kinds; an odd rank out. Then few and many, with sends that wait."""
        few, table, large = ([3], "float64"), ([4, 5], "int32"), ([200, 200], "float32")
        number, empty, many = ([], "float64"), ([0], "int64"), ([40_000], "float64")

        def case(ranks: list[int], safe: bool, *calls: tuple) -> dict:
            made = [
                {"safe": safe, "pairs": [{"shape": shape, "dtype": dtype, "most": 900_000} for shape, dtype in pairs]}
                for pairs in calls
            ]
            made = [{**each, "seed": rng.getrandbits(32)} for each in made]
            return {"ranks": ranks, "calls": made, "late": rng.randrange(len(ranks))}

        cases = [case([0, 1, 2, 3], False, (few, table), (number, empty)), case([2, 0, 3], False, (table, few))]
        cases += [case([3, 1], False, (table,), (empty,)), case([1], False, (table,), (number,))]
        cases += [case([3, 1, 0, 2], True, (many, large), (table, number))]
        return [*cases, case([1, 2, 0], True, (many, table), (empty, large)), case([3, 1], True, (large,))]

    def broke_off(self, run: Run) -> Wrong | None:
        """Ranks that exchange with others than their partners, in the group that they are given."""
        size = len(run.ranks)
        if wrong_group(size, group_sizes(run.events)):
            return None
        for rank, record in enumerate(run.ranks):
            partner = partner_of(rank, size)
            if partner != rank and "MPI_ERR_RANK" in (record["error"] or {}).get("message", ""):
                return words("partner-is-no-rank", run.report, one=rank, size=size, partner=partner)
        facts = None if run.full else stranger(run.of_call(run.reached))
        return words("other-partner", run.report, **facts) if facts else None


CHECK = Swap()
