"""`lab.toml`: an entry that is missing or wrong is one line, which names the file, the key, and what is expected."""

from __future__ import annotations

import msgspec
import pytest
from click.testing import CliRunner
from small_course import LAB, LAB_PY, make_course

from autograde.cli import main
from autograde.labs.description import EXPECTED, Description, LetPass, Picture, read_description
from autograde.labs.folder import LabError, find_lab
from autograde.making.build import build

GOOD = """
idea = "two are more."
minutes = 10

[needs]
03 = "the sums"

[picture]
cell = "double"
alt = "Two."

[[let_pass]]
mistake = "nothing is doubled"
usual_check = "it is a number"
todo = "double"
variant = "same"
"""
WRONG = [
    ('idea = "two are more."\n', "", "`idea` is missing; it must be a sentence that ends with a full stop"),
    ("are more.", "are more", "`idea` must be a sentence that ends with a full stop"),
    (
        "minutes = 10\n",
        "",
        "`minutes` is missing; it must be a whole number from 1 on, or two for a range, as [90, 120]",
    ),
    ("= 10", '= "long"', "`minutes` must be a whole number from 1 on, or two for a range"),
    ("= 10", "= 0", "`minutes` must be a whole number from 1 on"),
    ("= 10", "= [10]", "`minutes` must be a whole number from 1 on"),
    ("= 10", "= 10\nseconds = 7.5", "`seconds` must be a whole number from 1 on"),
    ("= 10", '= 10\ndoes = ""', "`does` must be what students do in the lab"),
    ("minutes", "minuts", "there is no key `minuts`; there are idea, minutes, seconds, does, needs, picture, let_pass"),
    ("03 =", "3 =", "`needs` must be a table of earlier labs by two digits"),
    ("03 =", "90 =", "`needs` has 90, which is no earlier lab"),
    ("cell =", "from =", "there is no key `picture.from`; there are picture.cell, picture.alt"),
    ('alt = "Two."', "", "`picture.alt` is missing; it must be a sentence that ends with a full stop"),
    ('todo = "double"', "todo = 1", "`let_pass.todo` must be the name of a TODO"),
    ("[[let_pass]]", "[let_pass]", "`let_pass` must be a list of tables"),
    ("minutes = 10", "minutes 10", "is not TOML: "),
]


@pytest.fixture
def course(tmp_path):
    """A course with the small lab, whose `lab.toml` is good."""
    course = make_course(tmp_path)
    (course / "solutions" / LAB / "lab.toml").write_text(GOOD)
    return course


def test_a_good_one_is_read(course):
    described = read_description(course / "solutions" / LAB)
    assert described == Description(
        idea="two are more.",
        minutes=10,
        needs={"03": "the sums"},
        picture=Picture("double", "Two."),
        let_pass=(LetPass("nothing is doubled", "it is a number", "double", "same"),),
    )
    assert (described.minutes_in_words, described.seconds, described.does) == ("10", None, None)


def test_of_each_key_it_is_said_what_is_expected():
    tables = {"": Description, "picture.": Picture, "let_pass.": LetPass}
    names = {f"{table}{field.name}" for table, kind in tables.items() for field in msgspec.structs.fields(kind)}
    assert names == {*EXPECTED}


@pytest.mark.parametrize(("old", "new", "said"), WRONG)
def test_what_is_missing_or_wrong_is_one_line(course, old, new, said):
    path = course / "solutions" / LAB / "lab.toml"
    assert GOOD.count(old) == 1
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(LabError) as error:
        build(find_lab(course, LAB))
    line = str(error.value)
    assert line.startswith(str(path)) and said in line and "\n" not in line and "`$" not in line


def test_build_says_it_without_a_traceback(course, monkeypatch):
    (course / "solutions" / LAB / "lab.toml").write_text("minutes = 10\n")
    monkeypatch.setenv("LOCKSTEP_COURSE", str(course))
    said = CliRunner().invoke(main, ["build"])
    assert said.exit_code == 1 and said.output.count("\n") == 1 and f"{LAB}/lab.toml: `idea` is missing" in said.output


def test_what_the_notebook_asks_for_and_nobody_says_is_one_line(course):
    lab = find_lab(course, LAB)
    lab.source.write_text(LAB_PY.replace("# # A small lab", "# # A small lab\n#\n# **{{ide}}**").lstrip("\n"))
    with pytest.raises(LabError, match=r"`\{\{ide\}\}` at its top stands for nothing; there are idea, minutes, needs$"):
        build(lab)
    (lab.folder / "lab.toml").unlink()
    with pytest.raises(LabError, match=r"stands for nothing; the lab has no lab\.toml$"):
        build(lab)
