"""Answers of a classifier are drawn so that it shows whether all samples were counted."""

from __future__ import annotations

import random

from ..checks import evaluate


def test_in_a_drawn_evaluation_parts_of_the_set_have_other_accuracies():
    for seed in range(20):
        case = evaluate.draw_evaluation(random.Random(seed), 3, 10)
        assert case == evaluate.draw_evaluation(random.Random(seed), 3, 10)
    assert not evaluate.distinct([True, False] * 5, 2) or not evaluate.distinct([True] * 10, 2)
    assert not evaluate.distinct([True] * 10, 3)
