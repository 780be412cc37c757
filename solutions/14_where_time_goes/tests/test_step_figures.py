"""Pictures of sections 4 to 6 of lab 14: steps, and batches that are fetched and used."""

from __future__ import annotations

import pytest

from course.profiles.spans import Span

from ..figures.fetching_picture import fetching_picture
from ..figures.steps_picture import steps_picture

SPANS = [
    Span("step", 0.0, 0.01, "step"),
    Span("loading", 0.0, 0.001, "loading"),
    Span("compute", 0.001, 0.003, "forward 0"),
    Span("compute", 0.003, 0.005, "forward 0"),
    Span("communication", 0.004, 0.009, "all_reduce"),
    Span("communication", 0.004, 0.006, "all_reduce"),
]
RUN = [(0.0, 0.01), (0.01, 0.02)], [(0.01, 0.03), (0.03, 0.05)]
FIGURES = {
    "steps": lambda: steps_picture({"one": [SPANS], "another": [SPANS, SPANS]}),
    "fetching": lambda: fetching_picture({"ahead": RUN}),
}


def test_each_span_is_drawn_but_those_that_are_made_of_others() -> None:
    axes = steps_picture({"one": [SPANS]}).axes[0]
    widths = [bar.get_width() for bar in axes.patches if bar.get_width()]
    assert sorted(widths) == pytest.approx([1, 2, 2, 2, 3])  # the second all-reduce, from where the first is complete


def test_what_is_computed_twice_has_another_colour() -> None:
    axes = steps_picture({"one": [SPANS]}).axes[0]
    first, again = (bar for bar in axes.patches if 1 <= bar.get_x() < 4 and bar.get_y() < 0)
    assert first.get_facecolor() != again.get_facecolor()


def test_batches_lie_where_they_were_fetched_and_used() -> None:
    [axes] = fetching_picture({"ahead": RUN}).axes
    drawn = [(bar.get_x(), bar.get_width()) for bar in axes.patches]
    assert drawn == [pytest.approx(each) for each in [(0, 10), (10, 10), (10, 20), (30, 20)]]
