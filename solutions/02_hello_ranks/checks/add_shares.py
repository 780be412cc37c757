"""The check of `add_shares`."""

from __future__ import annotations

import random

from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, Gives, Mistakes, first_of, of_record
from autograde.rubric.judges.conduct import argument_unchanged, nothing_starts_or_ends
from autograde.rubric.judges.numbers import LOST_DIGITS, EachRankReturnsInt, through_float
from autograde.rubric.judges.reductions import one_allreduce
from autograde.rubric.judges.shares import pieces_in_order
from autograde.rubric.words import Words, Wrong

from ..probes import add_shares

BIT = 2**53  # from here on a float64 has no odd numbers

words = Words("""
not-three-results: Rank {rank} returns {kind}. Three values are expected: `c`, the sum of this share, and the sum of all
shares.

not-int64-tensor: On rank {rank}, `c` is {kind}. It should be an int64 tensor with one dimension, of {n} numbers.

all-of-c-everywhere: Every one of {size:rank} has the whole of `c`. A rank should compute its own share only, and have 0
elsewhere.

wrong-entries: On rank {rank}, {n:entry} of `c` should be 0 or a + b at that place: number {place} is {actual}, where
a + b is {expected}.
""")


def entries(call: Call) -> list[int]:
    """All of a + b."""
    return [a + b for a, b in zip(call.arguments["a"], call.arguments["b"], strict=True)]


def three_results(call: Call) -> Wrong | None:
    """Each rank returns three values, the first of them an int64 tensor of N numbers."""
    n = len(entries(call))
    for rank, seen in enumerate(call.seen):
        if seen.kind:
            return words("not-three-results", rank=rank, kind=seen.kind)
        if seen.c is None or len(seen.c) != n:
            return words("not-int64-tensor", rank=rank, kind=seen.c_kind, n=n)
    return None


def own_entries(call: Call) -> list[list[int]]:
    """By rank, the places of what it added up."""
    return [[place for place, number in enumerate(row or []) if number] for row in call.of("c")]


def fair_shares(call: Call) -> Wrong | None:
    """Which rank has which numbers of `c`: all of them, once, in fair pieces in the order of the ranks."""
    size, right, own = call.size, entries(call), own_entries(call)
    n = len(right)
    for rank, row in enumerate(call.of("c")):
        if wrong := [place for place in own[rank] if row[place] != right[place]]:
            about = {"place": wrong[0], "actual": row[wrong[0]], "expected": right[wrong[0]]}
            return words("wrong-entries", rank=rank, n=len(wrong), **about)
    owners = [sum(place in each for each in own) for place in range(n)]
    if size > 1 and n and min(owners) == size:
        return words("all-of-c-everywhere", size=size)
    return pieces_in_order(own, n)


def c_is_reduced(call: Call) -> bool:
    """Whether all ranks have all of `c`, as the ranks reduce more than one number."""
    everywhere = all(len(own) == len(entries(call)) for own in own_entries(call))
    return everywhere and any((event["bytes"] or 0) > 8 for log in call.events for event in log)


def by_local_rank(call: Call) -> bool | None:
    """Whether each rank has the share of its local rank; on one node nobody can tell."""
    on_node, own = call.arguments["local_size"], own_entries(call)
    if call.size <= on_node or not any(own):
        return None
    return own == [own[rank % on_node] for rank in range(call.size)] and own[0] != own[1]


def own_sums(call: Call) -> list[int]:
    """By rank, the sum of what it added up."""
    return [sum(row or []) for row in call.of("c")]


def averaged(call: Call) -> Gives | None:
    """An average of the sums; Horovod works it out in floats, so its last digits are not known."""
    return Gives(sum(own_sums(call)) / call.size) if call.size > 1 else None


def fraction_lost(call: Call) -> dict | bool:
    """Whether an average was multiplied again: facts for the words."""
    by_average = any(event["reduction"] == "AVERAGE" for log in call.events for event in log)
    return by_average and TOTAL.lost_digits(call)


def right(call: Call) -> bool:
    """Whether all ranks have the sum of all shares."""
    return three_results(call) is None and {number.value for number in call.of("total")} == {sum(own_sums(call))}


@of_record
def in_whole_numbers(call: Call) -> Wrong | None:
    """What is reduced is no float. Without any numbers, all may be left out."""
    floats = any((event["dtype"] or "").startswith("float") for log in call.events for event in log)
    return through_float("The ranks reduce floats") if floats else None


