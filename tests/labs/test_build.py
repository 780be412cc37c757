"""What `lockstep build` makes: what students get, and what they must not get."""

from __future__ import annotations

import ast
import os
import re
import shutil
import site
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
from labs_under_test import LABS
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from small_course import LAB, LAB_PY, make_course
from traitlets.config import Config

from autograde.cells.cell_code import python_source
from autograde.classroom.configuration import configure
from autograde.labs.folder import Lab, find_lab, load_checks, load_variants, packed_checks
from autograde.labs.questions import is_text, is_todo
from autograde.making.build import Built, build, write
from autograde.making.cell_marks import wide_lines
from course.lab_archive import ARCHIVE, archive_files

REPOSITORY = Path(__file__).resolve().parents[2]
each_lab = pytest.mark.parametrize("lab", LABS, ids=[lab.name for lab in LABS])
SECRET = 25  # characters from which on a line of an answer is nobody else's by chance
OWN = ("figures", "models")  # code for other things: one line, such as a loop's, may be the same, two in a row may not
IMPORTS, LINES = 3, 25  # of what is given and in sight: imports in a lab, lines in a cell


def files(folder: Path) -> dict[str, bytes]:
    """Content of all files below a folder that git would see, by path."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    return {name: path.read_bytes() for name, path in names.items() if not re.search(r"(^|/)(\.|__pycache__)", name)}


def all_files(folder: Path) -> dict[str, bytes]:
    """The same of a lab's folder, with what is in its archive."""
    return files(folder) | archive_files(folder)


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


@pytest.mark.thorough
def test_building_again_gives_the_same_bytes(tmp_path):
    build_all(tmp_path / "one")
    command = [sys.executable, "-m", "autograde", "build"]
    shutil.copytree(REPOSITORY / "solutions", tmp_path / "two" / "solutions")
    subprocess.run(command, check=True, cwd=REPOSITORY, env={**os.environ, "LOCKSTEP_COURSE": str(tmp_path / "two")})
    assert files(tmp_path / "one" / "labs") == files(tmp_path / "two" / "labs")
    assert files(tmp_path / "one" / "build") == files(tmp_path / "two" / "build")


@each_lab
def test_no_answer_can_be_read_in_a_students_folder(lab, tmp_path):
    write(build(lab), tmp_path)
    told = "\n".join(each.says for check in load_checks(lab.checks) for each in check.criteria)  # in the docstrings
    secrets = {line for line in answers(lab) if line not in released_source(lab) + told}
    assert secrets
    for name, content in files(tmp_path / "labs").items():
        text = content.decode(errors="replace").replace('\\"', '"')
        shown = [line for line in secrets if line in text]
        if name.startswith(tuple(f"{lab.name}/{folder}/" for folder in OWN)):
            lines = [line.strip() for line in text.splitlines()]
            shown = [pair for pair in pairwise(lines) if secrets.issuperset(pair)]
        assert shown == [], name


@each_lab
def test_nothing_of_the_instructors_reaches_students(lab, tmp_path):
    write(build(lab), tmp_path)
    machine = [str(REPOSITORY), str(Path.home()), *site.getsitepackages(), str(tmp_path)]
    for name, content in all_files(tmp_path / "labs" / lab.name).items():
        text = content.decode(errors="replace")
        assert not name.endswith(("lab.py", "equivalent.toml")) and "variants" not in name
        for word in ("SOLUTION", "jupytext", "lines_to_next_cell", "variants", *machine):
            assert word not in text, (name, word)


def test_a_labs_own_tests_and_benches_are_released_to_nobody(tmp_path):
    course = make_course(tmp_path)
    kept_back = ("tests/test_speed.py", "bench/speed.py", "bench/README.md")
    for name in (*kept_back, "data/speed.csv"):
        path = course / "solutions" / LAB / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("1\n")
    built = build(find_lab(course, LAB))
    for given in (built.student, built.instructor):
        assert "data/speed.csv" in given and not {*kept_back} & {*given}


