"""What instructors find beside each lab: a table that is complete, true to the lab, and never released."""

from __future__ import annotations

import re

import pytest
from labs_under_test import COURSE, OURS
from small_course import LAB, make_course

from autograde.labs.folder import Lab, find_lab, load_variants
from autograde.labs.questions import is_number, is_text, read_questions
from autograde.making.build import build, instructor_notebook

ROWS = ("Students need", "Lecture", "Say first", "Say second", "Say third", "Usual mistakes")
LECTURES = sorted((COURSE / "course" / "lectures").glob("[0-9]*.md"))
each_of_ours = pytest.mark.parametrize("lab", OURS, ids=[lab.name for lab in OURS])


def table(lab: Lab) -> dict[str, str]:
    """The rows of the lab's README.md."""
    text = (lab.folder / "README.md").read_text()
    return dict(re.findall(r"^\| ([^|]+?) \| (.+) \|$", text, re.MULTILINE))


@each_of_ours
def test_the_table_is_complete(lab):
    rows = table(lab)
    assert [row for row in ROWS if not rows.get(row)] == []
    tags = {cell.id: cell.metadata.get("nbgrader", {}) for cell in instructor_notebook(lab).cells}
    names = [name for name, tag in tags.items() if is_number(tag) or is_text(tag)]
    assert [row.split("`")[1] for row in rows if row.startswith("Answer")] == names
    for name, question in read_questions(lab.folder).items():
        answer = next(text for row, text in rows.items() if f"`{name}`" in row)
        stated = float(re.match(r"\d+(?:\.\d+)?", answer)[0])
        assert stated in question.right


@each_of_ours
def test_the_usual_mistakes_are_findings_that_the_labs_known_mistakes_get(lab):
    known = {wrong.finding for variants in load_variants(lab.variants)[1].values() for wrong in variants.values()}
    named = re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", table(lab)["Usual mistakes"])
    assert len(named) >= 5
    assert [key for key in named if key not in known] == []


@each_of_ours
def test_the_lectures_are_those_that_the_notebook_links_and_they_are_there(lab):
    opening = re.search(r"\*\*Lecture\.\*\*.*?\n#\n", lab.source.read_text(), re.DOTALL)[0].replace("\n# ", " ")
    linked = set(re.findall(r"\[(\d+) ([^\]]+)\]\([^)]*/course/lectures/", opening))
    named = set(re.findall(r"(\d+), \*([^*]+)\*", table(lab)["Lecture"]))
    headings = [re.search(r"^# (\d+) (.+)$", path.read_text(), re.MULTILINE) for path in LECTURES]
    there = {heading.groups() for heading in headings if heading}
    assert linked and linked <= named <= there


@each_of_ours
def test_the_guide_names_each_lab(lab):
    assert f"`{lab.name[:2]}`" in (COURSE / "docs" / "instructors.md").read_text()


def test_the_table_is_released_to_nobody(tmp_path):
    course = make_course(tmp_path)
    (course / "solutions" / LAB / "README.md").write_text("# Answers\n")
    built = build(find_lab(course, LAB))
    assert "README.md" not in {*built.student, *built.instructor}
