"""After a correction in the formgrader, `lockstep grade` writes the feedback again, and runs no check for that."""

from __future__ import annotations

from pathlib import Path

import pytest
from classroom import Classroom
from filled_gradebook import deadline
from small_course import ANSWERS, LAB

PENALTY = """
from nbgrader.plugins import BasePlugin
class PointsOff(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return 1.0
c.AssignLatePenalties.plugin_class = PointsOff
"""


def page(room: Classroom, student: str) -> Path:
    """The student's feedback."""
    return room.root / "class" / "feedback" / student / LAB / f"{LAB}.html"


@pytest.mark.thorough
def test_a_changed_score_a_comment_and_a_deadline_reach_the_feedback_without_a_new_grading(small):
    small.config = PENALTY
    for student in ("ada", "李雷"):
        small.put(student, small.answered(ANSWERS))
    assert small.grade("--no-sandbox").exit_code == 0
    seeds = {student: row["seed"] for student, row in small.rows().items()}
    before = {student: page(small, student).read_bytes() for student in seeds}
    said = small.grade().output
    assert "written again" not in said and before == {student: page(small, student).read_bytes() for student in seeds}

    with small.gradebook() as gradebook:
        gradebook.find_grade("double-check", LAB, LAB, "李雷").manual_score = 1.25
        gradebook.find_comment("double", LAB, LAB, "李雷").manual_comment = "Nearly – see Þóra."
        gradebook.db.commit()
    said = small.grade("--student", "李雷").output
    assert f"{LAB}: 0 to grade" in said and "feedback is written again: 李雷\n" in said
    assert "Nearly – see Þóra." in small.feedback("李雷") and "4.25" in small.feedback("李雷")
    assert small.rows()["李雷"]["score"] == "4.25"
    assert page(small, "ada").read_bytes() == before["ada"]
    assert {student: row["seed"] for student, row in small.rows().items()} == seeds, "no check ran"

    deadline(small, "2024-12-31 00:00:00")
    said = small.grade().output
    assert "feedback is written again: ada, 李雷\n" in said
    assert {student: row["score"] for student, row in small.rows().items()} == {"ada": "4", "李雷": "3.25"}
    assert small.grade("--student", "ada", "--force", "--no-sandbox").exit_code == 0
    assert small.rows()["ada"]["seed"] != seeds["ada"], "asked, it runs the checks again"
