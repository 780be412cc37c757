"""`./lockstep feedback`: a lab's feedback goes to all who are graded, as scores and comments are now."""

from __future__ import annotations

import pytest
from changing_lab import without_sandboxes
from classroom import Classroom
from nbgrader.utils import notebook_hash
from small_course import ANSWERS, CHECKS_PY, LAB, make_course


@pytest.fixture
def room(small: Classroom, monkeypatch: pytest.MonkeyPatch) -> Classroom:
    """A class in which ada handed in through the exchange and is graded, without ranks, and bob handed in by mail."""
    without_sandboxes(monkeypatch)
    for name, value in small.environment.items():
        monkeypatch.setenv(name, value)
    (small.exchange / "lockstep").mkdir(parents=True, exist_ok=True)
    (small.put("ada", small.answered(ANSWERS)) / "submission_secret.txt").write_text("ada's")
    small.put("bob", small.answered(ANSWERS))
    return small


def test_what_was_changed_since_is_in_the_page_that_is_released_and_stale_marks_get_none(room):
    said = room.lockstep("feedback", LAB)
    assert said.exit_code == 1 and f"run `lockstep grade {LAB}` first" in said.output
    assert room.grade().exit_code == 0
    with room.gradebook() as gradebook:
        gradebook.find_comment("double", LAB, LAB, "ada").manual_comment = "Nearly."
        gradebook.db.commit()
    said = room.lockstep("feedback", LAB).output
    assert "feedback was written, as scores and comments are now: ada\n" in said
    assert "bob did not hand in through the exchange; send the feedback: " in said
    assert said.endswith(f"{LAB}: feedback is released to 1 of 2 who handed in\n")
    name = notebook_hash(secret="ada's", notebook_id=LAB)
    page = room.exchange / "lockstep" / "feedback" / f"{name}.html"
    assert "Nearly." in page.read_text()
    page.unlink()
    make_course(room.root, checks=CHECKS_PY.replace('"twice", 1.5', '"twice", 3.5'))
    said = room.lockstep("feedback", LAB).output
    assert "ada: feedback is not released: " in said and not page.exists()