@each_lab
def test_students_get_all_checks_as_they_are(lab, tmp_path):
    write(build(lab), tmp_path)
    given, packages = archive_files(tmp_path / "labs" / lab.name), ("checks", "probes", "shared")
    source = {path.relative_to(lab.folder).as_posix(): path for path in lab.folder.rglob("*.py")}
    sources = {name: path.read_bytes() for name, path in source.items() if name.split("/")[0] in packages}
    assert {name: text for name, text in given.items() if name.split("/")[0] in packages} == sources
    checks = packed_checks(given, tmp_path)
    assert {check.todo for check in checks} == {check.todo for check in load_checks(lab.checks)}


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
    points = {name: tag.points for name, tag in tags.items() if tag.get("grade") and not is_text(tag)}
    assert points == {f"{check.todo}-check": check.points for check in load_checks(lab.checks)}
    todos = [name for name, tag in tags.items() if is_todo(tag)]
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
    assert sorted(path.name for path in folder.iterdir()) == [ARCHIVE, f"{LAB}.ipynb", "data.txt", "run.sh"]
    assert {name.split("/")[0] for name in archive_files(folder)} == {"checks", "probes"}
    assert folder.joinpath("run.sh").stat().st_mode & 0o111
    notebook = nbformat.read(folder / f"{LAB}.ipynb", as_version=4)
    assert [cell.metadata.get("tags") for cell in notebook.cells if "tags" in cell.metadata] == [["aside"]]


def test_folded_cells_and_no_others_are_hidden_and_their_code_is_there(course):
    hidden = {cell.id: cell for cell in read_student(course).cells if "jupyter" in cell.metadata}
    assert {name: cell.metadata.jupyter for name, cell in hidden.items()} == {"start-2": {"source_hidden": True}}
    assert "check = Checker(" in hidden["start-2"].source and not hidden["start-2"].metadata.editable


def test_a_given_cell_that_is_to_be_changed_can_be_typed_into_and_no_other_can(course):
    opened = LAB_PY.replace("# %% folded=true", "# %% editable=true")
    given = [cell for cell in read_student(make_course(course, opened)).cells if cell.cell_type == "code"]
    free = [cell.id for cell in given if cell.metadata.get("editable", True)]
    assert free == ["start-2", "double", "total"]
    assert "nbgrader" not in next(cell.metadata for cell in given if cell.id == "start-2")


@each_lab
def test_a_folded_cell_stands_below_words_that_say_what_it_shows(lab):
    notebook = nbformat.reads(build(lab).student[lab.notebook].content.decode(), as_version=4)
    for before, cell in pairwise(notebook.cells):
        if cell.metadata.get("jupyter", {}).get("source_hidden"):
            assert before.cell_type == "markdown" and len(before.source) > 20, cell.id


@each_lab
def test_of_what_is_given_little_is_in_sight_that_nobody_learns_from(lab):
    """The rest is folded: imports for the given cells, and what makes data and pictures."""
    notebook = nbformat.reads(build(lab).student[lab.notebook].content.decode(), as_version=4)
    given = [
        cell for cell in notebook.cells if cell.cell_type == "code" and not is_todo(cell.metadata.get("nbgrader", {}))
    ]
    seen = {cell.id: cell.source for cell in given if not cell.metadata.get("jupyter", {}).get("source_hidden")}
    lines = {name: [line for line in source.splitlines() if line.strip()] for name, source in seen.items()}
    assert {name: len(of_cell) for name, of_cell in lines.items() if len(of_cell) > LINES} == {}
    imports = [line for of_cell in lines.values() for line in of_cell if re.match(r"(import|from)\s", line)]
    assert len(imports) <= IMPORTS, imports


@each_lab
def test_no_line_of_a_code_cell_is_wider_than_jupyterlab_shows(lab):
    text = build(lab).student[lab.notebook].content.decode()
    assert wide_lines(text) == []
    notebook = nbformat.reads(text, as_version=4)
    cells = {cell.id: cell.source.splitlines() for cell in notebook.cells if cell.cell_type == "code"}
    assert [name for name, lines in cells.items() if lines and not lines[0].strip()] == []


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
