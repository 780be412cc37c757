"""Schedules of pipelines: GPipe's and 1F1B, their bubbles, and how many activations a schedule keeps.

Huang et al. 2019, arXiv:1811.06965; Narayanan et al. 2021, arXiv:2104.04473.
"""

from __future__ import annotations

from collections.abc import Sequence

Pass = tuple[str, int]  # "F" or "B", and the number of the micro-batch
Plan = Sequence[Sequence[Pass | None]]  # by stage and tick; None: a bubble
KINDS = ("F", "B")


def bubble(stages: int, micro_batches: int) -> float:
    """The part of a step in which a stage is idle, where all passes take as long: (p - 1) / (M + p - 1)."""
    return (stages - 1) / (micro_batches + stages - 1)


def gpipe(stages: int, micro_batches: int) -> list[list[Pass]]:
    """The order of each stage's passes: all forward ones, then all backward ones."""
    return [order_of(micro_batches, micro_batches) for _ in range(stages)]


def one_forward_one_backward(stages: int, micro_batches: int) -> list[list[Pass]]:
    """The order of each stage's passes: first as many micro-batches come in as there are stages from this one on; then,
    for each that leaves, another."""
    return [order_of(stages - stage, micro_batches) for stage in range(stages)]


def in_ticks(orders: Sequence[Sequence[Pass]]) -> list[list[Pass | None]]:
    """The plan in which each stage keeps to its order, and makes each pass as soon as what it needs is there."""
    left = [list(order) for order in orders]
    plan: list[list[Pass | None]] = [[] for _ in left]
    done: dict[tuple[int, Pass], int] = {}
    tick = 0
    while any(left):
        for stage, (order, row) in enumerate(zip(left, plan, strict=True)):
            ready = order and all(done.get(need, tick) < tick for need in needs(stage, order[0], len(left)))
            if ready:
                done[stage, order[0]] = tick
            row.append(order.pop(0) if ready else None)
        tick += 1
    return plan


def order_of(kept: int, micro_batches: int) -> list[Pass]:
    """The passes of a stage that keeps the activations of `kept` micro-batches."""
    ahead = min(kept, micro_batches)
    order: list[Pass] = [("F", number) for number in range(ahead)]
    for number in range(micro_batches):
        order.append(("B", number))
        if ahead + number < micro_batches:
            order.append(("F", ahead + number))
    return order


def needs(stage: int, each: Pass, stages: int) -> list[tuple[int, Pass]]:
    """The stages and passes that have to be over before `each` begins on `stage`."""
    kind, number = each
    if kind == "F":
        return [(stage - 1, each)] if stage else []
    behind = [(stage + 1, each)] if stage + 1 < stages else []
    return [(stage, ("F", number)), *behind]


def first_ticks(plan: Plan) -> dict[tuple[int, Pass], int]:
    """The tick in which each stage first makes each pass.

    Raises ValueError for what is no list, for each stage, of ("F", i), ("B", i) and None.
    """
    found: dict[tuple[int, Pass], int] = {}
    if not isinstance(plan, (list, tuple)) or not plan:
        raise ValueError(f"a plan is a list with a list for each stage, not {plan!r:.60}")
    for stage, row in enumerate(plan):
        if not isinstance(row, (list, tuple)):
            raise ValueError(f"stage {stage} of a plan has to be a list, not {row!r:.60}")
        for tick, each in enumerate(row):
            if each is not None:
                found.setdefault((stage, as_pass(each)), tick)
    return found


def as_pass(each: object) -> Pass:
    """An entry of a plan. Raises ValueError if it is neither ("F", i) nor ("B", i)."""
    if isinstance(each, (list, tuple)) and len(each) == 2:
        kind, number = each
        if kind in KINDS and isinstance(number, int) and not isinstance(number, bool) and number >= 0:
            return kind, number
    raise ValueError(f'an entry of a plan is ("F", i), ("B", i) or None, not {each!r:.60}')


def micro_batches_of(plan: Plan) -> int:
    """How many micro-batches a plan has."""
    return 1 + max((number for _, (_, number) in first_ticks(plan)), default=-1)


def too_early(plan: Plan) -> set[tuple[int, int]]:
    """Stage and tick of the passes that begin before what they need is over."""
    ticks, stages = first_ticks(plan), len(plan)
    return {
        (stage, tick)
        for (stage, each), tick in ticks.items()
        if any(ticks.get(need, tick) >= tick for need in needs(stage, each, stages))
    }


def missing(plan: Plan) -> int:
    """How many passes a plan leaves out."""
    return 2 * len(plan) * micro_batches_of(plan) - len(first_ticks(plan))


def kept(plan: Plan) -> list[list[int]]:
    """By stage and tick, of how many micro-batches activations are kept: from the forward to the backward pass."""
    ticks, last = first_ticks(plan), max(map(len, plan))
    counts = [[0] * last for _ in plan]
    for (stage, (kind, number)), begin in ticks.items():
        if kind == "F":
            for tick in range(begin, ticks.get((stage, ("B", number)), last - 1) + 1):
                counts[stage][tick] += 1
    return counts


def kept_activations(plan: Plan) -> list[int]:
    """By stage, of how many micro-batches it keeps activations at once, at most."""
    return [max(row, default=0) for row in kept(plan)]
