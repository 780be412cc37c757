"""The number that a question of the lab asks for, computed otherwise."""

from __future__ import annotations

from pathlib import Path

from autograde.labs.questions import read_questions
from course.models.digits import digit_model

LAB = Path(__file__).parents[1]


def test_the_bytes_are_those_of_its_models_gradients():
    weights = sum(each.numel() * each.element_size() for each in digit_model(0).parameters())
    assert weights == read_questions(LAB)["bytes_per_step"].right.value
