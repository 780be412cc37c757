"""The number that a question of the lab asks for, computed otherwise."""

from __future__ import annotations

from pathlib import Path

import torch

from autograde.labs.questions import read_questions

LAB = Path(__file__).parents[1]


def test_the_number_of_intervals_is_the_smallest_that_is_close_enough():
    def error(intervals: int) -> float:
        middles = (torch.arange(intervals, dtype=torch.float64) + 0.5) / intervals
        return abs(float((4 / (1 + middles**2)).sum()) / intervals - torch.pi)

    number = int(read_questions(LAB)["nine_digits"].right.value)
    assert error(number) < 1e-9 < error(number - 1)
