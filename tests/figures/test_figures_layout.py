"""A figure is laid out once for both grounds, and then looks as if each had been laid out by itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from course.figures.layout import LayoutOf
from course.figures.style import Ground, Picture, new_figure, on_both_grounds


@on_both_grounds
def titled(ground: Ground) -> Picture:
    """A figure with all that a layout moves: axes of two widths, a colour bar, titles."""
    figure, (left, right) = new_figure(4, 3, columns=[2, 1], alt="Titles", ground=ground)
    left.plot([0, 1000], [0, 1e-5])
    left.set(xlabel="a label", title="Left")
    figure.colorbar(right.imshow([[0, 1], [1, 0]]), ax=right, shrink=0.6)
    figure.suptitle("Above all", x=0.02, ha="left")
    figure.supxlabel("Below\nall", x=0.02, ha="left")
    return figure


@pytest.fixture
def figure() -> Picture:
    """Such a figure."""
    return titled()


def test_a_figure_in_the_layout_of_another_is_dot_for_dot_what_its_own_gives(figure: Picture) -> None:
    apart = titled().dark.png(2)
    without = figure.dark.png(2, like=titled())  # which was not drawn, so nothing has its place yet
    figure.png(2)
    assert figure.dark.png(2, like=figure) == apart != without


def test_drawing_leaves_a_figure_as_it_was(figure: Picture) -> None:
    before = figure.dark.dpi, figure.dark.get_layout_engine()
    figure.png(2)
    figure.dark.png(2, like=figure)
    assert (figure.dark.dpi, figure.dark.get_layout_engine()) == before
    assert not isinstance(before[1], LayoutOf)


@pytest.mark.parametrize(
    "add", [lambda figure: figure.text(0.5, 0.5, "mine"), lambda figure: figure.add_subplot(3, 3, 5)]
)
def test_a_figure_to_which_somebody_has_added_is_shown_with_the_other_as_it_was(figure: Picture, add: Callable) -> None:
    apart = titled().dark.html()
    add(figure)
    assert apart in figure._repr_mimebundle_()["text/html"]
