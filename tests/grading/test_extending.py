"""`lockstep extend`: more time for one student counts for the penalty, in the marks and in the reports."""

from __future__ import annotations

from pathlib import Path

import pytest
from classroom import Classroom
from filled_gradebook import deadline, filled, hand_in
from reported_class import Page
from small_course import LAB
from test_feedback_again import PENALTY

DUE, LATE = "2026-01-03 12:00:00", "2026-01-04 13:00:00"

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """A class in which two were late by a day and an hour, which costs a point; all others have handed in nothing."""
    room = filled(tmp_path_factory.mktemp("extend") / "course")
    room.config = PENALTY
    deadline(room, DUE)
    for student in ("thora", "li"):
        hand_in(room, student, 2, 3, LATE)
    return room


def extend(room: Classroom, *words: str) -> tuple[int, str]:
    """Run `lockstep extend`. Returns its status, and what it said."""
    result = room.lockstep("extend", *words)
    return result.exit_code, result.output


def table(room: Classroom) -> dict[str, dict[str, str]]:
    """The marks, by student."""
    path = Path(room.lockstep("grades", LAB).output.splitlines()[-1])
    heading, *rows = [line.split(",") for line in path.read_text().splitlines()]
    return {row[1]: dict(zip(heading, row, strict=False)) for row in rows}


def test_an_extension_takes_the_lateness_and_its_penalty_away_for_that_student_only_and_back(room):
    assert extend(room, LAB, "thora", "1h") == (
        0, f"thora: the deadline of {LAB} is 2026-01-03 13:00:00 UTC, 1 h after the class's\n",
    )  # fmt: skip
    assert (table(room)["thora"]["points"], table(room)["thora"]["days late"]) == ("4", "1")
    assert extend(room, LAB, "thora", "2d")[0] == 0
    marks = table(room)
    assert (marks["thora"]["points"], marks["thora"]["days late"]) == ("5", "0")
    assert marks["thora"]["deadline UTC"] == "2026-01-05 12:00:00"
    assert (marks["li"]["days late"], marks["li"]["deadline UTC"]) == ("2", DUE)
    for words in ((LAB,), ()):
        page = Page(Path(room.lockstep("report", *words).output.strip()).read_text())
        assert "extended to 2026-01-05 12:00 UTC" in " ".join(page.words.split())
    assert extend(room, LAB, "thora", "none") == (
        0, f"thora: the deadline of {LAB} is {DUE} UTC, as the class's\n",
    )  # fmt: skip
    assert table(room)["thora"]["points"] == "4"


def test_without_a_lab_it_is_for_all_labs_that_have_a_deadline(room):
    assert extend(room, "li", "2d") == (
        0, f"li: the deadline of {LAB} is 2026-01-05 12:00:00 UTC, 2 d after the class's\n",
    )  # fmt: skip
    assert table(room)["li"]["days late"] == "0"
    assert extend(room, "li", "none")[0] == 0
    assert extend(room, "lii", "2d") == (1, "Error: no student lii in the gradebook; do you mean li?\n")
    status, said = extend(room, "ada", "-3d")
    assert status == 1 and f"Error: {LAB}: -3d is no time: say 3d" in said and said.count("\n") == 1


def test_who_has_not_handed_in_yet_is_not_behind_until_the_extension_ends(room):
    assert extend(room, LAB, "noor", "2999-12-31")[0] == 0
    row = table(room)["noor"]
    assert (row["status"], row["points"]) == ("no submission", "")
    assert row["deadline UTC"][:10] in ("2999-12-31", "3000-01-01") and row["deadline UTC"].endswith("59:59")
    page = Page(Path(room.lockstep("report").output.strip()).read_text())
    behind = {row[0].split()[0] for row in page.tables["behind"][1:]}
    assert "noor" not in behind and {"ada", "thora"} <= behind
    with room.gradebook() as gradebook:
        assert not gradebook.find_submission(LAB, "noor").needs_manual_grade
    assert extend(room, LAB, "noor", "none")[0] == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("07_nothing", "ada", "3d"), "no lab `07_nothing` in "),
        ((LAB, "thoar", "3d"), "no student thoar in the gradebook; do you mean thora?"),
        ((LAB, "THORA", "3d"), "no student THORA in the gradebook; do you mean thora?"),
        ((LAB, "zzz", "3d"), "no student zzz in the gradebook; `lockstep enrol ID` adds a student"),
        ((LAB, "thora", "2026-01-02"), "is not after the class's deadline"),
        ((LAB, "ada", "2d"), "2026-01-05 12:00:00 UTC is over, and ada has handed in nothing"),
        ((LAB, "ada", "soon"), "soon is no time: say 3d"),
        ((LAB, "ada", "9999w"), "is no time"),
    ],
)
def test_what_cannot_be_is_one_clear_line_and_changes_nothing(room, words, why):
    if words[2] == "9999w":
        deadline(room, "9990-01-01 00:00:00")
    before = table(room)
    status, said = extend(room, *words)
    assert status == 1 and why in said and said.count("\n") == 1
    assert table(room) == before
    deadline(room, DUE)


def test_a_lab_without_a_deadline_is_one_clear_line(room):
    deadline(room, None)
    try:
        status, said = extend(room, LAB, "ada", "3d")
        assert status == 1 and "has no deadline that could be extended" in said
    finally:
        deadline(room, DUE)
