"""`lockstep report`: one page tells the instructor how a class did, whatever students handed in."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from classroom import Classroom
from reported_class import DIES, EVIL, HANGS, LONG, RAISES, Page, report
from small_course import ANSWERS, LAB, make_course

THREE = 'question = "Why?"\npointer = "There."\nskeleton = "..."\n'
HINTS = f"[double]\n{THREE}[total]\n{THREE}"
NEVER_GRADED = f"Error: {LAB} was never graded in this class; run `lockstep grade {LAB}` first\n"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """A class that was graded, and is not to be changed."""
    room = Classroom(make_course(tmp_path_factory.mktemp("report") / "course"), LAB)
    (room.root / "solutions" / LAB / "hints.toml").write_text(HINTS)
    assert room.lockstep("build").exit_code == 0
    answers = {
        "anna": ANSWERS,
        "ben": ANSWERS | {"double": "def double(x):\n    return 2 * abs(x)"},
        "carl": ANSWERS | {"total": HANGS},
        "dora": {"double": ANSWERS["double"], "total": DIES},
        EVIL: ANSWERS | {"total": RAISES},
        "finn": ANSWERS | {"double": LONG},
        "gina": ANSWERS | {"double": "# all my own work\n" + LONG.replace("x * 3 ", "x  *  4 ")},
    }
    for student, written in answers.items():
        room.put(student, room.answered(written))
    for student, taken in {"ben": '{"double": 1}', "carl": '{"double": 3, "total": 3}', "finn": "[not json"}.items():
        (room.root / "class" / "submitted" / student / LAB / "hints_taken.json").write_text(taken)
    room.put("hugo", b"{ not json")
    room.put("ida", room.released(), when="yesterday, maybe")
    result = room.grade("--seed", "3")
    assert result.exit_code == 1, result.output
    with room.gradebook() as gradebook:
        gradebook.add_student("zoe")
        gradebook.update_or_create_assignment(LAB, duedate="2024-12-31 07:55:00")
        gradebook.db.commit()
    return room


@pytest.fixture
def room(graded: Classroom, tmp_path: Path) -> Classroom:
    """A copy of it that may be changed."""
    return graded.copied(tmp_path)


@pytest.fixture(scope="module")
def page(graded: Classroom) -> Page:
    """The report on it."""
    return report(graded)


def test_the_summary_counts_students_and_leaves_out_who_waits_for_a_person(page):
    said = " ".join(page.words.split())
    assert "students 10 graded 7 needs manual grading 1 not graded 1 no submission 1" in said
    assert "mean score 3.64 of 5 median score 4.5 of 5" in said  # 5, 4.5, 2, 2, 2, 5, 5
    assert page.of("svg")[0]["aria-label"] == (
        "Histogram of scores. 2 to 2.5 points: 3 students. 4.5 to 5 points: 4 students. "
    )
    assert len([bar for bar in page.of("rect") if float(bar["height"]) > 0]) == 2


def test_each_student_has_a_row_with_scores_status_and_problems(page):
    assert page.tables["scores"][0][:5] == ["student", "double of 2", "total of 3", "score of 5", "late"]
    assert page.row("scores", "anna") == ["anna", "2", "3", "5", "1 d 2 h", "graded"]
    assert page.row("scores", "ben") == ["ben", "1.5 sign-lost", "3", "4.5", "1 d 2 h", "graded"]
    assert page.row("scores", "carl")[2:4] == ["0 call-missing", "2"]
    assert page.row("scores", "hugo")[5].startswith(f"needs manual grading {LAB}: {LAB}.ipynb is not JSON: line 1")
    assert page.row("scores", "ida")[1:5] == ["–", "–", "–", ""]
    assert page.row("scores", "ida")[5].startswith("not graded") and "not a date" in page.row("scores", "ida")[5]
    assert page.row("scores", "zoe") == ["zoe", "–", "–", "–", "", "no submission"]
    assert len(page.tables["scores"]) == 11


def test_the_heat_map_counts_whom_each_finding_struck(page):
    assert page.tables["findings"][0] == ["finding", "double of 7", "total of 7", "any TODO of 7"]
    assert page.row("findings", "sign-lost") == ["sign-lost", "1 14 %", "", "1 14 %"]
    assert {row[0] for row in page.tables["findings"][1:]} == {"sign-lost", "call-missing", "rank-died", "raised"}
    struck = [cell for cell in page.of("td") if "title" in cell]
    assert "A negative number comes out wrong." in [cell["title"] for cell in struck]
    assert all(re.fullmatch(r"--heat: 0\.\d+", cell["style"]) for cell in struck)


def test_it_tells_how_many_students_unfolded_how_many_hints(page):
    assert page.tables["hints"][1:] == [["double", "7", "1", "0", "1"], ["total", "8", "0", "0", "1"]]
    assert page.tables["hints"][0][0] == "TODO" and "1 up to the question" in page.tables["hints"][0]


def test_a_lab_without_hints_has_no_table_of_them(room):
    (room.root / "solutions" / LAB / "hints.toml").unlink()
    assert "hints" not in report(room).tables


def test_hangs_and_crashes_are_listed_with_what_each_rank_did(page):
    rows = page.tables["stopped"]
    assert [row[:3] for row in rows[1:]] == [["carl", "total", "call-missing"], ["dora", "total", "rank-died"]]
    assert "What each rank did" in rows[1][3] and "rank 1 waits in comm.allreduce" in rows[1][3]
    assert "its process exited with status 7" in rows[2][3]


def test_what_could_not_be_graded_is_listed_with_the_reason(page):
    assert [row[:2] for row in page.tables["ungradable"][1:]] == [["hugo", "all"], ["ida", "all"]]
    assert "is not JSON: line 1" in page.row("ungradable", "hugo")[2]
    assert "timestamp.txt is not a date and time" in page.row("ungradable", "ida")[2]


def test_answers_that_are_much_alike_are_worth_a_look_and_nobody_is_accused(page):
    assert page.tables["similar"][1:] == [["finn , gina", "double 98 %"]]
    assert "Worth a look" in page.words
    assert not re.search("cheat|plagiar|copied|fraud|suspic|guilt", page.words, re.IGNORECASE)


def test_what_students_wrote_cannot_become_part_of_the_page(page, graded):
    assert page.row("scores", EVIL)[2] == "0 raised"
    assert "<script>alert(2)</script>" in page.words
    names = {name for name, _ in page.tags}
    assert names.isdisjoint({"script", "img", "iframe", "object", "embed", "link", "form", "input", "base"})
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on") or name == "src"]
    text = (graded.root / "class" / LAB / "report.html").read_text()
    assert not re.search("https?:|url\\(|@import", text)
    assert "default-src 'none'" in next(meta["content"] for meta in page.of("meta") if "http-equiv" in meta)


def test_no_seed_and_no_answer_is_on_the_page(page):
    assert "nobody has thought of this before" not in page.words
    assert "return 2 * abs(x)" not in page.words and "part_3" not in page.words
    assert "seed" not in page.words


def test_the_page_can_be_read_without_seeing_it(page):
    assert page.of("html")[0]["lang"] == "en"
    assert all(header.get("scope") in ("row", "col") for header in page.of("th"))
    names = {attributes.get("id") for _, attributes in page.tags}
    labelled = [attributes["aria-labelledby"] for _, attributes in page.tags if "aria-labelledby" in attributes]
    assert labelled and set(labelled) <= names
    inside = [link["href"][1:] for link in page.of("a") if link["href"].startswith("#")]
    assert inside and set(inside) <= names


def test_feedback_is_linked_where_it_is_there(room):
    (room.root / "class" / "feedback" / "anna" / LAB / f"{LAB}.html").unlink()
    links = [link["href"] for link in report(room).of("a") if not link["href"].startswith("#")]
    assert f"../feedback/ben/{LAB}/{LAB}.html" in links
    assert f"../feedback/%3Cimg%20src%3Dx%20onerror%3Dalert%281%29%3E/{LAB}/{LAB}.html" in links
    assert not [link for link in links if "/anna/" in link]


def test_a_todo_that_could_not_be_judged_waits_for_a_person_and_counts_nowhere(room):
    path = room.root / "class" / "autograded" / "ben" / LAB / f"{LAB}.ipynb"
    notebook = json.loads(path.read_text())
    notebook["metadata"]["lockstep"]["marked"][0] |= {"result": None, "reason": "the ranks <did> not start \ud800"}
    path.write_text(json.dumps(notebook))
    with room.gradebook() as gradebook:
        grade = gradebook.find_grade("double-check", LAB, LAB, "ben")
        grade.auto_score, grade.needs_manual_grade = None, True
        gradebook.find_grade("total-check", LAB, LAB, "anna").needs_manual_grade = True
        gradebook.db.commit()
    page = report(room)
    assert page.row("ungradable", "ben") == ["ben", "double", "the ranks <did> not start ?"]
    assert page.row("ungradable", "anna")[2].startswith("the gradebook asks for a look")
    assert page.row("scores", "ben")[1] == "–"
    assert page.tables["findings"][0][1:3] == ["double of 6", "total of 7"]
    assert "sign-lost" not in page.words


def test_a_reason_from_an_earlier_grading_is_shown_until_the_student_is_graded(room):
    failed = room.root / "class" / LAB / "failed.json"
    assert list(json.loads(failed.read_text())) == ["ida"]
    failed.write_text(json.dumps({"anna": "disk full", "nobody": "not here"}))
    page = report(room)
    assert page.row("ungradable", "anna") == ["anna", "all", "disk full"]
    assert "not here" not in page.words
    os.utime(failed, (1, 1))
    assert "disk full" not in report(room).words
    failed.write_bytes(b"\xff\xfe is no table")
    assert "disk full" not in report(room).words


def test_the_table_of_grades_is_never_read_back(room):
    before = report(room).tables
    (room.root / "class" / LAB / "grades.csv").write_text("student,status,problems\nanna,not graded,disk full\n")
    assert report(room).tables == before


def test_an_unknown_lab_is_one_clear_error(room):
    result = room.lockstep("report", "07_nothing")
    assert result.exit_code == 1
    assert result.output.startswith("Error: no lab `07_nothing` in ") and result.output.count("\n") == 1


def test_a_class_that_was_never_graded_is_one_clear_error_and_gets_no_gradebook(tmp_path):
    room = Classroom(make_course(tmp_path / "course"), LAB)
    result = room.lockstep("report", LAB)
    assert (result.exit_code, result.output) == (1, NEVER_GRADED)
    assert not (room.root / "class" / "gradebook.db").exists()


def test_a_gradebook_that_has_other_labs_only_is_the_same_error(room):
    with room.gradebook() as gradebook:
        gradebook.remove_assignment(LAB)
    result = room.lockstep("report", LAB)
    assert (result.exit_code, result.output) == (1, NEVER_GRADED)


def test_a_gradebook_that_is_none_is_one_clear_error(room):
    (room.root / "class" / "gradebook.db").write_text("this is no gradebook")
    result = room.lockstep("report", LAB)
    assert result.exit_code == 1
    assert result.output.startswith("Error: DatabaseError") and result.output.count("\n") == 1


@pytest.mark.thorough
def test_a_page_says_that_nobody_was_graded_yet(tmp_path):
    room = Classroom(make_course(tmp_path / "course"), LAB)
    room.lockstep("build")
    room.grade()
    page = report(room)
    assert "There are no students in the gradebook, and no submissions." in page.words
    room.put("anna", room.released())
    page = report(room)
    assert "Nobody has been graded yet." in page.words
    assert page.row("scores", "anna") == ["anna", "–", "–", "–", "", "not graded yet"]
    assert "findings" not in page.tables and not page.of("svg")


def test_a_full_disk_is_one_clear_error_and_the_old_page_stays(room):
    folder = room.root / "class" / LAB
    shutil.rmtree(folder)
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small file system takes root and CAP_SYS_ADMIN")
    try:
        (folder / "report.html").write_text("the old one")
        result = room.lockstep("report", LAB)
        assert result.exit_code == 1
        assert result.output == f"Error: {folder}/report.html is not written: No space left on device\n"
        assert [path.name for path in folder.iterdir()] == ["report.html"]
        assert (folder / "report.html").read_text() == "the old one"
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def enlarge(room: Classroom) -> None:
    """Two hundred more students: copies of four."""
    notebooks = room.root / "class" / "autograded"
    with room.gradebook() as gradebook:
        for number in range(200):
            student, model = f"student{number:03}", ["anna", "ben", "carl", "finn"][number % 4]
            shutil.copytree(notebooks / model, notebooks / student)
            gradebook.add_student(student)
            gradebook.add_submission(LAB, student)
            for grade in gradebook.find_submission_notebook(LAB, LAB, student).grades:
                grade.auto_score = gradebook.find_grade(grade.name, LAB, LAB, model).auto_score
                grade.needs_manual_grade = False
        gradebook.db.commit()


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")  # of nbgrader's own
def test_two_hundred_students_are_all_there(room):
    enlarge(room)
    page = report(room)
    assert page.row("findings", "hang")[2] == "51 25 %"
    assert page.row("scores", "student199") == ["student199", "2", "3", "5", "", "graded"]
    assert page.tables["stopped"][-1][0] == "student198"


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")
def test_two_hundred_students_take_seconds(room):
    enlarge(room)
    begun = time.monotonic()
    report(room)
    assert time.monotonic() - begun < 20
