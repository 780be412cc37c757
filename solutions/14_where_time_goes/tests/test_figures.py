"""Pictures of sections 1 to 3 of lab 14: products, parts of a step, and clocks that disagree."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ..figures.clocks_picture import AHEAD, BEGINS, TRACES, clocks_picture
from ..figures.parts_bars import parts_bars
from ..figures.parts_picture import PARTS, parts_picture
from ..figures.products_picture import PRODUCTS, products_picture

SECONDS = [
    {"computing": 0.03, "hidden": 0.01, "exposed": 0.02, "idle": 0.005},
    {"computing": 0.05, "hidden": 0.0, "exposed": 0.0, "idle": 0.0},
]
FIGURES = {
    "products": products_picture,
    "parts of a step": parts_picture,
    "bars of parts": lambda: parts_bars(SECONDS, "Two ranks"),
    "clocks": clocks_picture,
}


def test_a_rank_s_parts_lie_one_after_the_other_and_are_as_long_as_they_are_told() -> None:
    [axes] = parts_bars(SECONDS, "Two ranks").axes
    drawn = axes.patches[:8]
    widths = [bar.get_width() for bar in drawn]
    assert widths == pytest.approx([20, 10, 20, 5, 50, 0, 0, 0])
    for row in (drawn[:4], drawn[4:]):
        assert all(one.get_x() + one.get_width() == pytest.approx(two.get_x()) for one, two in pairwise(row))


def test_each_moment_of_the_drawn_step_is_one_part() -> None:
    [axes] = parts_picture().axes
    row = [bar for bar in axes.patches if bar.get_y() + bar.get_height() / 2 == pytest.approx(PARTS)]
    covered = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in row]
    assert all(any(start <= second < end for start, end in covered) for second in range(12))
    assert max(end for _, end in covered) == 12


def test_the_drawn_clocks_are_those_of_the_example() -> None:
    last = [max(start for start, _ in spans) for spans in zip(*TRACES, strict=True)]
    assert last == [*BEGINS]
    words = {text.get_text() for text in clocks_picture().axes[0].texts}
    assert words == {str(time + rank * AHEAD) for rank, spans in enumerate(TRACES) for span in spans for time in span}


def test_six_products_of_a_layer_have_weights() -> None:
    assert len(PRODUCTS) == 8 and sum("width" in size for _, size, _ in PRODUCTS) == 6
