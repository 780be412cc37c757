"""What checks draw: sentences for a translator."""

from __future__ import annotations

import random

import pytest

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
