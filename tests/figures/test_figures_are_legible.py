"""Every word of every figure can be read, on a light and on a dark ground, and a notebook shows it sharp."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
import test_figures_collectives
import test_figures_compressing
import test_figures_digits
import test_figures_distributed_sgd
import test_figures_failures
import test_figures_hello
import test_figures_lectures
import test_figures_model_parallel
import test_figures_overlap
import test_figures_pi
import test_figures_profiles
import test_figures_sampler
import test_figures_scaling
import test_figures_sgd
import test_figures_sharding
import test_figures_splitting
import test_figures_strip
import test_figures_training
import test_figures_transformer
from legibility import (
    Drawn,
    assert_looks_at_home_on_a_dark_ground,
    assert_sharp_on_light_ground,
    assert_text_stands_out,
    assert_words_are_readable,
)

from course.figures.contrast import contrast, ink_on, legible

MODULES = (
    test_figures_collectives,
    test_figures_compressing,
    test_figures_digits,
    test_figures_distributed_sgd,
    test_figures_failures,
    test_figures_hello,
    test_figures_lectures,
    test_figures_model_parallel,
    test_figures_pi,
    test_figures_profiles,
    test_figures_overlap,
    test_figures_sampler,
    test_figures_scaling,
    test_figures_sgd,
    test_figures_sharding,
    test_figures_splitting,
    test_figures_strip,
    test_figures_training,
    test_figures_transformer,
)


class Figure(NamedTuple):
    """How to draw a figure. name: of the module that does."""

    name: str
    draw: Callable[[], object]


FIGURES = [
    pytest.param(Figure(module.__name__, draw), id=f"{module.__name__[13:]}: {name}")
    for module in MODULES
    for name, draw in module.FIGURES.items()
]
of_each_module = pytest.mark.sample(1, "drawn")


@pytest.fixture(scope="module", params=FIGURES)
def drawn(request: pytest.FixtureRequest) -> Drawn:
    """Each figure, drawn once for all tests."""
    return Drawn(request.param.draw())


@of_each_module
def test_no_word_of_a_figure_covers_another_or_is_cut_off(drawn: Drawn) -> None:
    assert_words_are_readable(drawn)


@of_each_module
def test_a_notebook_shows_a_figure_sharp_and_on_its_own_light_ground(drawn: Drawn) -> None:
    assert_sharp_on_light_ground(drawn)


@of_each_module
def test_text_stands_out_on_a_light_and_on_a_dark_ground(drawn: Drawn) -> None:
    assert_text_stands_out(drawn)
    assert_text_stands_out(drawn.dark)
    assert_looks_at_home_on_a_dark_ground(drawn)


def test_contrast_is_that_of_wcag() -> None:
    for one, other, ratio in (("#000", "#FFF", 21), ("#777", "#FFF", 4.48), ("#0072B2", "#0072B2", 1)):
        assert contrast(one, other) == pytest.approx(contrast(other, one)) == pytest.approx(ratio, abs=0.01)


def test_a_colour_for_text_is_changed_only_as_far_as_it_takes() -> None:
    assert legible("#0072B2", "#FFFFFF", "#2B2B2B") == "#0072b2"
    assert 4.5 <= contrast(legible("#E69F00", "#FFFFFF", "#2B2B2B"), "#FFFFFF") < 5.2
    assert ink_on("#0072B2") == "#FFFFFF" and ink_on("#E69F00") == "#111111"
