"""What each rank has in memory is drawn in its colours."""

from __future__ import annotations

from matplotlib.colors import to_hex

from course.figures.first_ranks.memory import memory_picture
from course.figures.style import COLOURS

SHARES = [[7, 8, 0, 0, 0], [0, 0, 12, 0, 0], [0, 0, 0, 3, 41]]
FIGURES = {
    "shares": lambda: memory_picture({"a": [[1, 2, 3, 4, 5]] * 3, "c": SHARES}, "Shares"),
    "nothing in memory": lambda: memory_picture({"c": [[], []]}, "Nothing"),
}


def test_a_cell_has_the_colour_of_its_rank_where_there_is_a_number_and_none_elsewhere() -> None:
    axes = FIGURES["shares"]().axes[1]
    filled = [to_hex(cell.get_facecolor()).upper() for cell in axes.patches]
    numbers = [number for row in SHARES for number in row]
    expected = [COLOURS[place // 5] if number else "#FFFFFF" for place, number in enumerate(numbers)]
    assert filled == expected
    assert [text.get_text() for text in axes.texts] == [str(number) for number in numbers if number]
