"""Every word of every figure can be read, on a light and on a dark ground, and a notebook shows it sharp."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest
from lab_tests import FOLDER, lab_test
from labs_under_test import LABS
from legibility import (
    Drawn,
    assert_looks_at_home_on_a_dark_ground,
    assert_sharp_on_light_ground,
    assert_text_stands_out,
    assert_words_are_readable,
)

from autograde.labs.folder import Lab
from course.figures.contrast import contrast, ink_on, legible

MODULES = "test_figures*.py"  # those of them that have FIGURES: how to draw each, by name


class Figure(NamedTuple):
    """How to draw a figure. name: of the module that does. lab: whose it is, if it is a lab's own."""

    name: str
    draw: Callable[[], object]
    lab: Lab | None = None


def figures() -> Iterator[object]:
    """The figures of the tests in this folder, and of those in each lab's."""
    tests = [(path, None) for path in sorted(Path(__file__).parent.glob(MODULES)) if path != Path(__file__)]
    tests += [(path, lab) for lab in LABS for path in sorted((lab.folder / FOLDER).glob(MODULES))]
    for path, lab in tests:
        module = lab_test(path) if lab else import_module(path.stem)
        for name, draw in getattr(module, "FIGURES", {}).items():
            place = lab.name if lab else path.stem.removeprefix("test_figures_")
            yield pytest.param(Figure(module.__name__, draw, lab), id=f"{place}: {name}")


of_each_module = pytest.mark.sample(1, "drawn")


@pytest.fixture(scope="module", params=figures())
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
