"""Verdicts on whether each epoch and each seed has an order of its own, or one that was only moved along.

An order that is rotated, reversed or cut and put together again is another one, but nearly all its samples keep their
neighbours. Of two orders drawn at random, hardly any do. So it is told by all pairs of orders together, and neither the
distance of the rotation nor the epochs and seeds that were drawn for a check make a difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.orders import MANY, SamplerOrders
from autograde.verdicts.shards import Ids, turns

KEPT = 0.75  # share of neighbours that two orders have in common if one was made from the other
LEAST = 3  # orders by which a group of them is judged

finding = Findings("""
only-rotated 2
Each epoch has an order of its own, but in all of them nearly the same samples are neighbours: one order begins at
another place, or runs backwards. So the same samples meet in a batch again and again. Is the whole order drawn anew?

only-rotated-by-seed 1.5
Each seed has an order of its own, but with all of them nearly the same samples are neighbours: one order begins at
another place, or runs backwards. What does the seed decide?
""")


def order_mistakes(orders: SamplerOrders) -> list[Finding | Diagnosis]:
    """What `orders.repeats` finds; or that orders were moved along, which explains why some repeat."""
    found: list[Finding | Diagnosis] = [*orders.repeats()]
    keys = {each.key: each for each in found if isinstance(each, Finding)}
    if "not-shuffled" in keys:
        return found
    epochs, seeds = groups(orders)
    by_epoch, by_seed = moved(epochs), moved(seeds)
    judged = [told("orders of epochs", by_epoch, keys, "same-order-every-epoch", "only-rotated")]
    if not (by_epoch and by_seed):  # else it is one order for all, and one mistake
        judged.append(told("orders of seeds", by_seed, keys, "seed-ignored", "only-rotated-by-seed"))
    return judged


def told(subject: str, moving: bool | None, found: dict[str, Finding], same: str, rotated: str) -> Diagnosis:
    """What is said of epochs or seeds. moving: as of `moved`. found: by key; `same` says that two had one order."""
    if moving:
        return Diagnosis(subject, (finding(rotated),), frozenset({same}), finding(rotated))
    if same not in found:
        return Diagnosis(subject, ruled_out=frozenset({rotated}))
    if moving is None:
        return Diagnosis(subject, (found[same], finding(rotated)), otherwise=found[same])
    return Diagnosis(subject, (found[same],), frozenset({rotated}), found[same])


def groups(orders: SamplerOrders) -> tuple[list[list[Ids]], list[list[Ids]]]:
    """Orders of epochs that have all but the epoch in common; and of seeds that have all but the seed."""
    by_epoch: dict[tuple, list[Ids]] = {}
    by_seed: dict[tuple, list[Ids]] = {}
    for (n, alone, seed, epoch), shards in orders.orders.items():
        if n >= MANY:
            order = shards[0] if alone else turns(shards)[:n]
            by_epoch.setdefault((n, alone, seed), []).append(order)
            by_seed.setdefault((n, alone, epoch), []).append(order)
    return [*by_epoch.values()], [*by_seed.values()]


def moved(groups: Iterable[Sequence[Ids]]) -> bool | None:
    """Whether the orders of each group were made from one another, and some differ; None: all are the very same."""
    pairs = [pair for group in groups if len(group) >= LEAST for pair in combinations(group, 2)]
    if not pairs or not all(alike(one, other) for one, other in pairs):
        return False
    return True if any(one != other for one, other in pairs) else None


def alike(one: Ids, other: Ids) -> bool:
    """Whether nearly all samples have the same neighbours in both orders, the last being a neighbour of the first."""
    return len(neighbours(one) & neighbours(other)) >= KEPT * len(one)


def neighbours(order: Ids) -> set[frozenset]:
    """Pairs of samples that stand beside each other."""
    return {frozenset(pair) for pair in zip(order, [*order[1:], *order[:1]], strict=True)}
