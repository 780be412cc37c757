"""The map of the course: of each lab a picture, its idea, what it needs and how long it takes, all from its folder."""

from __future__ import annotations

import re
import shutil

import pytest
from labs_under_test import COURSE, LABS, OURS
from PIL import Image
from small_course import LAB, LAB_PY, make_course

from autograde.labs.description import read_description
from autograde.labs.folder import Lab, find_lab, find_labs
from autograde.making.build import build, instructor_notebook, write
from autograde.making.course_map import PICTURE, course_map
from course.overview.about import About, about
from course.overview.cells import read_notebook

MAP = COURSE / "labs" / "README.md"
SMALL = 60_000  # bytes of a picture
SAID = 'idea = "Two."\nminutes = 10\n'
each_of_ours = pytest.mark.parametrize("lab", OURS, ids=[lab.name for lab in OURS])


@each_of_ours
def test_a_lab_says_how_long_it_takes_and_has_what_the_clones_tables_need(lab):
    described = read_description(lab.folder)
    assert described.seconds and described.does and described.picture
    assert described.idea[0].islower() or described.idea.startswith("N ranks"), "it stands behind a colon"


@each_of_ours
def test_the_notebook_says_at_its_top_what_lab_toml_does(lab):
    described, (first, *_) = read_description(lab.folder), cells(lab)
    assert f"The idea in one sentence: **{described.idea}**" in first.source
    assert f"**Before you start.** {described.needs_in_words()}" in first.source
    assert f"{described.minutes_in_words} minutes" in first.source
    assert "{{" not in first.source


@each_of_ours
def test_a_lab_has_a_small_picture_on_a_light_ground_and_a_sentence_that_says_what_it_shows(lab):
    picture, path = read_description(lab.folder).picture, lab.folder / PICTURE
    assert picture.cell in [cell["id"] for cell in cells(lab)], "of a cell that there is"
    assert re.fullmatch(r"[A-Z].{40,}\.", picture.alt)
    image = Image.open(path)
    assert path.stat().st_size < SMALL and image.width >= 600
    border = [image.convert("L").getpixel((x, y)) for x in (0, image.width - 1) for y in (0, image.height - 1)]
    assert image.mode == "P" and "transparency" not in image.info and min(border) > 230


def cells(lab: Lab) -> list[dict]:
    """The cells of the lab's notebook."""
    return instructor_notebook(lab).cells


def test_the_map_has_each_lab_once_in_order_and_its_links_lead_to_what_is_there():
    text = MAP.read_text()
    assert re.findall(r"^## (\d\d)", text, re.MULTILINE) == [lab.name[:2] for lab in LABS]
    assert re.findall(r'<img src="([^"]+)" width="\d+" alt="[^"]+">', text) == [f"{lab.name}/{PICTURE}" for lab in OURS]
    links = [link.partition("#")[0] for link in re.findall(r'(?:\]\(|src=")([^)"]+)', text)]
    assert len(links) > 3 * len(OURS)
    assert [link for link in links if not (COURSE / "labs" / link).is_file()] == []


def test_a_lab_that_says_nothing_of_itself_is_on_the_map_all_the_same(tmp_path):
    course = make_course(tmp_path)
    write(build(find_lab(course, LAB)), course)
    text = (course / "labs" / "README.md").read_text()
    assert f"| [A small lab]({LAB}/{LAB}.ipynb) |  |  |  |" in text and text.endswith("## A small lab\n")


def test_what_lab_toml_says_is_on_the_map_and_in_the_notebook(tmp_path):
    top = """# # A small lab
#
# The idea in one sentence: **{{idea}}** {{needs}} It takes {{minutes}} minutes."""
    course = make_course(tmp_path, LAB_PY.replace("# # A small lab", top))
    folder = course / "solutions" / LAB
    said = 'idea = "two are more."\nminutes = [10, 20]\nseconds = 7\n[needs]\n88 = "the sums"\n89 = "the rest"\n'
    (folder / "lab.toml").write_text(said)
    built = build(find_lab(course, LAB))
    needs = "You need the sums of lab 88 and the rest of lab 89."
    assert built.released.cells[0].source.endswith(f": **two are more.** {needs} It takes 10 to 20 minutes.")
    assert "lab.toml" not in {*built.student, *built.instructor}
    text = course_map([find_lab(course, LAB)])
    assert f"| [A small lab]({LAB}/{LAB}.ipynb) | 88, 89 | 10 to 20 | 7 |" in text
    assert f"**Two are more.**\n\n{needs}\n" in text
    said = about(read_notebook(built.student[f"{LAB}.ipynb"].content))
    assert said == About("A small lab", "two are more.", "10 to 20")


def test_a_lab_that_is_needed_is_linked_where_it_is_on_the_map(tmp_path):
    course = make_course(tmp_path)
    shutil.copytree(course / "solutions" / LAB, course / "solutions" / "91_next")
    (course / "solutions" / "91_next" / "lab.toml").write_text(f'{SAID}[needs]\n89 = "the rest"\n90 = "double"\n')
    assert f"You need the rest of lab 89 and double of lab [90]({LAB}/{LAB}.ipynb).\n" in course_map(find_labs(course))
