"""Batches by length: every sentence once, ranks in step, little padding, and the same again for the same epoch."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from course.models.translator.bucketing import BucketingSampler, bucketing_loader, padding_shares, pair_length
from course.models.translator.sentences import PAD


def drawn(count: int, seed: int = 0) -> list[tuple[list[int], list[int]]]:
    """Pairs of 1 to 40 tokens; the first token of a source is the pair's number + 3."""
    rng = random.Random(seed)
    pairs = []
    for number in range(count):
        length = rng.randint(1, 40)
        pairs.append(([number + 3, *[3] * length], [3] * max(1, length + rng.randint(-2, 2))))
    return pairs


def epoch(pairs: list, tokens: int, size: int, number: int = 0, **options: int) -> list[list[list[int]]]:
    """For each rank its batches."""
    ranks = []
    for rank in range(size):
        sampler = BucketingSampler([pair_length(pair) for pair in pairs], tokens, rank, size, **options)
        sampler.set_epoch(number)
        ranks.append(list(sampler))
        assert len(ranks[-1]) == len(sampler)
    return ranks


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 250])
def test_each_sentence_comes_once_but_for_less_than_one_more_for_each_rank(count: int, size: int) -> None:
    ranks = epoch(drawn(count), 100, size)
    seen = Counter(index for batches in ranks for batch in batches for index in batch)
    assert set(seen) == set(range(count))
    assert sum(seen.values()) - count == -count % size


def test_ranks_have_in_each_step_equally_many_sentences_of_about_one_length() -> None:
    pairs = drawn(250)
    for step in zip(*epoch(pairs, 200, 4), strict=True):
        assert len({len(batch) for batch in step}) == 1
        longest = [max(pair_length(pairs[index]) for index in batch) for batch in step]
        assert max(longest) - min(longest) <= 1


def test_no_batch_exceeds_its_budget_unless_one_sentence_does() -> None:
    pairs = drawn(250)
    for batches in epoch(pairs, 100, 2, sentences=5):
        for batch in batches:
            assert 1 <= len(batch) <= 5
            assert len(batch) * max(pair_length(pairs[index]) for index in batch) <= 100
    assert {len(batch) for batch in epoch(pairs, 1, 1)[0]} == {1}


def test_an_epoch_is_the_same_each_time_and_another_one_is_not() -> None:
    pairs = drawn(250)
    assert epoch(pairs, 100, 2, 3) == epoch(pairs, 100, 2, 3)
    assert epoch(pairs, 100, 2, 3) != epoch(pairs, 100, 2, 4)
    assert epoch(pairs, 100, 2, 3) != epoch(pairs, 100, 2, 3, seed=7)
    first, second = (epoch(pairs, 100, 2, number)[0] for number in (3, 4))
    assert sorted(map(sorted, first)) != sorted(map(sorted, second)), "batches are put together anew, too"


def test_long_and_short_batches_come_mixed() -> None:
    pairs = drawn(250)
    lengths = [pair_length(pairs[batch[0]]) for batch in epoch(pairs, 100, 1)[0]]
    assert lengths != sorted(lengths) and lengths != sorted(lengths, reverse=True)


def test_a_loader_gives_the_batches_of_its_sampler_and_sets_its_epoch_through_it() -> None:
    pairs = drawn(60)
    loader = bucketing_loader(pairs, 100, rank=1, size=2)
    loader.sampler.set_epoch(5)
    batches = epoch(pairs, 100, 2, 5)[1]
    assert len(loader) == len(batches)
    for batch, (src, tgt_in, tgt_out) in zip(batches, loader, strict=True):
        assert (src[:, 0] - 3).tolist() == batch
        assert tgt_in.shape == tgt_out.shape


def test_bucketing_saves_most_of_the_padding() -> None:
    pairs = drawn(1000)
    random_order = list(range(1000))
    plain = padding_shares(pairs, [random_order[first : first + 16] for first in range(0, 1000, 16)])
    bucketed = padding_shares(pairs, epoch(pairs, 16 * 20, 1)[0])
    assert sum(plain) / len(plain) > 0.3
    assert sum(bucketed) / len(bucketed) < 0.1


def test_a_pair_is_as_long_as_its_longer_side_with_the_end_of_the_sentence() -> None:
    assert [pair_length(pair) for pair in [([], []), ([5, 5], [5]), ([5], [5, 5, 5])]] == [1, 3, 4]


def test_the_share_of_padding_is_what_collate_pads() -> None:
    pairs = drawn(60)
    loader = bucketing_loader(pairs, 300)
    counted = []
    for src, _, tgt_out in loader:
        pad = (src == PAD).sum() + (tgt_out == PAD).sum()
        counted.append(pad.item() / (src.numel() + tgt_out.numel()))
    assert counted == pytest.approx(padding_shares(pairs, list(loader.sampler)))


@pytest.mark.parametrize("wrong", [{"rank": 2, "size": 2}, {"tokens": 0}, {"sentences": 0}])
def test_a_budget_of_nothing_or_a_rank_that_is_not_there_is_refused(wrong: dict) -> None:
    with pytest.raises(ValueError, match=r"rank 2|at least one"):
        BucketingSampler([3, 4], **{"tokens": 10, **wrong})
