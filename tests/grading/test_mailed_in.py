"""Work that came by mail is graded beside what was handed in through the exchange; its feedback is a file to send."""

from __future__ import annotations

import pytest
from classroom import Classroom
from small_course import ANSWERS, LAB, make_course


@pytest.fixture
def room(tmp_path) -> Classroom:
    """A class whose student ada handed in through the exchange, and bob by mail."""
    room = Classroom(make_course(tmp_path / "course"), LAB)
    assert room.lockstep("build").exit_code == 0
    assert room.nbgrader("release_assignment", LAB).returncode == 0
    room.submit("ada", room.answered({"double": ANSWERS["double"]}))
    room.put("bob", room.answered(ANSWERS), when=None)
    return room


@pytest.mark.thorough
def test_it_is_graded_and_feedback_is_released_to_all_others(room):
    graded = room.lockstep("grade", LAB, "--no-sandbox")
    assert graded.exit_code == 0, graded.output
    assert room.scores() == {"ada": 2, "bob": 5}
    (room.root / "class" / "feedback" / "ada" / LAB / "timestamp.txt").unlink()  # as if deleted, being unreadable
    released = room.nbgrader("release_feedback", LAB)
    assert released.returncode == 0, released.stderr
    pages = [page.read_text() for page in (room.exchange / "lockstep" / "feedback").glob("*.html")]
    assert pages == [room.feedback("ada")]
    assert (
        f"bob did not hand in through the exchange; send the feedback: {room.root}/class/feedback/bob/{LAB}/{LAB}.html"
        in released.stderr
    )
