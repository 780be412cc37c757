"""The map of the course: of each lab a picture, its idea, what it needs and how long it takes, all from its folder."""

from __future__ import annotations

import re

import pytest
from labs_under_test import COURSE, LABS, OURS
from PIL import Image
from small_course import LAB, LAB_PY, make_course

from autograde.labs.folder import Lab, find_lab
from autograde.making.build import build, instructor_notebook, write
from autograde.making.course_map import PICTURE, course_map, place

MAP = COURSE / "labs" / "README.md"
SMALL = 60_000  # bytes of a picture
each_of_ours = pytest.mark.parametrize("lab", OURS, ids=[lab.name for lab in OURS])


@each_of_ours
def test_a_lab_says_its_idea_and_its_time_and_which_earlier_labs_it_needs(lab):
    here = place(lab)
    assert here.idea.endswith(".") and here.minutes and here.seconds
    assert here.needs.startswith("You need no earlier lab") or here.builds_on
    assert all(other < lab.name[:2] for other in here.builds_on)


@each_of_ours
def test_the_instructors_table_gives_the_same_minutes(lab):
    (minutes,) = re.findall(r"^\| Time \| (.+?) minutes", (lab.folder / "README.md").read_text(), re.MULTILINE)
    assert minutes == place(lab).minutes


@each_of_ours
def test_a_lab_has_a_small_picture_on_a_light_ground_and_a_sentence_that_says_what_it_shows(lab):
    here, path = place(lab), lab.folder / PICTURE
    assert here.shown in [cell["id"] for cell in cells(lab)], "of a cell that there is"
    assert re.fullmatch(r"[A-Z].{40,}\.", here.alt)
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
    assert f"| [A small lab]({LAB}/{LAB}.ipynb) | none |  |  |" in text and text.endswith("## A small lab\n")


def test_what_a_lab_says_at_its_top_is_what_the_map_has(tmp_path):
    top = """# # A small lab
#
# The idea in one sentence: **two
# are more.**
#
# **Before you start.** You need the sums of labs 88 and 89. Nothing else.
#
# **Time:** about 10 to 20 minutes."""
    course = make_course(tmp_path, LAB_PY.replace("# # A small lab", top))
    rows = "| From top to bottom | 7 s |\n| Picture | `double`: Two. |\n"
    (course / "solutions" / LAB / "README.md").write_text(rows)
    here = place(find_lab(course, LAB))
    assert (here.idea, here.builds_on, here.minutes) == ("two are more.", ["88", "89"], "10 to 20")
    assert (here.seconds, here.shown, here.alt) == ("7", "double", "Two.")
    assert "**Two are more.**\n\nYou need the sums of labs 88 and 89.\n" in course_map([find_lab(course, LAB)])
