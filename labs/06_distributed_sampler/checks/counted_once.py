"""Predictions that are held by several ranks: what comes out where each sample counts once, and where it does not."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from itertools import chain, combinations

from autograde.verdicts.means import Part, mean_candidates

TELLING = 9  # samples, from which on mistakes can be told apart by their results
TRIES = 10_000  # far more than it takes
APART = 1e-3  # by which the results of different mistakes differ at least


def draw_call(rng: random.Random, samples: int, held: Sequence[int]) -> dict:
    """Predictions for `samples` samples as plain JSON: "dataset_size", and by rank "indices" and "correct" (0 or 1).

    held: how many each rank holds. Each sample is on some rank, and copies fill up what is left. About two of three are
    right, and with enough samples what a mistake would count differs from what is right. Raises ValueError where it
    cannot, as with a single copy, or with copies of which each is on its original's rank.
    """
    for _ in range(TRIES):
        right = [rng.random() < 0.67 for _ in range(samples)]
        # Copies in an order of their own: in the same, a short rank may hold only samples that others have, too.
        dealt = [i for _ in range(math.ceil(sum(held) / samples)) for i in rng.sample(range(samples), samples)]
        turn = [rank for count in range(max(held)) for rank, most in enumerate(held) if count < most]
        rows: list[list[int]] = [[] for _ in held]
        for rank, sample in zip(turn, dealt[: len(turn)], strict=True):
            rows[rank].append(sample)
        for row in rows:
            rng.shuffle(row)
        call = {"dataset_size": samples, "indices": rows, "correct": [[int(right[i]) for i in row] for row in rows]}
        if samples < TELLING or told_apart(call):
            return call
    raise ValueError(f"{samples} samples, held {list(held)}: with these, mistakes cannot be told apart")


def accuracy(call: dict) -> float:
    """The share of samples that are right, each counted once."""
    pairs = zip(chain.from_iterable(call["indices"]), chain.from_iterable(call["correct"]), strict=True)
    return sum(dict(pairs).values()) / call["dataset_size"]


def held_by_ranks(call: dict) -> list[Part]:
    """The hits among what each rank holds."""
    return [Part(rank, sum(row), len(row)) for rank, row in enumerate(call["correct"])]


def counted_wrongly(call: dict) -> dict[str, float]:
    """What comes out where copies are counted in ways that only indices tell from the right one."""
    rows, samples = call["correct"], call["dataset_size"]
    flat = [*chain.from_iterable(rows)]
    pairs = [[*zip(own, row, strict=True)] for own, row in zip(call["indices"], rows, strict=True)]
    sizes, seen = {*map(len, rows)}, [False] * samples
    most = max(sizes)
    for place, hit in chain.from_iterable(of_rank + [(0, False)] * (most - len(of_rank)) for of_rank in pairs):
        seen[place] = bool(hit)
    filled = {"filled-up-counted": sum(seen) / samples} if len(sizes) > 1 else {}
    if len(flat) <= samples:
        return filled
    apart = sum(hit for of_rank in pairs for _, hit in {*of_rank})  # of a sample that a rank holds twice, one copy
    times = [Counter(i for i, hit in of_rank if hit) for of_rank in pairs]
    beside = sum(max(of_rank[i] for of_rank in times) for i in {*chain.from_iterable(times)})
    turns = [row[turn] for turn in range(most) for row in rows if turn < len(row)]
    cuts = {
        f"cut-by-position/{name}": sum(hits[:samples]) / samples for name, hits in (("rows", flat), ("turns", turns))
    }
    return filled | {
        "counted-twice/on two ranks": apart / samples,
        "counted-twice/on one rank": beside / samples,
        **cuts,
    }


def told_apart(call: dict) -> bool:
    """Whether what the usual mistakes give, where they can be made, differs from what is right and from each other."""
    samples, sizes, wrong = call["dataset_size"], {*map(len, call["correct"])}, counted_wrongly(call)
    ranks = len(call["correct"])
    known = mean_candidates(held_by_ranks(call), ranks, samples)
    wrong.pop("counted-twice/on one rank", None)  # there need not be such copies
    if ranks == 1:
        wrong.pop("counted-twice/on two ranks", None)
    if len(sizes) > 1:
        wrong.pop("cut-by-position/turns", None)
        wrong["mean-of-means"] = known["mean-of-means/ranks"]
        if sum(map(bool, call["correct"])) > 1:
            wrong["mean-of-means/none empty"] = known["mean-of-means/ranks, none empty"]
    wrong |= {key: value for key, value in known.items() if key.startswith("counted-twice")}
    named = [(key.partition("/")[0], value) for key, value in wrong.items()] + [("right", accuracy(call))]
    return all(a == b or abs(x - y) > APART for (a, x), (b, y) in combinations(named, 2))
