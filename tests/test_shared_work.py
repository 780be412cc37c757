"""Verdicts on what ranks drew, which devices they chose, and which means they returned."""

from __future__ import annotations

import os
import random

import pytest
import torch

from autograde import accuracies, drawn, means
from autograde.devices import device_mistakes
from autograde.played import played_gpus, played_node, seeded_apart

pytestmark = pytest.mark.side_by_side


def keys(found: list) -> list[str]:
    return [each.key for each in found]


@pytest.mark.parametrize(
    ("ranks", "due"),
    [
        ([[[0, 1], [2]], [[3, 4], [0]]], []),
        ([[[0, 1], [2, 3], [4]]] * 2, ["whole-set-on-every-rank"]),
        ([[[0, 1]], [[2, 3]]], ["last-batch-dropped"]),
        ([[[0, 1], [2]], [[3, 4]]], ["unequal-shares"]),
        ([[[0, 1], [2]], [[3, 2], [0]]], ["samples-left-out"]),
        ([[[0, 1], [2]], [[3, 4], [9]]], ["unknown-samples"]),
        ([[[0], [1], [2]], [[3], [4], [0]]], ["batch-size-divided"]),
        ([[[0, 1, 2]], [[3, 4, 0]]], ["wrong-batches"]),
        ([[[0, 1], [2, 0]], [[3, 4], [1, 2]]], ["too-many-drawn"]),
    ],
)
def test_what_two_ranks_draw_of_five_samples_is_judged_by_the_samples(ranks, due):
    assert keys(drawn.shares_of(5, 2, [ranks])) == due


def test_ranks_that_draw_as_if_their_node_were_alone_are_told_so():
    on_node = [[[0, 2, 4]], [[1, 3, 5]]]
    assert keys(drawn.shares_of(6, 3, [on_node * 2], local_size=2)) == ["dealt-on-one-node"]


def told(value: float) -> dict:
    return {"float": True, "type": "float", "value": value}


LOSSES, SIZES = [[1.0, 4.0], [2.0, 8.0]], [[3, 1], [3, 2]]  # means of batches, and how many samples they hold


@pytest.mark.parametrize(
    ("values", "due"),
    [
        ([29 / 9] * 2, []),
        ([2.5, 5.0], ["own-loss-only"]),
        ([7 / 4, 22 / 5], ["own-loss-only"]),
        ([7 / 4] * 2, ["rank-0s-loss"]),
        ([(7 / 4 + 22 / 5) / 2] * 2, ["mean-of-ranks"]),
        ([3.75] * 2, ["mean-of-batches"]),
        ([29.0] * 2, ["sum-for-mean"]),
        ([29 / 12] * 2, ["wrong-divisor"]),
        ([29 / 9, 3.0], ["ranks-differ"]),
        ([3.1] * 2, ["wrong-loss"]),
        ([None, 29 / 9], ["no-number"]),
    ],
)
def test_a_mean_loss_is_known_by_the_mistake_that_made_it(values, due):
    assert keys(means.loss_mistakes([told(value) for value in values], LOSSES, SIZES)) == due


def test_the_right_accuracy_of_samples_that_no_rank_was_shown_is_no_right_answer():
    hits = [True, False, True, True]
    assert keys(accuracies.accuracy_mistakes([told(0.75)] * 2, hits, [[0, 1], [2, 3]])) == []
    assert keys(accuracies.accuracy_mistakes([told(0.75)] * 2, hits, [[0], [2]])) == ["not-evaluated"]
    assert keys(accuracies.accuracy_mistakes([told(0.8)] * 2, hits, [[0, 1, 2], [3, 0]])) == ["counted-twice"]


def test_in_a_drawn_evaluation_parts_of_the_set_have_other_accuracies():
    for seed in range(20):
        case = accuracies.draw_evaluation(random.Random(seed), 3, 10)
        assert case == accuracies.draw_evaluation(random.Random(seed), 3, 10)
    assert not accuracies.distinct([True, False] * 5, 2) or not accuracies.distinct([True] * 10, 2)
    assert not accuracies.distinct([True] * 10, 3)


def test_a_device_is_that_of_the_rank_on_its_node():
    seen = {"device": "cuda:1", "kind": "device", "current": 1}
    assert keys(device_mistakes(3, 1, 2, 2, seen)) == []
    assert keys(device_mistakes(1, 0, 2, 2, seen)) == ["rank-for-local-rank"]
    assert keys(device_mistakes(3, 1, 2, 2, {**seen, "current": None})) == ["not-current"]
    assert keys(device_mistakes(3, 1, 2, 1, seen)) == ["gpu-for-cpu"]
    assert keys(device_mistakes(3, 1, 2, 2, {**seen, "device": "cpu"})) == ["cpu-for-gpu"]


def test_a_play_ends_with_its_block():
    import horovod.torch as hvd

    before = (
        hvd.local_rank,
        torch.cuda.device_count,
        os.environ.get("LOCAL_RANK"),
        torch.rand(1, generator=None).shape,
    )
    with played_node(1, 2), played_gpus(3) as gpus, seeded_apart(1):
        assert (hvd.local_rank(), hvd.local_size(), os.environ["LOCAL_RANK"]) == (1, 2, "1")
        torch.cuda.set_device("cuda:2")
        assert (gpus["current"], torch.cuda.current_device(), torch.cuda.device_count()) == (2, 2, 3)
    assert before[:3] == (hvd.local_rank, torch.cuda.device_count, os.environ.get("LOCAL_RANK"))


def test_ranks_are_seeded_apart_and_get_their_random_state_back():
    torch.manual_seed(3)
    state = torch.random.get_rng_state()
    with seeded_apart(0):
        one = torch.rand(3).tolist()
    with seeded_apart(1):
        other = torch.rand(3).tolist()
    assert one != other
    assert torch.equal(torch.random.get_rng_state(), state)
