"""Predictions that are held by several ranks: what comes out where each sample counts once, and where it does not."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import chain

from course.sharding import turns

TELLING = 9  # samples, from which on mistakes can be told apart by their results
TRIES = 10_000  # far more than it takes
APART = 1e-3  # by which the results of different mistakes differ at least


def draw_call(rng: random.Random, samples: int, held: Sequence[int]) -> dict:
    """Predictions for `samples` samples as plain JSON: "dataset_size", and by rank "indices" and "correct" (0 or 1).

    held: how many each rank holds. Each sample is on some rank, and copies fill up what is left. About two of three are
    right, and with enough samples what a mistake would count differs from what is due. Raises ValueError where it
    cannot, as with a single copy, or with copies of which each is on its original's rank.
    """
    for _ in range(TRIES):
        right = [rng.random() < 0.67 for _ in range(samples)]
        dealt = rng.sample(range(samples), samples) * math.ceil(sum(held) / samples)
        turn = [rank for count in range(max(held)) for rank, most in enumerate(held) if count < most]
        rows: list[list[int]] = [[] for _ in held]
        for rank, sample in zip(turn, dealt[: len(turn)], strict=True):
            rows[rank].append(sample)
        for row in rows:
            rng.shuffle(row)
        call = {"dataset_size": samples, "indices": rows, "correct": [[int(right[i]) for i in row] for row in rows]}
        others = counted_wrongly(call)
        apart = all(abs(value - due(call)) > APART for _, value in others)
        apart = apart and all(a == b or abs(x - y) > APART for a, x in others for b, y in others)
        if samples < TELLING or apart:
            return call
    raise ValueError(f"{samples} samples, held {list(held)}: with these, mistakes cannot be told apart")


def due(call: dict) -> float:
    """The share of samples that are right, each counted once."""
    pairs = zip(chain.from_iterable(call["indices"]), chain.from_iterable(call["correct"]), strict=True)
    return sum(dict(pairs).values()) / call["dataset_size"]


def own_parts(call: dict) -> list[list[float]]:
    """What the ranks have who know nothing of each other: the share of their own, and their hits among all samples."""
    rows = call["correct"]
    return [[sum(row) / (len(row) or 1) for row in rows], [sum(row) / call["dataset_size"] for row in rows]]


def counted_wrongly(call: dict) -> list[tuple[str, float]]:
    """Names of mistakes and what they give for a call, where that need not be what is due."""
    rows, samples, found = call["correct"], call["dataset_size"], []
    flat, sizes = [*chain.from_iterable(rows)], {*map(len, rows)}
    if len(flat) > samples and len(rows) > 1:
        held = [{*zip(own, row, strict=True)} for own, row in zip(call["indices"], rows, strict=True)]
        marked = sum(hit for own in held for _, hit in own)  # of a sample that a rank holds twice, one copy
        padded = [sum(flat) / len(flat), sum(flat) / samples, marked / samples]
        found += [("padding-counted", value) for value in padded]
        found += [("cut-by-position", sum(flat[:samples]) / samples)]
        found += [("cut-by-position", sum(turns(rows)[:samples]) / samples)] if len(sizes) == 1 else []
    if len(sizes) > 1:
        means = [sum(row) / len(row) for row in rows if row]
        found += [("mean-of-means", sum(means) / n) for n in {len(rows), len(means)} - {1}]
    return found
