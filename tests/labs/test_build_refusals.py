"""What `lockstep build` says of labs that are wrong, of what is out of date, and of what it did not make."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner, Result
from small_course import CHECKS_PY, LAB, LAB_PY, make_course

from autograde.cli import main
from autograde.labs.folder import LabError, find_lab
from autograde.making.build import build
from autograde.making.stale import differences, foreign_files

TODO, BEGIN, END = '# %% todo="double"', "    ### BEGIN SOLUTION\n    return x + x", "before\n    ### END SOLUTION"
DOUBLE_CELL = LAB_PY[LAB_PY.index(TODO) : LAB_PY.index('# %% check="double"')]
NO_CHECK = 'TODO `double` has no check: add a cell `# %% check="double"` after it'
NO_TODO = 'check `double` has no TODO: there is no cell `# %% todo="double"`'


def lockstep(course: Path, *args: str) -> Result:
    """Run the command on the course."""
    return CliRunner().invoke(main, args, env={"LOCKSTEP_COURSE": str(course)})


OF_TOTAL = 'CHECK = CallCheck.of(\n    "total"'


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('# %% check="double"', "# %%", NO_CHECK),
        (DOUBLE_CELL, "", NO_TODO),
        ('"double"', '"triple"', "TODO `triple` has no checks/triple.py"),
        ('# %% todo="total"', TODO, "there are two cells called `double`"),
        ('# %% check="total"', '# %% check="double"', "there are two cells called `double-check`"),
        (BEGIN, "    return x + x", "TODO `double` has no line `### BEGIN SOLUTION`"),
        (END, "before", "TODO `double` has 1 BEGIN SOLUTION and 0 END SOLUTION"),
        ('check("double")', "### BEGIN SOLUTION\n1\n### END SOLUTION", "cell `double-check` has a SOLUTION mark"),
        (TODO, '# %% todo="two words"', "cell 3: 'two words' cannot be the name of a function or class"),
        (TODO, f"{TODO} points=3", "cell 3: `points` in its marker means nothing"),
        (
            TODO,
            f"{TODO} folded=true",
            "cell 3: `folded=true` is for code cells, and neither for a TODO nor for a check",
        ),
        ('# %% check="double"', '# %% check="double" folded=true', "cell 4: `folded=true` is for code cells"),
        ('# %% [markdown] tags=["aside"]', "# %% [markdown] folded=true", "cell 5: `folded=true` is for code cells"),
        ("# %% folded=true", "# %% folded=1", "cell 2: `folded=true` is for code cells"),
        (TODO, f"{TODO} editable=true", "cell 3: `editable=true` is for given code cells"),
        ("# %% folded=true", "# %% folded=true editable=true", "cell 2: `editable=true` is for given code cells"),
        ("# Starts the ranks.\n", "", "cell 2: a folded cell begins with a comment"),
        (
            "# %% folded=true",
            "# %% collapsed=true",
            "cell 2: `collapsed` in its marker means nothing; known are todo, check",
        ),
        (TODO, f'{TODO} check="total"', "cell 3: it cannot be TODO and check at once"),
        ('# %% [markdown] tags=["aside"]', '# %% [markdown] todo="aside"', "cell 5: `aside` must be a code cell"),
    ],
)
def test_errors_in_a_lab_name_lab_and_cell(course, old, new, said):
    assert old in LAB_PY
    with pytest.raises(LabError) as error:
        build(find_lab(make_course(course, LAB_PY.replace(old, new)), LAB))
    assert str(error.value).startswith(LAB) and said in str(error.value)


def test_hints_for_a_todo_that_is_not_there_are_refused(course):
    (course / "solutions" / LAB / "hints.toml").write_text("[dubble]\nquestion = 'Why?'\n")
    said = lockstep(course, "build")
    assert said.exit_code == 1
    assert f"{LAB}/hints.toml: there is no TODO `dubble`; the lab's TODOs are double, total" in said.output


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (OF_TOTAL, f"CHECK = None\nFOUND = {OF_TOTAL[8:]}", "TODO `total` has no checks/total.py"),
        ("# == total.py", "# == sum.py", "sum.py must set CHECK to a Check whose `todo` is 'sum'"),
        (OF_TOTAL, f"CHECK = CallCheck.of\nFOUND = {OF_TOTAL[8:]}", "total.py must set CHECK to a Check"),
        ("CHECK = ", "FOUND = ", "has no module that sets CHECK"),
        ("# == __init__.py", "# == start.py", "no __init__.py"),
        ('"sum", 3', '"sum", 0', "check `total` is worth 0 points"),
        ("Criterion, Words\n\nfrom ..probes import double", "Criteria", "checks/ does not load: ImportError"),
    ],
)
def test_errors_in_checks_are_named(course, old, new, said):
    assert old in CHECKS_PY
    with pytest.raises(LabError) as error:
        build(find_lab(make_course(course, checks=CHECKS_PY.replace(old, new)), LAB))
    assert said in str(error.value)
    assert LAB in str(error.value)


def test_a_lab_that_is_not_there_is_named_with_those_that_are(course):
    result = lockstep(course, "build", "91_large")
    assert result.exit_code == 1
    assert f"no lab `91_large` in {course}/solutions; there are: {LAB}" in result.output


def test_check_says_what_is_not_up_to_date_and_changes_nothing(course):
    result = lockstep(course, "build", "--check")
    assert (result.exit_code, f"labs/{LAB}/{LAB}.ipynb is missing" in result.output) == (1, True)
    assert not (course / "labs").exists()
    assert lockstep(course, "build").exit_code == 0
    result = lockstep(course, "build", "--check")
    assert (result.exit_code, result.output) == (0, "labs/ is up to date\n")
    (course / "labs" / LAB / "data.txt").write_text("4 5 6")
    (course / "labs" / LAB / "run.sh").chmod(0o644)
    result = lockstep(course, "build", "--check")
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        f"labs/{LAB}/data.txt is not what its source makes; run `lockstep build`",
        f"labs/{LAB}/run.sh is not what its source makes; run `lockstep build`",
    ]
    lockstep(course, "build")
    assert differences([build(find_lab(course, LAB))], course) == []


def test_what_build_did_not_make_is_reported_and_kept(course):
    lockstep(course, "build")
    (course / "labs" / LAB / "mine.txt").write_text("notes")
    (course / "labs" / "89_old").mkdir()
    result = lockstep(course, "build")
    assert result.exit_code == 0
    assert f"labs/{LAB}/mine.txt is not made by `lockstep build`" in result.output
    assert "labs/89_old is made by no lab of this course" in result.output
    assert (course / "labs" / LAB / "mine.txt").exists() and (course / "labs" / "89_old").exists()
    assert lockstep(course, "build", "--check").exit_code == 1


def test_a_line_that_jupyterlab_cuts_is_named(course):
    source = course / "solutions" / LAB / "lab.py"
    source.write_text(source.read_text().replace("def double(x):", f"def double(x):  # {'wide ' * 20}", 1))
    result = lockstep(course, "build")
    assert result.exit_code == 0
    line = "cell `double` has a line of 118 characters, and JupyterLab shows 88: def double(x):"
    assert f"{LAB}: {line}" in result.output


def test_nothing_foreign_is_left_where_nbgrader_takes_files_from(course):
    lockstep(course, "build")
    (course / "build" / "solutions" / LAB / "answers.txt").write_text("42")
    lockstep(course, "build")
    assert not (course / "build" / "solutions" / LAB / "answers.txt").exists()


def test_a_notebook_that_somebody_worked_in_is_not_overwritten(course):
    lockstep(course, "build")
    path = course / "labs" / LAB / f"{LAB}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[2].source = "def double(x):\n    return x * 2"
    nbformat.write(notebook, path)
    mine = path.read_bytes()
    result = lockstep(course, "build")
    assert result.exit_code == 1
    assert f"labs/{LAB}/{LAB}.ipynb has work in cell double" in result.output
    assert path.read_bytes() == mine
    assert lockstep(course, "build", "--force").exit_code == 0
    assert foreign_files([build(find_lab(course, LAB))], course) == []
    assert path.read_bytes() != mine


def test_a_notebook_that_was_only_run_is_made_anew(course):
    lockstep(course, "build")
    path = course / "labs" / LAB / f"{LAB}.ipynb"
    before = path.read_bytes()
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[1].execution_count = 3
    nbformat.write(notebook, path)
    assert lockstep(course, "build").exit_code == 0
    assert path.read_bytes() == before
