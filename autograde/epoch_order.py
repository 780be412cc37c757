"""Verdict on what the ranks' loaders yield, epoch by epoch, where a shuffling DistributedSampler is due."""

from __future__ import annotations

import random
from collections.abc import Sequence

from torch.utils.data import DistributedSampler

from autograde.check import Finding
from autograde.findings import Findings
from course.awkward_translator import number_of
from course.sentences import collate

finding = Findings("""
whole-set-on-every-rank 3
Each of {size} ranks draws all {count} pairs in an epoch: {size} times the work of one. Who shares them out?

not-shuffled 2
The ranks share the pairs in the order in which they were given, not shuffled.

seed-ignored 1.5
The order of the pairs does not depend on `seed`.

epoch-ignored 1.5
The pairs come in the same order in epoch {first} and in epoch {later}, as `loader.sampler.set_epoch` was told.

pairs-dropped 1.5
On {size} ranks, {missing} of {count} pairs are drawn by nobody in an epoch.

ranks-draw-the-same 2
Pairs are drawn by several of {size} ranks in one epoch, and {missing} of {count} by none. Do the ranks shuffle alike?
Is a rank's number its own among all ranks, also where there are two nodes?

wrong-order 2
The ranks draw other pairs than a DistributedSampler that shuffles with this seed gives them.

wrong-batches 1.5
Rank {rank} of {size} gets batches of {seen} pairs. With {given} pairs a batch of one rank, they should be of {due}.

another-collate 1.5
The batches' tensors are not what the given `collate` makes of their pairs.

not-our-pairs 3
A batch holds a sentence that is none of the pairs, as `collate` would write it.
""")

Batches = Sequence[Sequence[Sequence[Sequence[int]]]]  # of one epoch: src, tgt_in and tgt_out as lists


def due_order(count: int, size: int, seed: int, epoch: int, shuffle: bool = True) -> list[list[int]]:
    """For each of `size` ranks the numbers of its pairs, of `count`."""
    orders = []
    for rank in range(size):
        sampler = DistributedSampler(range(count), size, rank, shuffle=shuffle, seed=seed)
        sampler.set_epoch(epoch)
        orders.append(list(sampler))
    return orders


def loader_mistakes(case: dict, seen: Sequence[Sequence[Batches]]) -> list[Finding]:
    """What is wrong with the batches that each rank drew. seen: by rank, and then by epoch of case["epochs"]."""
    size, pairs, batch_size = case["size"], case["pairs"], case["batch_size"]
    drawn = [
        [[number_of(row, pairs) for batch in epoch for row in batch[0]] for epoch in own] for own in seen
    ]  # [rank][epoch]
    if any(number is None for own in drawn for epoch in own for number in epoch):
        return [finding("not-our-pairs")]
    by_epoch = [[own[number] for own in drawn] for number in range(len(case["epochs"]))]
    due = [due_order(len(pairs), size, case["seed"], epoch) for epoch in case["epochs"]]
    if by_epoch != due:
        return [order_mistake(case, by_epoch, due)]
    for rank, own in enumerate(seen):
        for epoch, order in zip(own, (each[rank] for each in due), strict=True):
            cut = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
            sizes, right = [len(batch[0]) for batch in epoch], [len(part) for part in cut]
            if sizes != right:
                told = {"seen": listed(sizes), "due": listed(right), "given": batch_size}
                return [finding("wrong-batches", rank=rank, size=size, **told)]
            made = [[tensor.tolist() for tensor in collate([pairs[number] for number in part])] for part in cut]
            if made != [list(batch) for batch in epoch]:
                return [finding("another-collate")]
    return []


def order_mistake(case: dict, seen: list[list[list[int]]], due: list[list[list[int]]]) -> Finding:
    """The finding for ranks that draw other pairs, or in another order. seen, due: [epoch][rank][drawn]."""
    size, count, epochs = case["size"], len(case["pairs"]), case["epochs"]
    told = {"size": size, "count": count}
    if size > 1 < count and all(sorted(own) == [*range(count)] for own in seen[0]):
        return finding("whole-set-on-every-rank", **told)
    if seen == [due_order(count, size, 0, 0, shuffle=False)] * len(epochs):
        return finding("not-shuffled", **told)
    if seen == [due[0]] * len(epochs):
        return finding("epoch-ignored", first=epochs[0], later=epochs[1])
    if seen == [due_order(count, size, 0, epoch) for epoch in epochs]:
        return finding("seed-ignored")
    by_rank = [[due_order(count, size, case["seed"] + rank, each)[rank] for rank in range(size)] for each in epochs]
    told["missing"] = count - len({number for own in seen[0] for number in own})
    drawn = [number for own in seen[0] for number in set(own)]
    if told["missing"] and len(set(drawn)) == len(drawn):
        return finding("pairs-dropped", **told)
    return finding("ranks-draw-the-same" if told["missing"] or seen == by_rank else "wrong-order", **told)


def listed(sizes: Sequence[int]) -> str:
    """Numbers of pairs, in words."""
    return ", ".join(map(str, sizes[:12])) + (", ..." if len(sizes) > 12 else "") if sizes else "no"


def draw_loader_case(rng: random.Random, pairs: list, size: int, batch_size: int) -> dict:
    """A case for `loader_mistakes`: two epochs on `size` ranks."""
    epochs, seed = [0, rng.randint(2, 9)], rng.randint(1, 10**6)
    return {"size": size, "seed": seed, "pairs": pairs, "epochs": epochs, "batch_size": batch_size}
