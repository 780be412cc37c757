"""Orders of passes in pipelines whose ranks have several stages, as PyTorch has them, and how long they take.

Narayanan et al. 2021, arXiv:2104.04473 (interleaved); Qi et al. 2024, arXiv:2401.10241 (zero bubble, ZBV); DeepSeek-AI
2024, arXiv:2412.19437 (DualPipe).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from course.figures.splitting.schedules import one_forward_one_backward

PASS = re.compile(r"(\d+)([FIWB])(\d+)")  # stage, kind and micro-batch, as PyTorch writes them
TICKS = {"F": 1, "I": 1, "W": 1, "B": 2}  # a backward pass is one for the input, and one for the weights


class Block(NamedTuple):
    """A pass of a rank. kind: F forward, I backward for the input, W for the weights, B for both. Times in ticks."""

    kind: str
    stage: int
    micro_batch: int
    begin: int
    end: int


def plain_orders(ranks: int, micro_batches: int) -> list[list[str]]:
    """1F1B with a stage on each rank, written as PyTorch does: ``0F3`` is stage 0, forward, micro-batch 3."""
    orders = one_forward_one_backward(ranks, micro_batches)
    return [[f"{stage}{kind}{number}" for kind, number in order] for stage, order in enumerate(orders)]


def in_time(orders: Sequence[Sequence[str]], layers: int | None = None) -> list[list[Block]]:
    """By rank, its passes in its order, each as soon as what it needs is there.

    orders: as `plain_orders` writes them; ``None`` is left out, and ``(0F7;7B3)OVERLAP_F_B`` is one after the other.
    layers: the parts that a tick computes one of; None: as many as there are stages. Raises ValueError for an order in
    which a pass waits for ever.
    """
    left = [[(each[1], int(each[0]), int(each[2])) for each in PASS.findall(" ".join(order))] for order in orders]
    stages = 1 + max(stage for order in left for _, stage, _ in order)
    wide = (layers or stages) // stages
    blocks: list[list[Block]] = [[] for _ in left]
    over: dict[tuple[str, int, int], int] = {}
    while any(left):
        moved = False
        for order, own in zip(left, blocks, strict=True):
            while order and all(need in over for need in needs(*order[0], stages)):
                kind, stage, number = order.pop(0)
                begin = max([own[-1].end if own else 0, *(over[need] for need in needs(kind, stage, number, stages))])
                own.append(Block(kind, stage, number, begin, begin + wide * TICKS[kind]))
                for done in ("I", "W") if kind == "B" else (kind,):
                    over[done, stage, number] = own[-1].end
                moved = True
        if not moved:
            raise ValueError(f"{left} wait for each other")
    return blocks


def needs(kind: str, stage: int, number: int, stages: int) -> list[tuple[str, int, int]]:
    """What has to be over before a pass begins."""
    if kind == "F":
        return [("F", stage - 1, number)] if stage else []
    if kind == "W":
        return [("I", stage, number)]
    behind = [("I", stage + 1, number)] if stage + 1 < stages else []
    return [("F", stage, number), *behind]


def length(blocks: Sequence[Sequence[Block]]) -> int:
    """Ticks of a step."""
    return max(block.end for own in blocks for block in own)


def idle_share(blocks: Sequence[Sequence[Block]]) -> float:
    """The part of a step in which a rank is idle, as a mean over the ranks."""
    work = sum(block.end - block.begin for own in blocks for block in own)
    return 1 - work / len(blocks) / length(blocks)


def most_kept(blocks: Sequence[Sequence[Block]]) -> float:
    """Of how many micro-batches the busiest rank keeps its activations at once: from a forward pass to the last
    backward pass of it. A rank of several stages keeps a part for each."""
    stages = 1 + max(block.stage for own in blocks for block in own)
    counts = []
    for own in blocks:
        kept = {(block.stage, block.micro_batch): [block.begin, block.end] for block in own if block.kind == "F"}
        for block in own:
            span = kept[block.stage, block.micro_batch]
            span[1] = max(span[1], block.end)
        counts += [sum(begin <= at < end for begin, end in kept.values()) for at, _ in kept.values()]
    return max(counts) * len(blocks) / stages
