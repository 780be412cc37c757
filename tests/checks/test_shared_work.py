"""Verdicts on what ranks drew, which devices they chose, and which means they returned."""

from __future__ import annotations

import os
import random

import pytest
import torch
from lab_packages import check_module

from autograde.contract.verdict import settle
from autograde.probes.simulated_node import seeded_apart, simulated_node
from autograde.verdicts import means

evaluate = check_module("07_horovod_mnist", "evaluate")


def keys(found: list) -> list[str]:
    return [each.key for each in found]


def told(value: float) -> dict:
    return {"float": True, "type": "float", "value": value}


LOSSES, SIZES = [[1.0, 4.0], [2.0, 8.05]], [[3, 1], [3, 2]]  # means of batches, and how many samples they hold


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([29.1 / 9] * 2, []),
        ([2.5, 5.025], ["own-part-only"]),
        ([7 / 4, 22.1 / 5], ["own-part-only"]),
        ([7 / 4] * 2, ["one-ranks-part"]),
        ([(7 / 4 + 22.1 / 5) / 2] * 2, ["mean-of-means"]),
        ([3.7625] * 2, ["mean-of-means"]),
        ([29.1] * 2, ["sum-for-mean"]),
        ([29.1 / 12] * 2, ["wrong-divisor"]),
        ([29.1 / 9, 3.0], ["not-on-all-ranks"]),
        ([3.1] * 2, ["wrong-value"]),
        ([None, 29.1 / 9], ["no-number"]),
    ],
)
def test_a_mean_loss_is_known_by_the_mistake_that_made_it(values, expected):
    parts = means.loss_parts(LOSSES, SIZES)
    assert keys(settle([means.mean_on_all([told(value) for value in values], parts, "samples")])) == expected


def test_a_mistake_is_told_only_where_it_explains_all_that_was_returned():
    parts, others = means.loss_parts(LOSSES, SIZES), means.loss_parts([[1.0, 5.0], [2.0, 9.0]], SIZES)
    judged = [
        means.mean_on_all([told(3.7625)] * 2, parts, "samples"),
        means.mean_on_all([told(3.0)] * 2, others, "samples"),
    ]
    assert keys(settle(judged)) == ["wrong-value"]


def test_the_right_accuracy_of_samples_that_no_rank_was_shown_is_no_right_answer():
    hits = [True, False, True, True]

    def judged(value: float, *shares: list[int]) -> list[str]:
        return keys(settle([means.accuracy_on_all([told(value)] * 2, hits, shares)]))

    assert judged(0.75, [0, 1], [2, 3]) == []
    assert judged(0.75, [0], [2]) == ["not-evaluated"]
    assert judged(1.0, [0], [2]) == ["not-evaluated"]
    assert judged(0.8, [0, 1, 2], [3, 0]) == ["counted-twice"]


def test_in_a_drawn_evaluation_parts_of_the_set_have_other_accuracies():
    for seed in range(20):
        case = evaluate.draw_evaluation(random.Random(seed), 3, 10)
        assert case == evaluate.draw_evaluation(random.Random(seed), 3, 10)
    assert not evaluate.distinct([True, False] * 5, 2) or not evaluate.distinct([True] * 10, 2)
    assert not evaluate.distinct([True] * 10, 3)


def test_a_simulated_node_ends_with_its_block():
    import horovod.torch as hvd

    before = (
        hvd.local_rank,
        torch.cuda.device_count,
        os.environ.get("LOCAL_RANK"),
        torch.rand(1, generator=None).shape,
    )
    with simulated_node(1, 2, 3) as noted, seeded_apart(1):
        assert (hvd.local_rank(), hvd.local_size(), os.environ["LOCAL_RANK"]) == (1, 2, "1")
        torch.cuda.set_device("cuda:2")
        assert (noted["current"], torch.cuda.current_device(), torch.cuda.device_count()) == (2, 2, 3)
        with torch.cuda.device(0):
            assert torch.cuda.current_device() == 0
        assert torch.cuda.current_device() == 2
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
