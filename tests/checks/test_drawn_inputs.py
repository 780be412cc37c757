"""What checks draw: sentences for a translator, and answers of a classifier."""

from __future__ import annotations

import random

import pytest
from lab_packages import check_module

from autograde.fixtures.awkward_translator import draw_pairs, draw_shares, number_of
from course.models.translator.sentences import collate


def test_sentences_are_found_again_by_their_ids() -> None:
    pairs = draw_pairs(random.Random(2), 100)
    src, _, _ = collate(pairs)
    assert [number_of(row.tolist(), pairs) for row in src] == [*range(100)]
    assert number_of([1, 2, 3], pairs) is None
    with pytest.raises(ValueError, match="501"):
        draw_pairs(random.Random(2), 501)


def test_drawn_shares_have_unequal_numbers_of_tokens_and_may_be_empty() -> None:
    shares = draw_shares(random.Random(4), [3, 0, 3])
    assert [len(own) for own in shares] == [3, 0, 3]
    assert sum(len(target) for _, target in shares[0]) != sum(len(target) for _, target in shares[2])


def test_in_a_drawn_evaluation_parts_of_the_set_have_other_accuracies():
    evaluate = check_module("07_horovod_mnist", "evaluate")
    for seed in range(20):
        case = evaluate.draw_evaluation(random.Random(seed), 3, 10)
        assert case == evaluate.draw_evaluation(random.Random(seed), 3, 10)
    assert not evaluate.distinct([True, False] * 5, 2) or not evaluate.distinct([True] * 10, 2)
    assert not evaluate.distinct([True] * 10, 3)
