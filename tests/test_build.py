"""What `lockstep build` makes: what students get, what they must not get, and what it says of labs that are wrong."""

from __future__ import annotations

import ast
import os
import re
import shutil
import site
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner, Result
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from small_course import CHECKS_PY, LAB, LAB_PY, make_course
from traitlets.config import Config

from autograde.build import Built, build, differences, foreign, write
from autograde.cli import main
from autograde.labs import Lab, LabError, find_lab, find_labs, load_checks, load_variants
from autograde.nbgrader_steps import configure
from autograde.subject import python_source

pytestmark = pytest.mark.side_by_side

REPOSITORY = Path(__file__).resolve().parents[1]
LABS = find_labs(REPOSITORY)
each_lab = pytest.mark.parametrize("lab", LABS, ids=[lab.name for lab in LABS])
SECRET = 25  # characters from which on a line of an answer is nobody else's by chance


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course with one small lab."""
    return make_course(tmp_path)


def lockstep(course: Path, *args: str) -> Result:
    """Run the command on the course."""
    return CliRunner().invoke(main, args, env={"LOCKSTEP_COURSE": str(course)})


def files(folder: Path) -> dict[str, bytes]:
    """Content of all files below a folder that git would see, by path."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    return {name: path.read_bytes() for name, path in names.items() if not re.search(r"(^|/)(\.|__pycache__)", name)}


def build_all(root: Path) -> list[Built]:
    """Build all labs of the repository into `root`."""
    builts = [build(lab) for lab in LABS]
    for built in builts:
        write(built, root)
    return builts


def answers(lab: Lab) -> set[str]:
    """The lines of the lab's answers, right and wrong, that are long enough to be known again."""
    source = lab.source.read_text()
    regions = re.findall(r"BEGIN SOLUTION(.*?)### END SOLUTION", source, re.DOTALL)
    if lab.variants.exists():
        right, wrong = load_variants(lab.variants)
        regions += [text for variants in right.values() for text in variants.values()]
        regions += [variant.source for variants in wrong.values() for variant in variants.values()]
    lines = {line.strip() for region in regions for line in region.splitlines()}
    return {line for line in lines if len(line) >= SECRET}


def released_source(lab: Lab) -> str:
    """All of `lab.py` that students get."""
    return re.sub(r"BEGIN SOLUTION.*?### END SOLUTION", "", lab.source.read_text(), flags=re.DOTALL)


def test_labs_is_what_build_makes_of_solutions(tmp_path):
    build_all(tmp_path)
    assert files(REPOSITORY / "labs") == files(tmp_path / "labs")


def test_building_again_gives_the_same_bytes(tmp_path):
    build_all(tmp_path / "one")
    command = [sys.executable, "-m", "autograde", "build"]
    shutil.copytree(REPOSITORY / "solutions", tmp_path / "two" / "solutions")
    subprocess.run(command, check=True, cwd=REPOSITORY, env={**os.environ, "LOCKSTEP_COURSE": str(tmp_path / "two")})
    assert files(tmp_path / "one" / "labs") == files(tmp_path / "two" / "labs")
    assert files(tmp_path / "one" / "build") == files(tmp_path / "two" / "build")


@each_lab
def test_no_answer_reaches_students(lab, tmp_path):
    write(build(lab), tmp_path)
    given = released_source(lab) + lab.checks.read_text()
    secrets = {line for line in answers(lab) if line not in given}
    assert secrets
    for name, content in files(tmp_path / "labs").items():
        text = content.decode(errors="replace").replace('\\"', '"')
        assert [line for line in secrets if line in text] == [], name


@each_lab
def test_nothing_of_the_instructors_reaches_students(lab, tmp_path):
    write(build(lab), tmp_path)
    machine = [str(REPOSITORY), str(Path.home()), *site.getsitepackages(), str(tmp_path)]
    for name, content in files(tmp_path / "labs").items():
        text = content.decode(errors="replace")
        assert not name.endswith(("variants.py", "lab.py"))
        for word in ("HIDDEN CASES", "SOLUTION", "jupytext", "lines_to_next_cell", "variants", *machine):
            assert word not in text, (name, word)


@each_lab
def test_hidden_cases_stay_here(lab, tmp_path):
    write(build(lab), tmp_path)
    hidden = re.findall(r"### BEGIN HIDDEN CASES\n(.*?)\s*### END HIDDEN CASES", lab.checks.read_text(), re.DOTALL)
    student = (tmp_path / "labs" / lab.name / "checks.py").read_text()
    assert [region for region in hidden if region in student] == []
    theirs = [check.todo for check in load_checks(tmp_path / "labs" / lab.name / "checks.py")]
    assert theirs == [check.todo for check in load_checks(lab.checks)]


