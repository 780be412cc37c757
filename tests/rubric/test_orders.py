"""Judges of the orders in which a training uses its samples."""

from __future__ import annotations

import random

import pytest

from autograde.rubric import Call, Criterion, Words, mistakes_by_rank
from autograde.rubric.sampling.shares import each_sample_once, evenly, new_orders, orders_by_seed


def cut(order: list[int], size: int) -> list[list[int]]:
    """An order in batches."""
    return [order[begin : begin + size] for begin in range(0, len(order), size)]


def drawn(n: int, size: int, epochs: int) -> list[list[list[int]]]:
    """A random order for each epoch."""
    return [cut(random.Random(epoch).sample(range(n), n), size) for epoch in range(epochs)]


@pytest.mark.parametrize(
    ("orders", "key"),
    [
        ([[[0, 1], [2]], [[1, 0], [1]]], "samples-used-again"),
        ([[[0, 1], [2]], [[1, 0]]], "samples-left-out"),
        ([[]], "samples-left-out"),
    ],
)
def test_what_an_epoch_has_twice_or_not_at_all_is_told(orders, key):
    assert each_sample_once(orders, 3).key == key
    assert each_sample_once(drawn(3, 2, 2), 3) is None


@pytest.mark.parametrize(
    ("shares", "key"),
    [
        ([[0, 3, 1], [2, 4, 0]], None),
        ([[4, 3, 2, 1, 0]] * 2, "whole-set-on-every-rank"),
        ([[0, 1], [2, 3]], "tail-dropped"),
        ([[0, 1, 2], [3, 4]], "no-padding"),
        ([[0, 1, 2], [3, 2, 0]], "overlapping-shards"),
        ([[0, 1, 2], [3, 4, 9]], "unknown-samples"),
        ([[0, 1, 2, 0], [3, 4, 1, 2]], "more-than-needed"),
    ],
)
def test_ranks_draw_equally_many_of_five_samples_in_whatever_order(shares, key):
    wrong = evenly(5, shares)
    assert (wrong and wrong.key) == key


@pytest.mark.parametrize(
    "shift", [lambda first, k: first[k:] + first[:k], lambda first, k: [(i + k) % 12 for i in first]]
)
def test_an_order_that_is_only_shifted_is_no_new_order(shift):
    first = random.Random(8).sample(range(12), 12)
    assert new_orders([cut(shift(first, k), 1) for k in (0, 2, 3)]).key == "order-only-rolled"
    assert new_orders([cut(shift(first, k), 1) for k in (0, 2, 2)]).key == "order-only-rolled"


def test_orders_that_repeat_are_told_where_they_are_hardly_so_by_chance():
    sorted_cut, first = cut([*range(12)], 4), drawn(12, 4, 1)[0]
    assert new_orders(drawn(12, 4, 3)) is None
    assert new_orders([sorted_cut] * 3).key == "not-shuffled"
    assert new_orders([first] * 3).key == "same-order-every-epoch"
    assert new_orders([first, first[::-1], [first[1], first[0], first[2]]]).key == "batches-not-cut-anew"
    assert new_orders([[[0, 1]], [[1, 0]]]) is None


def test_orders_are_the_same_if_and_only_if_seeds_are():
    assert orders_by_seed(True, 3, 3) is orders_by_seed(False, 3, 4) is None
    assert orders_by_seed(False, 3, 3).key == "not-repeatable"
    assert orders_by_seed(True, 3, 4).key == "seed-ignored"


@pytest.mark.parametrize(
    ("taken", "key"),
    [
        ([[1, 2], [1, 2], [1, 2], [1, 2]], "everything-on-every-rank"),
        ([[1], [2], [1], [2]], "share-by-local-rank"),
        ([[1], [2], [3], [3]], "uneven"),
        ([], "uneven"),
        ([[1], [1]], "everything-on-every-rank"),
        ([[1], [2]], "uneven"),
    ],
)
def test_who_takes_everything_or_the_share_of_the_local_rank_is_told(taken, key):
    uneven = Words("uneven: Shares differ.")
    mistakes = mistakes_by_rank(lambda call: taken, "all numbers")
    criterion = Criterion("shares", 1, "shares are fair", lambda call: uneven("uneven"), mistakes)
    ranks = len(taken) or 4
    assert criterion.wrong([Call({}, 0, {"local_size": 2}, [None] * ranks)]).key == key
