"""Plans of a broadcast: rounds of pairs (from, to)."""

from __future__ import annotations

import random


def least_rounds(size: int) -> int:
    """ceil(log2(size))."""
    return (size - 1).bit_length()


def any_plan(seed: int, size: int, root: int) -> list[list[tuple[int, int]]]:
    """One of the shortest plans, drawn by `seed`: in each round, all who have the array serve somebody."""
    draw, has, plan = random.Random(f"{seed} {size} {root}"), [root], []
    waiting = [rank for rank in range(size) if rank != root]
    while waiting:
        draw.shuffle(has)
        draw.shuffle(waiting)
        pairs = list(zip(has, waiting, strict=False))
        plan.append(pairs)
        has += [rank for _, rank in pairs]
        waiting = waiting[len(pairs) :]
    return plan
