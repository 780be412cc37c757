"""What changes after somebody was graded: no mark is told that was measured otherwise, and nothing given is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from changing_lab import THIRD, THIRD_CHECK, THIRD_PROBE, by_hand, graded_without_sandboxes, marks, without_sandboxes
from classroom import REPOSITORY, Classroom
from filled_gradebook import add_lab, deadline, filled, hand_in
from small_course import ANSWERS, CHECKS_PY, LAB, LAB_PY, PROBES_PY, make_course
from test_feedback_again import PENALTY


@pytest.fixture(scope="module")
def graded(built: Classroom, tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """A class of ada and bob, where ada's work is graded without ranks. It is copied, and not changed."""
    room = built.copied(tmp_path_factory.mktemp("graded"))
    assert room.lockstep("enrol", "ada", "bob").exit_code == 0
    deadline(room, "2030-01-01 12:00:00")
    room.put("ada", room.answered(ANSWERS))
    return graded_without_sandboxes(room)


@pytest.fixture
def room(graded: Classroom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Classroom:
    """A class of its own, which is graded without ranks from now on, too."""
    without_sandboxes(monkeypatch)
    return graded.copied(tmp_path)


def test_after_a_change_of_points_no_mark_is_told_until_all_are_graded_again(room):
    make_course(room.root, checks=CHECKS_PY.replace('"twice", 1.5', '"twice", 3.5'))
    told, said = marks(room, LAB)
    assert told["ada"] == ""
    assert "checks have changed since it was graded: ada; no mark until `lockstep grade 90_small`" in said
    assert marks(room)[0]["ada"] == ""
    assert "no mark until" in room.lockstep("report").output + (room.root / "class" / "report.html").read_text()
    assert room.lockstep("waiting").output.endswith("; 1 to grade again\n")  # and no feedback to release
    room.put("bob", room.answered(ANSWERS))
    said = room.grade().output
    assert "graded again, as the lab's points, TODOs or checks have changed since it was graded: ada" in said
    assert marks(room, LAB)[0] == {"ada": "7", "bob": "7"}


def test_another_case_counts_as_a_change_and_the_same_lab_does_not(room):
    assert "1 graded before and unchanged" in room.grade().output
    make_course(room.root, checks=CHECKS_PY.replace("-rng.randrange(1, 100)", "-rng.randrange(1, 99)"))
    assert marks(room, LAB)[0]["ada"] == ""
    assert "graded again" in room.grade().output


def test_a_changed_probe_counts_as_a_change_and_the_first_one_again_does_not(room):
    make_course(room.root, probes=PROBES_PY.replace("deadline=10", "deadline=9"))
    assert room.lockstep("waiting").output.endswith("; 1 to grade again\n")
    assert room.lockstep("waiting").output.endswith("; 1 to grade again\n")
    make_course(room.root)
    assert "again" not in room.lockstep("waiting").output


def test_how_a_graded_class_stands_is_told_without_any_check(room):
    for words, told in ((["waiting"], "1 graded"), (["grades", LAB], f"class/{LAB}/marks")):
        code = f"import sys; from autograde.cli import main; main({words}, standalone_mode=False)\n"
        code += "print([each for each in sys.modules if each == 'torch' or each.startswith('lockstep_lab_')])"
        known = {**room.environment, "PYTHONPATH": str(REPOSITORY)}
        done = subprocess.run([sys.executable, "-c", code], env=known, capture_output=True, text=True)
        assert told in done.stdout and done.stdout.endswith("\n[]\n"), done


def test_points_that_come_from_the_kit_are_others_once_the_kit_is(tmp_path):
    root, kit = make_course(tmp_path / "course"), tmp_path / "kit"
    for package in ("autograde", "course"):
        shutil.copytree(REPOSITORY / package, kit / package, ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import sys; from pathlib import Path; from autograde.classroom.measure import measure_now\n"
        "from autograde.labs.folder import Lab; root, name = Path(sys.argv[1]), sys.argv[2]\n"
        "print(measure_now(root, Lab(name, root / 'solutions' / name)).points)"
    )
    command = [sys.executable, "-P", "-c", code, str(root), LAB]
    known = {**os.environ, "PYTHONPATH": str(kit)}
    assert subprocess.check_output(command, env=known, text=True) == "{'double': 2.0, 'total': 3.0}\n"
    rubric = kit / "autograde" / "rubric" / "check.py"
    rubric.write_text(rubric.read_text().replace("return sum(criterion.points ", "return sum(2 * criterion.points "))
    assert subprocess.check_output(command, env=known, text=True) == "{'double': 4.0, 'total': 6.0}\n"


def test_a_score_by_hand_stays_and_waits_for_a_look_only_where_the_points_are_others(room):
    by_hand(room, "ada", "double", 1.5)
    make_course(room.root, checks=CHECKS_PY.replace('"sum", 3', '"sum", 6'))
    room.grade()
    assert marks(room, LAB)[0]["ada"] == "7.5"
    make_course(room.root, checks=CHECKS_PY.replace('"twice", 1.5', '"twice", 3.5'))
    assert "a score by hand is kept, and waits for a look in the formgrader: ada" in room.grade().output
    assert marks(room, LAB)[0]["ada"] == ""
    assert room.scores()["ada"] == 4.5


def test_a_score_by_hand_for_a_failed_todo_waits_for_a_look_where_its_points_are_others(room):
    room.put("ada", room.answered({"total": ANSWERS["total"]}), when="2025-01-02 10:00:00.000000 UTC")
    room.grade()
    by_hand(room, "ada", "double", 1.5)
    make_course(room.root, checks=CHECKS_PY.replace('"twice", 1.5', '"twice", 3.5'))
    assert "a score by hand is kept, and waits for a look in the formgrader: ada" in room.grade().output
    told, said = marks(room, LAB)
    assert told["ada"] == "", "1.5 was given for 2 points, and its check says 0 as before"
    assert "ada" in said


def test_a_todo_that_is_new_to_a_graded_submission_waits_until_that_is_graded_again(room):
    make_course(room.root, lab=LAB_PY + THIRD, checks=CHECKS_PY + THIRD_CHECK, probes=PROBES_PY + THIRD_PROBE)
    room.put("bob", room.answered(ANSWERS))
    for graded, waits in (("bob", True), ("ada", False)):
        room.grade("--student", graded)
        with room.gradebook() as gradebook:
            assert gradebook.find_grade("third-check", LAB, LAB, "ada").needs_manual_grade == waits


def test_a_new_todo_keeps_extensions_and_scores_by_hand_and_a_dropped_one_is_named(room):
    assert room.lockstep("extend", LAB, "bob", "3d").exit_code == 0
    by_hand(room, "ada", "double", 1.5)
    make_course(room.root, lab=LAB_PY + THIRD, checks=CHECKS_PY + THIRD_CHECK, probes=PROBES_PY + THIRD_PROBE)
    done = room.grade()
    assert done.exit_code == 0, done.output
    assert marks(room, LAB)[0] == {"ada": "4.5", "bob": ""}
    by_hand(room, "ada", "third", 1)
    make_course(room.root)
    done = room.grade()
    assert "third-check of ada: 1 points; the gradebook as it was is kept in" in done.output
    assert list((room.root / "class").glob("gradebook-before-*.db"))
    assert marks(room, LAB)[0]["ada"] == "4.5"
    with room.gradebook() as gradebook:
        assert gradebook.find_submission(LAB, "bob").extension.days == 3


def test_marks_have_the_late_penalty_of_the_deadline_the_scores_and_the_rule_of_now(room):
    by_hand(room, "ada", "double", 0.5)
    for due, rule, mark in (
        ("2024-12-31 12:00:00", PENALTY, "2.5"),
        ("2024-12-31 12:00:00", PENALTY.replace("1.0", "score / 7"), "3"),
        ("2024-12-31 12:00:00", PENALTY.replace("1.0", "9"), "0"),
        ("2030-01-01 12:00:00", PENALTY, "3.5"),
    ):
        room.config = rule
        deadline(room, due)  # as in the formgrader, and nobody has graded since
        assert (marks(room, LAB)[0]["ada"], marks(room)[0]["ada"]) == (mark, mark)


def test_a_gradebook_that_was_lost_is_filled_again_and_nobody_has_handed_in_nothing(room):
    (room.root / "class" / "gradebook.db").unlink()
    assert room.lockstep("enrol", "ada", "bob").exit_code == 0
    told, said = marks(room, LAB, "--zero")
    assert told == {"ada": "", "bob": "0"}
    assert "not graded completely, mark left empty: ada" in said
    assert "the gradebook has other scores than its grading gave: ada" in room.grade().output
    assert marks(room, LAB)[0]["ada"] == "5"


@pytest.fixture(scope="module")
def two_labs(tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """A class on two labs, both graded. It is copied, and not changed."""
    room = filled(tmp_path_factory.mktemp("filled") / "course")
    add_lab(room, "92_other")
    hand_in(room, "ada", 2, 3)
    hand_in(room, "noor", 2, 3)
    hand_in(room, "ada", 1, 1, lab="92_other")
    return room


@pytest.mark.parametrize("how", ["renamed", "left out"])
def test_a_graded_lab_that_the_course_has_no_longer_is_named_wherever_totals_are_made(two_labs, tmp_path, how: str):
    room = two_labs.copied(tmp_path)
    if how == "renamed":
        os.rename(room.root / "solutions" / LAB, room.root / "solutions" / "93_small")
    else:
        (room.root / "course.toml").write_text('labs = ["92_other"]\n')
    told, said = marks(room, "--zero")
    assert (told["ada"], told["noor"], told["li"]) == ("2", "", "0")
    assert "90_small: 2 graded, not counted: no lab of this course now" in said
    assert "handed in only what is not counted, mark left empty: noor" in said
    assert room.lockstep("report").exit_code == 0
    assert "90_small: 2 graded, not counted" in (room.root / "class" / "report.html").read_text()
