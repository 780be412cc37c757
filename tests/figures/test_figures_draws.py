"""Which rank draws which sample: what is drawn is what was given."""

from __future__ import annotations

from matplotlib.colors import to_rgba
from torch_draws import drawn

from course.figures.data.draws import draws_picture, owners_of
from course.figures.style import COLOURS

# Samples 0 and 1 are drawn by two ranks, 4 to 7 by nobody.
WRONG = [[[0, 1], [0, 1], [2], [3]]] * 2
FIGURES = {
    "draws": lambda: draws_picture(drawn(14, 4, 5), 14, "14 samples"),
    "draws of many": lambda: draws_picture(drawn(200, 4, 8), 200, "200 samples"),
    "draws of one": lambda: draws_picture(drawn(1, 4, 1), 1, "one sample"),
    "wrong draws": lambda: draws_picture(WRONG, 8, "8 samples"),
}


def test_a_sample_has_the_colours_of_the_ranks_that_draw_it_and_a_later_one_is_hatched() -> None:
    patches = FIGURES["wrong draws"]().axes[0].patches
    first = [patch for patch in patches if patch.get_x() < 0.5 and patch.get_y() < 0.5]
    assert [patch.get_facecolor() for patch in first] == [to_rgba(COLOURS[0]), to_rgba(COLOURS[1]), (0, 0, 0, 0)]
    assert [bool(patch.get_hatch()) for patch in first] == [False, False, True]
    legend = [text.get_text() for text in FIGURES["wrong draws"]().axes[0].get_legend().get_texts()]
    assert legend == ["rank 0", "rank 1", "rank 2", "rank 3", "drawn again:\n2 an epoch", "nobody: 8"]


def test_who_draws_a_sample_first_is_who_has_it_in_an_earlier_turn() -> None:
    assert owners_of([[3, 0], [1, 2], [2, 3]], 5) == [[0], [1], [2, 1], [0, 2], []]
