"""Shards and sampler orders as ranks have them: what is wrong with who draws which sample has a name."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from torch.utils.data import DistributedSampler

from autograde.probes.sampler_passes import generators_after, listed, passes_of
from autograde.rubric.sampling.orders import Orders
from autograde.rubric.sampling.shares import dealt_in_turn


def shards_of(samples: int, size: int, shuffle: bool = False) -> list[list[int]]:
    """What torch's own sampler deals out."""
    return [list(DistributedSampler(range(samples), size, rank, shuffle=shuffle)) for rank in range(size)]


@pytest.mark.parametrize(
    ("name", "samples", "shards"),
    [
        (None, 10, shards_of(10, 4)),
        (None, 2, shards_of(2, 7)),
        ("whole-set-on-every-rank", 4, [[0, 1, 2, 3], [3, 2, 1, 0]]),
        ("no-padding", 10, [[0, 4, 8], [1, 5, 9], [2, 6], [3, 7]]),
        ("more-than-needed", 4, [[0, 2, 0], [1, 3, 1]]),
        ("overlapping-shards", 10, [[0, 4, 8], [1, 5, 9], [0, 4, 8], [1, 5, 9]]),
        ("unknown-samples", 4, [[0, 2], [1, None]]),
        ("contiguous-shards", 10, [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 0, 1]]),
        ("tail-dropped", 10, [[0, 4], [1, 5], [2, 6], [3, 7]]),
        ("padding-not-repeated", 1, [[0], [0], [], []]),
        ("fewer-than-needed", 20, [[0, 4], [1, 5], [2, 6], [3, 7]]),
        ("wrong-padding", 10, [[0, 4, 8], [1, 5, 9], [2, 6, 2], [3, 7, 3]]),
        ("wrong-order", 4, [[1, 3], [0, 2]]),
    ],
)
def test_a_criterion_says_what_is_wrong_with_shares(name, samples, shards):
    wrong = dealt_in_turn(range(samples), shards)
    assert (wrong and wrong.key) == name


def test_a_list_of_ids_is_read_as_plain_data():
    assert listed(iter([1, 2]), most=5) == {"type": "list_iterator", "ids": [1, 2], "kinds": []}
    assert listed([np.int64(3), True], most=5) == {"type": "list", "ids": [3, 1], "kinds": ["int64", "bool"]}
    tensor = listed(torch.tensor([4, 5]), most=1)
    assert tensor == {"type": "Tensor of torch.int64", "ids": [4], "kinds": ["Tensor of torch.int64"]}
    assert listed([[1], "x", 1.0], most=5)["ids"] == [None, None, None]
    assert listed(None, most=5)["ids"] == []


class Wrapped(DistributedSampler):
    """torch's own sampler with the signature of the lab's."""

    def __init__(self, dataset_size: int, rank: int, size: int, seed: int = 0) -> None:
        super().__init__(range(dataset_size), size, rank, seed=seed)


class OwnShard(Wrapped):
    """Shuffles its own shard only."""

    def __iter__(self):
        own = list(range(self.rank, len(self.dataset), self.num_replicas))
        return iter(random.Random(1000 * self.seed + self.epoch).sample(own, len(own)))


class Counting(Wrapped):
    """Goes to the next epoch by itself."""

    def __iter__(self):
        self.epoch += 1
        return super().__iter__()


class Sticky(Wrapped):
    """Knows one epoch only."""

    def set_epoch(self, epoch: int) -> None:
        """Do nothing."""


class ByRank(Wrapped):
    """Has another seed on each rank."""

    def __init__(self, dataset_size: int, rank: int, size: int, seed: int = 0) -> None:
        super().__init__(dataset_size, rank, size, seed + 100 * rank)


class Global(Wrapped):
    """Seeds torch's global generator."""

    def __iter__(self):
        torch.manual_seed(self.seed + self.epoch)
        return super().__iter__()


class AtEachSample(Wrapped):
    """Looks at the epoch for each sample."""

    def __iter__(self):
        for place in range(len(self)):
            yield [*super().__iter__()][place]


class OfTheClass(Wrapped):
    """Keeps the epoch for all samplers together."""

    latest = 0

    def set_epoch(self, epoch: int) -> None:
        """For all."""
        OfTheClass.latest = epoch

    def __iter__(self):
        self.epoch = self.latest
        return super().__iter__()


class OneIterator(Wrapped):
    """Begins once."""

    def __iter__(self):
        self.once = getattr(self, "once", None) or super().__iter__()
        return self.once


PLAN = {
    "size": 3,
    "samplers": [[12, False, 5], [12, False, 8], [12, True, 5], [12, True, 8]],
    "passes": [
        [0, None],
        [0, None],
        [0, 0],
        [0, 4],
        [0, 9],
        [0, 4],
        [1, None],
        [1, 4],
        [2, None],
        [2, 4],
        [2, 9],
        [3, None],
        [3, 4],
    ],
}


@pytest.mark.parametrize(
    ("sampler", "follows", "anew"),
    [
        (Wrapped, None, None),
        (Counting, "another-pass-differs", None),
        (AtEachSample, "changes-under-way", None),
        (OfTheClass, "epoch-of-all-samplers", None),
        (OneIterator, "pass-empty", "pass-empty"),
        (Sticky, None, "same-order-every-epoch"),
    ],
)
def test_a_criterion_says_of_what_else_an_order_depends(sampler, follows, anew):
    OfTheClass.latest = 0
    plan = {**PLAN, "passes": [*PLAN["passes"], [0, 4, 1, 9]]}
    used = [passes_of(sampler, "set_epoch", plan, rank, luck=rank)["passes"] for rank in range(3)]
    orders = Orders(plan["samplers"], plan["passes"], [[each["ids"] for each in own] for own in used])
    told = [wrong and wrong.key for wrong in (orders.repeats(), orders.anew())]
    assert told == [follows, anew]


@pytest.mark.parametrize(
    ("sampler", "due"), [(Wrapped, None), (OwnShard, "same-samples-each-epoch"), (ByRank, "orders-differ-by-rank")]
)
def test_a_criterion_says_how_an_order_is_shared_out(sampler, due):
    used = [passes_of(sampler, "set_epoch", PLAN, rank, luck=rank)["passes"] for rank in range(3)]
    wrong = Orders(PLAN["samplers"], PLAN["passes"], [[each["ids"] for each in own] for own in used]).shares()
    assert (wrong and wrong.key) == due


def test_a_sampler_that_touches_a_global_generator_is_told_from_one_that_does_not():
    assert passes_of(Wrapped, "set_epoch", PLAN, 0, luck=3)["drawn"] == pytest.approx(
        [*generators_after(3).values()], abs=0
    )
    drawn, left = passes_of(Global, "set_epoch", PLAN, 0, luck=3)["drawn"], [*generators_after(3).values()]
    assert [one == other for one, other in zip(drawn, left, strict=True)] == [False, True, True]