@of_record
def one_of_one_number(call: Call) -> Wrong | None:
    """One all-reduce of one number; without any numbers, it may be left out."""
    needed = call.arguments["a"] or any(call.events)
    return one_allreduce("horovod", right)(call) if needed else None


OWN_SUM = EachRankReturnsInt(own_sums, lambda call: call.of("share"), "the sum of its share")
TOTAL = EachRankReturnsInt(lambda call: sum(own_sums(call)), lambda call: call.of("total"), "the sum of all shares")


class AddShares(CallCheck):
    """Each rank adds its share, and one reduction of one number adds up the shares' sums."""

    todo, probe = "add_shares", add_shares.PROBE
    consolidation = (
        "Every rank keeps what it computed, and only one number of each travels. Horovod averages unless it is told "
        "otherwise, and averages of whole numbers lose their fraction."
    )
    criteria = (
        Criterion(
            "shares",
            0.75,
            "`c` is an int64 tensor [N] with a + b in this rank's share and 0 elsewhere; `a` and `b` stay as they are",
            first_of(argument_unchanged, three_results, fair_shares),
            Mistakes(
                """
                c-is-reduced: Your code reduces `c` itself, so afterwards every rank has all of it. Only one number of
                each rank has to be combined: the sum of its share.

                share-by-local-rank: On {size:rank}, each rank takes the share of its local rank. The check simulates
                nodes with {local_size:rank} each, on each of which local ranks count from 0. Which number does a rank
                have among all of them?
                """,
                c_is_reduced=c_is_reduced,
                share_by_local_rank=by_local_rank,
            ),
        ),
        Criterion(
            "own-sum",
            0.25,
            "the first sum is that of the numbers in this share",
            first_of(three_results, OWN_SUM),
            Mistakes(
                f"""
                sum-of-all-as-own: Each rank returns the sum of all shares as the sum of its own. When is that worked
                out, before the reduction or after it?

                {LOST_DIGITS}
                """,
                sum_of_all_as_own=lambda call: Gives(sum(own_sums(call))) if call.size > 1 else None,
                digits_lost_in_a_float=OWN_SUM.lost_digits,
            ),
            after=("shares",),
        ),
        Criterion(
            "reduction",
            0.5,
            "one all-reduce of one int64, and no other communication. On a single rank it may be left out",
            first_of(in_whole_numbers, one_of_one_number, nothing_starts_or_ends),
            after=("shares", "own-sum"),
        ),
        Criterion(
            "total",
            0.5,
            "the second sum is that of all shares, on every rank",
            first_of(three_results, TOTAL),
            Mistakes(
                f"""
                own-sum-only: Each rank returns the sum of its own share as the sum of all shares. Look at what the
                reduction returns.

                average-of-sums: On {{size:rank}}, the sum of all shares is {{actual}}. Expected is {{size}} times as
                much, {{expected}}. What does Horovod's all-reduce do unless you tell it otherwise?

                fraction-lost: On {{size:rank}}, the sum of all shares is {{actual}}, where {{expected}} is expected. It
                is off by a little, since your reduction averages: an average of whole numbers loses its fraction, and
                no multiplication brings that back.

                {LOST_DIGITS}
                """,
                own_sum_only=lambda call: Gives(own_sums(call)) if call.size > 1 else None,
                average_of_sums=averaged,
                fraction_lost=fraction_lost,
                digits_lost_in_a_float=TOTAL.lost_digits,
            ),
            after=("shares", "own-sum", "reduction"),
        ),
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Numbers that fill 62 bits in all, as many as divide evenly and not, fewer than ranks, and none."""

        def numbers(n: int) -> list[int]:
            low = 2 * BIT // max(1, n)
            return [rng.randrange(low, 4 * low) | 1 for _ in range(n)]

        def case(size: int, *lengths: int) -> dict:
            calls = [{"a": numbers(n), "b": [2 * x for x in numbers(n)], "local_size": 2} for n in lengths]
            return {"size": size, "calls": calls, "late": rng.randrange(size)}

        cases = [case(4, 11, 8, 2), case(3, 13, 8, 0), case(2, 11), case(1, 3)]
        return [*cases, case(4, 13, 2, 0, rng.randint(40, 60)), case(3, 11, 2, 6)]


CHECK = AddShares()
