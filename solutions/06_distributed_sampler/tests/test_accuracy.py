"""The accuracy of all samples: a call tells apart who counts some of them twice."""

from __future__ import annotations

import random

import pytest
from torch.utils.data import DistributedSampler

from ..checks import distributed_accuracy as accuracy


def shards_of(samples: int, size: int, shuffle: bool = False) -> list[list[int]]:
    """What torch's own sampler deals out."""
    return [list(DistributedSampler(range(samples), size, rank, shuffle=shuffle)) for rank in range(size)]


HELD = [(11, [7] * 2), (14, [4] * 4), (13, [4] * 4), (20, [0, 9, 11]), (1, [1] * 4), (11, [13])]


def test_ten_samples_on_four_ranks_are_counted_once_by_their_index():
    right = {0: 1, 1: 1, 2: 0, 3: 1, 4: 1, 5: 0, 6: 1, 7: 0, 8: 1, 9: 1}
    indices = shards_of(10, 4)
    call = {"dataset_size": 10, "indices": indices, "correct": [[right[i] for i in own] for own in indices]}
    assert accuracy.accuracy(call) == 0.7
    wrong = accuracy.counted_wrongly(call)
    assert wrong["counted-twice"][:2] == (9 / 12, 9 / 10), "counted as twelve"
    assert wrong["own-part-only"][0] == [3 / 3, 2 / 3, 2 / 3, 2 / 3]


@pytest.mark.parametrize(("samples", "held"), HELD)
def test_predictions_are_drawn_so_that_mistakes_show(samples, held):
    for seed in range(50):
        call = accuracy.drawn(random.Random(seed), samples, held)
        assert [len(own) for own in call["indices"]] == held
        assert {i for own in call["indices"] for i in own} == {*range(samples)}
        assert samples < accuracy.TELLING or accuracy.telling(call)


def test_nothing_is_drawn_where_mistakes_cannot_be_told_apart():
    with pytest.raises(ValueError, match="cannot be told apart"):
        accuracy.drawn(random.Random(1), 11, [6, 6])
