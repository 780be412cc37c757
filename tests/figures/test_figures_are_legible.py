"""Every word of every figure can be read, and a notebook shows it sharp, on a ground of its own."""

from __future__ import annotations

import pytest
import test_figures_digits
import test_figures_pi
import test_figures_sampler
import test_figures_sgd
import test_figures_training
import test_figures_transformer
from legibility import assert_sharp_on_light_ground, assert_words_are_readable

MODULES = (
    test_figures_digits,
    test_figures_pi,
    test_figures_sampler,
    test_figures_sgd,
    test_figures_training,
    test_figures_transformer,
)
FIGURES = {f"{module.__name__[13:]}: {name}": draw for module in MODULES for name, draw in module.FIGURES.items()}


@pytest.mark.parametrize("name", FIGURES)
def test_no_word_of_a_figure_covers_another_or_is_cut_off(name: str) -> None:
    assert_words_are_readable(FIGURES[name]())


@pytest.mark.parametrize("name", FIGURES)
def test_a_notebook_shows_a_figure_sharp_and_on_its_own_light_ground(name: str) -> None:
    assert_sharp_on_light_ground(FIGURES[name]())
