"""The ids that ranks saw in several epochs, beside the orders in which their samplers had them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from course.sharding import Ids

Orders = Sequence[Sequence[Sequence[int]]]  # by epoch and rank, indices in the order in which they are drawn


def epoch_mistakes(
    ids: Sequence[int],
    orders: Orders,
    earlier: Sequence[Sequence[int]],
    before: int | None,
    lists: Sequence[Sequence[Ids]],
) -> list[tuple[str, dict]]:
    """What is wrong with the ids that the ranks saw, where epochs 0, 1, 2, ... are due.

    ids: of the samples by index. orders: what a sampler yields once it is set to an epoch. earlier: what it yields
    before, by rank. before: the epoch that it was set to when the first of these began, None for none. lists: by rank
    and epoch. Returns names of mistakes, each with the numbers seen.
    """
    rows = []
    for rank, own in enumerate(lists):
        known = {tuple(ids[i] for i in order[rank]): epoch for epoch, order in enumerate(orders)}
        known[tuple(ids[i] for i in earlier[rank])] = None
        strange = [epoch for epoch, each in enumerate(own) if tuple(each) not in known]
        if strange:
            return [(strange_list(ids, [earlier, *orders], rank, own[strange[0]]), {"epoch": strange[0]})]
        rows.append([known[tuple(each)] for each in own])
    got, due = rows[0], [*range(len(rows[0]))]
    if all(row == due for row in rows):
        return []
    if row := next((row for row in rows if row != got), None):
        where = next(epoch for epoch in due if row[epoch] != got[epoch])
        return [("epoch-differs-by-rank", {"epochs": f"{got[where]} and {row[where]}"})]
    if {*got} == {before}:
        return [("no-set-epoch", {})]
    if got == [before, *due[:-1]] and len(got) > 1:
        return [("set-epoch-too-late", {})]
    if got == [epoch + 1 for epoch in due]:
        return [("epochs-from-1", {})]
    if len({*got}) == 1 and len(got) > 1:
        return [("constant-epoch", {"epoch": got[0]})]
    return [("wrong-epochs", {"got": ", ".join(map(str, got)), "due": ", ".join(map(str, due))})]


def strange_list(ids: Sequence[int], orders: Orders, rank: int, got: Ids) -> str:
    """The name of the mistake in a list of ids that no epoch of this rank can give."""
    own = [[ids[i] for i in order[rank]] for order in orders]
    everyone = [{ids[i] for i in chain.from_iterable(order)} for order in orders]
    length = len(own[0])
    if not got:
        return "empty-epoch"
    if all(i < len(ids) for i in got):
        return "indices-not-ids"
    if len(got) < length and got in [order[: len(got)] for order in own]:
        return "last-batch-dropped"
    if sorted(got) in [sorted(order) for order in own]:
        return "order-lost"
    if len(got) > length and all([*got[start : start + length]] in own for start in range(0, len(got), length)):
        return "epochs-run-together"
    if any({*mine} < {*got} <= all_ for mine, all_ in zip(own, everyone, strict=True)):
        return "other-ranks-samples"
    return "wrong-ids"
