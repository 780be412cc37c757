"""`lockstep counts`: which of a student's hand-ins counts, before and after it was graded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from classroom import Classroom
from nbformat import writes
from reported_class import Page
from small_course import ANSWERS, LAB, make_course
from test_feedback_again import PENALTY

from autograde.classroom.nbgrader_course import Course
from autograde.classroom.runs.progress import reporter_to_nobody
from autograde.labs.folder import find_lab
from autograde.term.counting.hand_ins import hand_ins, local
from autograde.term.waiting import waiting
from course.exchange.names import SECRET, TIMESTAMP

DUE = "2026-01-03 12:00:00"
IN_TIME, LATE, LATER = (f"2026-01-0{day} 13:00:00.123456 UTC" for day in (2, 4, 5))


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Classroom:
    """A class on the small lab with a deadline, to which ada handed in twice: in time, and late."""
    room = Classroom(make_course(tmp_path / "course"), LAB, PENALTY)
    for name, value in room.environment.items():
        monkeypatch.setenv(name, value)
    for folder in ("inbound", "outbound", "feedback"):
        (room.exchange / "lockstep" / folder).mkdir(parents=True)
    (room.root / "class").mkdir(exist_ok=True)
    hand_in(room, IN_TIME, b"{}")
    hand_in(room, LATE, b"{ }")
    return room


def hand_in(room: Classroom, when: str, notebook: bytes) -> None:
    """Ada hands in at this time."""
    folder = room.exchange / "lockstep" / "inbound" / f"ada+{LAB}+{when}+random"
    folder.mkdir()
    (folder / f"{LAB}.ipynb").write_bytes(notebook)
    (folder / TIMESTAMP).write_text(when)
    (folder / SECRET).write_text(f"{int(when[9]):0128x}")


def register(room: Classroom) -> None:
    """The lab is in the gradebook, with its deadline."""
    with room.gradebook() as gradebook:
        gradebook.add_assignment(LAB, duedate=DUE)
        gradebook.add_notebook(LAB, LAB)


def collected(room: Classroom) -> str:
    """When what is collected of ada was handed in."""
    return (room.root / "class" / "submitted" / "ada" / LAB / TIMESTAMP).read_text()


def shown(room: Classroom, *times: str) -> list[str]:
    """These times as they are listed."""
    return [local(time, Course(room.root).zone) for time in times]


def counts(room: Classroom, *words: str) -> list[str]:
    """What the command says of ada's hand-ins."""
    done = room.lockstep("counts", LAB, "ada", *words)
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


def test_an_instructor_lists_what_was_handed_in_and_lets_an_earlier_one_count(room):
    register(room)
    first, second, third = shown(room, IN_TIME, LATE, LATER)
    assert counts(room) == [f"{first}: in time", f"{second}: 1 d 1 h late, counts"]
    said = counts(room, first[:16])
    assert said == [
        f"ada: what was handed in at {first} counts for {LAB}, by your choice",
        "it counts, but the exchange cannot show it to this student alone; tell the student yourself",
        f"it is not graded yet: `lockstep grade {LAB} --student ada` grades it",
    ]
    assert collected(room) == IN_TIME
    assert counts(room) == [f"{first}: in time, counts, by your choice", f"{second}: 1 d 1 h late"]
    hand_in(room, LATER, b"{}")
    notices, errors = Course(room.root).collect(LAB, reporter_to_nobody())
    assert (collected(room), errors) == (IN_TIME, [])
    told = "ada: what was handed in at 2026-01-02 13:00 UTC counts, by your choice, and not what was handed in later"
    assert told in notices
    (lab,) = waiting(room.root)
    assert lab.to_grade == ("ada",) and "for ada a hand-in of your choice counts" in lab.standing
    listed = json.loads(counts(room, "--json")[-1])
    assert [(one["shown"], one["counts"]) for one in listed] == [(first, True), (second, False), (third, False)]
    assert counts(room, "last")[0].endswith(f"{third} counts for {LAB}, the last one, as nothing is chosen any more")
    assert collected(room) == LATER and not waiting(room.root)[0].chosen


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("bob",), "bob has handed in nothing of 90_small through the exchange"),
        (("ada", "23:59"), "nothing was handed in at 23:59; there are: "),
        (("ada", "2026-01-0"), "several were handed in at 2026-01-0: "),
    ],
)
def test_what_cannot_be_chosen_is_one_line_and_nothing_is_changed(room, words, why):
    done = room.lockstep("counts", LAB, *words)
    assert done.exit_code == 1 and done.output.startswith(f"Error: {why}") and done.output.count("\n") == 1
    assert not (room.root / "class" / "submitted").exists()
    assert not any(one.chosen for one in hand_ins(Course(room.root), find_lab(room.root, LAB), "ada"))


@pytest.mark.thorough
def test_deadline_penalty_marks_and_report_follow_before_and_after_it_was_graded(room):
    assert room.lockstep("build").exit_code == 0
    for when, answers in ((IN_TIME, {"double": ANSWERS["double"]}), (LATE, ANSWERS)):
        path = room.exchange / "lockstep" / "inbound" / f"ada+{LAB}+{when}+random" / f"{LAB}.ipynb"
        path.write_text(writes(room.answered(answers)))
    assert room.lockstep("enrol", "ada").exit_code == 0
    with room.gradebook() as gradebook:
        gradebook.update_or_create_assignment(LAB, duedate=DUE)
    first, second = shown(room, IN_TIME, LATE)

    def graded() -> tuple[str, str]:
        assert room.lockstep("grade", LAB, "--no-sandbox").exit_code == 0
        row = room.rows()["ada"]
        return row["score"], row["late_penalty"]

    counts(room, first)
    assert graded() == ("2", "0")
    assert counts(room)[0] == f"{first}: in time, graded 2 of 5, counts, by your choice"
    report = Page(Path(room.lockstep("report", LAB).output.strip()).read_text()).words
    assert "handed in 2026-01-02 13:00 UTC: counts by your choice" in " ".join(report.split())
    term = Page(Path(room.lockstep("report").output.strip()).read_text()).words
    assert "handed in 2026-01-02 13:00 UTC: counts by your choice" in " ".join(term.split())
    counts(room, "last")
    assert graded() == ("4", "1")
    assert counts(room) == [f"{first}: in time", f"{second}: 1 d 1 h late, graded 4 of 5, counts"]
    counts(room, first)
    assert room.rows()["ada"]["score"] == "4", "the file is of the last grading"
    marks = room.lockstep("grades", LAB)
    assert "another hand-in counts now than the one that was graded: ada; no mark until" in marks.output
    assert graded() == ("2", "0")
