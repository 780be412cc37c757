"""The check of `shard`."""

from __future__ import annotations

import random

from autograde.rubric import (
    Call,
    CallCheck,
    Criterion,
    Run,
    Words,
    Wrong,
    dealt_in_turn,
    not_a_list,
    not_ints,
)

from ..probes import shard

words = Words("""
few-samples: With {samples:sample} on {ranks:rank}, your function raises an error ({error}). The samples can be dealt
out more than once.
""")


def dealt(call: Call) -> Wrong | None:
    """What each rank gets."""
    return dealt_in_turn(range(call.arguments["samples"]), [own.ids for own in call.seen[0].shares])


def list_of_ints(call: Call) -> Wrong | None:
    """What is returned at all."""
    shares = call.seen[0].shares
    return not_a_list(own.type for own in shares) or not_ints(shares)


def few(arguments: dict) -> bool:
    """Whether there are fewer samples than ranks."""
    return arguments["samples"] < arguments["ranks"]


def even(arguments: dict) -> bool:
    """Whether the last round is full."""
    return arguments["samples"] % arguments["ranks"] == 0


class Shard(CallCheck):
    """Each sample dealt out in turn, and as many for each rank."""

    todo, probe = "shard", shard.PROBE
    inputs = ("samples", "ranks")
    consolidation = (
        "Each rank works out its share from two numbers, its own and that of all ranks, and no message is sent. Equal "
        "shares keep the ranks in step; a few samples drawn twice are the price."
    )
    criteria = (
        Criterion(
            "in-turn",
            1,
            "all samples are dealt out one by one, in their order, to ranks 0, 1, ..., size - 1, and round again",
            dealt,
            on=even,
        ),
        Criterion(
            "filled-up",
            1,
            "if the last round is not full, dealing goes on from sample 0 until all ranks have equally many",
            dealt,
            on=lambda arguments: not even(arguments) and not few(arguments),
            after=("in-turn",),
        ),
        Criterion(
            "few-samples",
            0.5,
            "also with fewer samples than ranks, they are dealt out as often as needed",
            dealt,
            on=few,
            after=("in-turn", "filled-up"),
        ),
        Criterion("ints", 0.5, "each share is a list of ints", list_of_ints, on=lambda arguments: not few(arguments)),
    )

    def fits(self, case: dict, arguments: dict, seen: shard.Seen) -> bool:
        """A share for each rank."""
        return len(seen.shares) == arguments["ranks"]

    def broke_off(self, run: Run) -> Wrong | None:
        """An error that few samples cause."""
        errors = [rank["error"] for rank in run.ranks if rank["error"]]
        if not errors or not few(run.broken):
            return None
        return words("few-samples", error=f"{errors[0]['type']}: {errors[0]['message'][:200]}", **run.broken)

    def cases(self, rng: random.Random) -> list[dict]:
        """Samples that divide evenly, and that leave two or three places to fill up; one rank; then few samples."""
        many = [(4 * rng.randint(3, 6), 4), (rng.randint(5, 9), 1), (6, 6), (4 * rng.randint(3, 6) + 2, 4)]
        many += [(4 * rng.randint(3, 6) + 1, 4), (3 * rng.randint(3, 7) + 1, 3), (2 * rng.randint(3, 8) + 1, 2)]
        many += [(7 * rng.randint(3, 6) + 3, 7), (5 * rng.randint(20, 40) + 2, 5)]
        both = many, [(3, 4), (1, 4), (2, 7), (3, 8)]
        return [{"calls": [{"samples": n, "ranks": size} for n, size in splits]} for splits in both]


CHECK = Shard()
