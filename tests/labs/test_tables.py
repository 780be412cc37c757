"""The tables of labs in the clone's pages follow the labs' `lab.toml`, and the labs that there are."""

from __future__ import annotations

import shutil

import pytest
from click.testing import CliRunner
from small_course import LAB, make_course

from autograde.cli import main
from autograde.labs.folder import LabError, find_lab
from autograde.labs.places import REPOSITORY
from autograde.making.tables import BEGIN, END, TABLES, stale_pages, write_pages

PAGE = f"# A page\n\n{BEGIN}\n{END}\nMore.\n"
SAID = 'idea = "two are more."\nminutes = 10\ndoes = "double a number"\n'
VARIANTS = """
ANSWERS = '''
def double(x):
== plus
    return x + x
== zero: not-double, seen
    return 0
'''
"""
MISTAKE = (
    '[[let_pass]]\nmistake = "all is zero"\nusual_check = "it is a number"\ntodo = "double"\nvariant = "{variant}"\n'
)


@pytest.fixture
def course(tmp_path):
    """A course with two labs and the pages, of which one lab says what one does in it."""
    course = make_course(tmp_path)
    lab = find_lab(course, LAB)
    shutil.copytree(lab.folder, course / "solutions" / "91_quiet")
    (lab.variants / "__init__.py").write_text('SOURCES = {"seen": "Seen in a class."}\n')
    (lab.variants / "double.py").write_text(VARIANTS)
    (lab.folder / "lab.toml").write_text(SAID + MISTAKE.format(variant="zero"))
    for name in TABLES:
        (course / name).parent.mkdir(exist_ok=True)
        (course / name).write_text(PAGE)
    return course


def test_the_clones_pages_have_their_tables_and_are_up_to_date():
    assert [name for name in TABLES if BEGIN not in (REPOSITORY / name).read_text()] == []
    assert stale_pages(REPOSITORY) == []


def test_build_writes_them_and_check_says_when_they_are_stale(course, monkeypatch):
    monkeypatch.setenv("LOCKSTEP_COURSE", str(course))
    stale = CliRunner().invoke(main, ["build", "--check"])
    assert stale.exit_code == 1
    assert "README.md: its table is not what the labs' lab.toml say; run `lockstep build`" in stale.output
    assert (course / "README.md").read_text() == PAGE, "--check changes nothing"
    assert CliRunner().invoke(main, ["build"]).exit_code == 0
    readme, grader = ((course / name).read_text() for name in TABLES)
    assert f"| `{LAB}` | double a number | 2 |\n\n{END}\nMore.\n" in readme and "91_quiet" not in readme
    assert "| all is zero | it is a number | `not-double` in `double` of lab 90 |" in grader
    assert CliRunner().invoke(main, ["build", "--check"]).exit_code == 0


def test_a_lab_whose_folder_is_deleted_is_in_no_table_any_more(course):
    write_pages(course)
    shutil.rmtree(course / "solutions" / LAB)
    assert len(stale_pages(course)) == len(TABLES)
    write_pages(course)
    assert [name for name in TABLES if "90" in (course / name).read_text()] == []


def test_a_course_that_chooses_other_labs_leaves_the_clones_tables_alone(course):
    write_pages(course)
    (course / "course.toml").write_text('labs = ["91_quiet"]\n')
    assert stale_pages(course) == []


def test_a_mistake_that_no_variant_makes_is_one_line(course):
    lab = find_lab(course, LAB)
    (lab.folder / "lab.toml").write_text(SAID + MISTAKE.format(variant="other"))
    with pytest.raises(LabError, match=r"lab\.toml: `let_pass\.variant` is other, which no module of variants/ has; "):
        write_pages(course)