@each_lab
def test_each_cell_compiles_and_each_todo_has_a_check(lab, tmp_path):
    write(build(lab), tmp_path)
    notebook = nbformat.read(tmp_path / "labs" / lab.name / lab.notebook, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            ast.parse(python_source(cell.source), f"{lab.name}: {cell.id}")
            assert (cell.outputs, cell.execution_count) == ([], None)
    tags = {cell.id: cell.metadata.get("nbgrader", {}) for cell in notebook.cells}
    points = {name: tag.points for name, tag in tags.items() if tag.get("grade")}
    assert points == {f"{check.todo}-check": check.points for check in load_checks(lab.checks)}
    todos = [name for name, tag in tags.items() if tag.get("solution")]
    assert todos == [name.removesuffix("-check") for name in points]
    assert all("raise NotImplementedError()" in cell.source for cell in notebook.cells if cell.id in todos)


@each_lab
def test_each_lab_has_the_job_that_runs_it(lab):
    for files in (build(lab).student, build(lab).instructor):
        text = files["run.sh"].content.decode()
        assert files["run.sh"].executable
        assert f"#SBATCH --output={lab.name}.out.%j\n" in text
        assert f"-m $module {lab.name}.ipynb" in text
        assert "@LAB@" not in text


def test_nbgrader_itself_releases_the_same_notebook(course):
    built = build(find_lab(course, LAB))
    write(built, course)
    config = Config()
    configure(config, course)
    config.CourseDirectory.release_directory = "by_nbgrader"
    directory = CourseDirectory(config=config, assignment_id=LAB)
    GenerateAssignment(coursedir=directory, config=config).start()
    assert files(course / "by_nbgrader" / LAB) == files(course / "labs" / LAB)


def test_students_get_the_other_files_too(course):
    write(build(find_lab(course, LAB)), course)
    folder = course / "labs" / LAB
    assert sorted(path.name for path in folder.iterdir()) == [f"{LAB}.ipynb", "checks.py", "data.txt", "run.sh"]
    assert folder.joinpath("run.sh").stat().st_mode & 0o111
    notebook = nbformat.read(folder / f"{LAB}.ipynb", as_version=4)
    assert [cell.metadata.get("tags") for cell in notebook.cells if "tags" in cell.metadata] == [["aside"]]
    assert "drawn.append" not in (folder / "checks.py").read_text()


def test_a_cell_keeps_its_id_when_another_part_of_the_lab_grows(course):
    before = [cell.id for cell in read_student(course).cells]
    grown = LAB_PY.replace("# # A small lab", "# # A small lab\n\n# %% [markdown]\n# More to read.")
    after = [cell.id for cell in read_student(make_course(course, grown)).cells]
    assert [name for name in before if not name.startswith("start")] == [
        name for name in after if not name.startswith("start")
    ]


def read_student(course: Path) -> nbformat.NotebookNode:
    """Build the small lab, and read what students get."""
    built = build(find_lab(course, LAB))
    return nbformat.reads(built.student[f"{LAB}.ipynb"].content.decode(), as_version=4)


TODO, BEGIN, END = '# %% todo="double"', "    ### BEGIN SOLUTION\n    return x + x", "before\n    ### END SOLUTION"
DOUBLE_CELL = LAB_PY[LAB_PY.index(TODO) : LAB_PY.index('# %% check="double"')]
NO_CHECK = 'TODO `double` has no check: add a cell `# %% check="double"` after it'
NO_TODO = 'check `double` has no TODO: there is no cell `# %% todo="double"`'


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('# %% check="double"', "# %%", NO_CHECK),
        (DOUBLE_CELL, "", NO_TODO),
        ('"double"', '"triple"', "TODO `triple` is not in CHECKS of checks.py"),
        ('# %% todo="total"', TODO, "there are two cells called `double`"),
        ('# %% check="total"', '# %% check="double"', "there are two cells called `double-check`"),
        (BEGIN, "    return x + x", "TODO `double` has no line `### BEGIN SOLUTION`"),
        (END, "before", "TODO `double` has 1 BEGIN SOLUTION and 0 END SOLUTION"),
        ('check("double")', "### BEGIN SOLUTION\n1\n### END SOLUTION", "cell `double-check` has a SOLUTION mark"),
        (TODO, '# %% todo="two words"', "cell 3: 'two words' cannot be the name of a function or class"),
        (TODO, f"{TODO} points=3", "cell 3: `points` in its marker means nothing"),
        (TODO, f'{TODO} check="total"', "cell 3: it cannot be TODO and check at once"),
        ('# %% [markdown] tags=["aside"]', '# %% [markdown] todo="aside"', "cell 5: `aside` must be a code cell"),
    ],
)
def test_errors_in_a_lab_name_lab_and_cell(course, old, new, said):
    assert old in LAB_PY
    with pytest.raises(LabError) as error:
        build(find_lab(make_course(course, LAB_PY.replace(old, new)), LAB))
    assert str(error.value).startswith(LAB) and said in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[Double(), Total()]", "[Double()]", "TODO `total` is not in CHECKS of checks.py"),
        ("[Double(), Total()]", "[Total(), Double()]", "CHECKS is not in the lab's order, which is double, total"),
        ("[Double(), Total()]", "[Double(), Double()]", "CHECKS has more than one check for `double`"),
        ("CHECKS = [Double(), Total()]", "", "must end with CHECKS = [...]"),
        ("points = 3", "points = 0", "check `total` is worth 0 points"),
        ("        ### END HIDDEN CASES\n", "", "the last BEGIN HIDDEN CASES has no END HIDDEN CASES"),
        ("        ### BEGIN HIDDEN CASES\n", "", "END HIDDEN CASES where none began"),
        ("import Check, Finding", "import Check, Found", "does not load: ImportError"),
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
    assert "labs/89_old is made by no lab in solutions/" in result.output
    assert (course / "labs" / LAB / "mine.txt").exists() and (course / "labs" / "89_old").exists()
    assert lockstep(course, "build", "--check").exit_code == 1


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
    assert foreign([build(find_lab(course, LAB))], course) == []
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
