"""Answers to a lab's questions, through nbgrader and a real gradebook: a number, and a text that a person grades."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from classroom import Classroom
from small_course import ANSWERS, LAB, LAB_PY, make_course

pytestmark = pytest.mark.thorough
QUESTIONS = """
# %% answer="smallest"
check.answer("smallest", None)

# %% [markdown] answer="why" points=2
# The model answer.

# %% [markdown] answer="opinion"
# Any.
"""
KEY = '[smallest]\nvalue = 0.5\nremark = "Well seen."\n'
WRITTEN = {"smallest": 'check.answer("smallest", 0.5)', "why": "All ranks add.", "opinion": "Fine."}
LATER = {"smallest": 'check.answer("smallest", 4)'}


@pytest.fixture
def room(tmp_path: Path) -> Classroom:
    """A class on the small lab with three questions, built."""
    room = Classroom(make_course(tmp_path / "course", LAB_PY + QUESTIONS), LAB)
    (room.root / "solutions" / LAB / "questions.toml").write_text(KEY)
    assert room.lockstep("build").exit_code == 0
    return room


def test_a_number_is_judged_and_a_text_waits_for_the_instructor(room):
    built = room.released()
    assert "The model answer" not in str(built)
    assert room.nbgrader("generate_assignment", LAB, "--force").returncode == 0
    assert room.released() == built
    assert room.nbgrader("release_assignment", LAB).returncode == 0
    room.submit("ada", room.answered(ANSWERS | WRITTEN))
    room.submit("bob", room.answered(ANSWERS | LATER))
    result = room.lockstep("grade", LAB)
    assert result.exit_code == 0, result.output
    # What nobody wrote is worth 0 at once; what was written waits, if it can change the score.
    rows = room.rows()
    assert {name: (row["status"], row["score"], row["max"]) for name, row in rows.items()} == {
        "ada": ("needs manual grading", "5", "7"),
        "bob": ("graded", "5", "7"),
    }
    assert "smallest: 0.5 is right. Well seen." in room.feedback("ada")
    assert "smallest: 4 is not right. Look once more" in room.feedback("bob")
    assert "All ranks add." in room.feedback("ada")
    report = Path(room.lockstep("report", LAB).output.strip()).read_text()
    assert "an answer for you to read and grade" in report
    # In the formgrader, which does what is done here, both texts ask for a look.
    with room.gradebook() as gradebook:
        grades = {grade.name: grade for grade in gradebook.find_submission_notebook(LAB, LAB, "ada").grades}
        waiting = {name for name, grade in grades.items() if grade.needs_manual_grade}
        assert waiting == {"why", "opinion"}
        grades["why"].manual_score = 1.5
        grades["why"].needs_manual_grade = False
        comment = gradebook.find_comment("why", LAB, LAB, "ada")
        comment.manual_comment = "Add what, and where to?"
        gradebook.db.commit()
    assert room.nbgrader("generate_feedback", LAB, "--force").returncode == 0
    assert "Add what, and where to?" in room.feedback("ada")
    table = room.grade().output
    row = room.rows()["ada"]
    assert (row["status"], row["score"], row["why"]) == ("graded", "6.5", "1.5")
    assert re.search(r"student +double +total +why +score", table)
    report = Path(room.lockstep("report", LAB).output.strip()).read_text()
    assert "<code>why</code><small>of 2</small>" in report and '<td class="number">1.5</td>' in report


def test_what_happens_to_the_cells_of_answers_is_named(room):
    notebook = room.answered(ANSWERS | WRITTEN)
    notebook.cells = [cell for cell in notebook.cells if cell.id != "smallest"]
    for cell in notebook.cells:
        if cell.id == "why":
            cell.metadata.nbgrader.points = 100
        if cell.id == "opinion":
            cell.cell_type = "raw"
    room.put("ada", notebook)
    assert room.grade().exit_code == 0
    row = room.rows()["ada"]
    assert row["max"] == "7"
    assert "cell `smallest` is missing; it is put back empty;" in row["problems"]
    assert "cell `why` was retagged; the tags have no effect" in row["problems"]
    assert "cell `opinion` was turned into a `raw` cell; its text is graded as markdown" in row["problems"]
    assert "smallest: not answered yet." in room.feedback("ada")
