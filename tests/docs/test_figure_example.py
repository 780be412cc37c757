"""The figure and the film that docs/lecture_authors.md shows are drawn as they stand there."""

from __future__ import annotations

import re

import pytest

from autograde.labs.places import REPOSITORY

PAGE = (REPOSITORY / "docs" / "lecture_authors.md").read_text(encoding="utf-8")
BLOCKS = [block for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) if "figures" in block]


@pytest.fixture
def example() -> dict:
    """What the listings define."""
    names: dict = {}
    for block in BLOCKS:
        exec(compile(block, "docs/lecture_authors.md", "exec"), names)
    return names


def test_the_figure_has_both_grounds_and_says_what_is_to_be_seen(example: dict) -> None:
    picture = example["step_times_picture"]([1, 2, 4], [1.0, 0.6, 0.45])
    assert picture.alt == "Time of a step: 1.00 s on 1, 0.60 s on 2, 0.45 s on 4."
    assert picture.dark.ground != picture.ground
    measured, ideal = picture.axes[0].get_lines()
    assert [*measured.get_ydata()] == [1.0, 0.6, 0.45] and [*ideal.get_ydata()] == [1.0, 0.5, 0.25]


def test_the_film_has_a_frame_for_each_measurement(example: dict) -> None:
    film = example["step_times_film"]([1, 2, 4], [1.0, 0.6, 0.45])
    assert [frame.caption for frame in film.frames] == [
        "Time of a step: 1.00 s on 1.",
        "Time of a step: 1.00 s on 1, 0.60 s on 2.",
        "Time of a step: 1.00 s on 1, 0.60 s on 2, 0.45 s on 4.",
    ]
