"""docs/instructors.md's example of a late penalty does what is said of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from classroom import REPOSITORY, Classroom
from filled_gradebook import deadline, filled, hand_in
from small_course import LAB


def example() -> tuple[str, list[int]]:
    """The example, and its numbers: points, hours late, points that are left."""
    text = (REPOSITORY / "docs" / "instructors.md").read_text()
    said, code = re.search(r"A late submission costs nothing(.*?)```python\n(.*?)```", text, re.DOTALL).groups()
    return code, [int(number) for number in re.findall(r"\d+", said)]


@pytest.fixture
def room(tmp_path: Path) -> Classroom:
    """A class in which thora was 25 hours late, with 5 points."""
    room = filled(tmp_path / "course")
    deadline(room, "2026-01-03 12:00:00")
    hand_in(room, "thora", 2, 3, "2026-01-04 13:00:00")
    return room


@pytest.mark.thorough
@pytest.mark.parametrize("configured", [False, True])
def test_a_late_submission_costs_what_the_example_says_and_nothing_without_it(room, configured):
    code, (points, hours, left) = example()
    assert (points, hours) == (5, 25)
    room.config = code if configured else ""
    assert room.lockstep("extend", LAB, "thora", "none").exit_code == 0  # computes the penalty anew
    with room.gradebook() as gradebook:
        notebook = gradebook.find_submission_notebook(LAB, LAB, "thora")
        penalty = notebook.late_submission_penalty or 0
        assert notebook.score - penalty == (left if configured else points)
