"""`lockstep report` without a lab: one page on the term, which a small class of any names can be followed on."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from classroom import Classroom
from filled_gradebook import NAMES, deadline, filled, hand_in
from reported_class import Page
from small_course import ANSWERS, LAB, make_course

from autograde.classroom.nbgrader_course import Course

OTHER, LATER = "91_other", "92_later"


def term(room: Classroom) -> Page:
    """Run `lockstep report` and read what it wrote."""
    result = room.lockstep("report")
    path = room.root / "class" / "report.html"
    assert (result.exit_code, result.output) == (0, f"{path}\n")
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The report on a term of three labs: one graded by real checks, one in the gradebook only, one still to come."""
    room = filled(tmp_path_factory.mktemp("term") / "course")
    for lab in (OTHER, LATER):
        shutil.copytree(room.root / "solutions" / LAB, room.root / "solutions" / lab)
    assert room.lockstep("build").exit_code == 0
    for lab in (OTHER, LATER):
        Course(room.root).register(lab)
    deadline(room, "2026-01-03 12:00:00")
    hand_in(room, "thora", 2, 3, "2026-01-04 13:00:00")
    wrong = ANSWERS | {"double": "def double(x):\n    return 2 * abs(x)"}
    other = Classroom(room.root, OTHER)
    for student in ("李雷", "=1+1"):
        other.put(student, other.answered(wrong))
        (room.root / "class" / "submitted" / student / OTHER / "hints_taken.json").write_text('{"double": 1}')
    assert other.grade("--no-sandbox").exit_code == 0
    with room.gradebook() as gradebook:
        gradebook.update_or_create_assignment(LATER, duedate="2999-01-01 00:00:00")
    return term(room)


def test_labs_that_are_in_the_gradebook_are_not_said_to_be_left_out(page):
    assert "not counted" not in page.words


def test_who_is_behind_comes_first_with_the_labs_that_are_missing_and_what_was_late(page):
    rows = {row[0].split()[0]: row[1:] for row in page.tables["behind"][1:]}
    spaced = {student: [cell.replace(" ", "") for cell in cells] for student, cells in rows.items()}
    assert spaced["ada"] == [f"{LAB},{OTHER}", ""] and spaced["noor"] == spaced["ada"]
    assert spaced["李雷"] == [LAB, ""]
    assert spaced["thora"] == [OTHER, f"{LAB}by1d1h"]
    missing = [len(row[1].split(",")) for row in page.tables["behind"][1:]]
    assert missing == sorted(missing, reverse=True)


def test_each_lab_has_its_counts_and_commonest_findings_and_labs_to_come_are_only_named(page):
    rows = {row[0].replace(" ", ""): row[1:] for row in page.tables["labs"][1:]}
    students = len({*NAMES, "李雷"})
    assert rows[LAB][:3] == ["2026-01-03 12:00 UTC", f"1 of {students}", "5 of 5"]
    assert rows[OTHER][:3] == ["none", f"2 of {students}", "4.5 of 5"]
    assert rows[OTHER][5] == "sign-lost 2" and rows[LAB][5] == "none"
    assert LATER not in rows and "Still to come" in page.words


def test_findings_over_all_labs_say_how_many_have_them_and_where(page):
    assert [row[:2] + row[3:] for row in page.tables["findings"][1:]] == [
        ["sign-lost", "2", "A negative number comes out wrong."]
    ]


def test_totals_have_every_student_whatever_the_name(page):
    shown = {row[0] for row in page.tables["totals"][1:]}
    assert shown == {" ".join((student, *name)) for student, name in NAMES.items()} | {"李雷"}
    rows = {row[0].split()[0]: row[1:] for row in page.tables["totals"][1:]}
    assert rows["李雷"] == ["– no submission", "4.5", "4.5"]
    assert rows["thora"][0] == "5 late by 1 d 1 h" and rows["thora"][2] == "5"


def test_names_are_kept_apart_from_the_text_around_them_where_they_run_from_right_to_left(page):
    assert len(page.of("bdi")) >= 2 * len(NAMES)


def test_the_page_runs_nothing_fetches_nothing_and_can_be_read_without_seeing_it(page):
    names = {name for name, _ in page.tags}
    assert names.isdisjoint({"script", "img", "iframe", "object", "embed", "link", "form", "input", "base"})
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on") or name == "src"]
    assert "default-src 'none'" in next(meta["content"] for meta in page.of("meta") if "http-equiv" in meta)
    assert all(header.get("scope") in ("row", "col") for header in page.of("th")) and page.of("html")[0]["lang"] == "en"
    known = {attributes.get("id") for _, attributes in page.tags}
    assert {attributes["aria-labelledby"] for _, attributes in page.tags if "aria-labelledby" in attributes} <= known
    assert not re.search("https?:", page.words)


def test_a_term_in_which_nothing_was_graded_is_one_clear_error_and_gets_no_gradebook(tmp_path: Path):
    result = Classroom(make_course(tmp_path), LAB).lockstep("report")
    assert (result.exit_code, result.output) == (
        1, "Error: no lab was graded in this class; run `lockstep grade LAB` first\n",
    )  # fmt: skip
    assert not (tmp_path / "class" / "gradebook.db").exists()
