"""`lockstep build`: makes the notebooks from the labs' sources.

    solutions/NN/lab.py --> build/solutions/NN/   the instructor's notebook, answers included: nbgrader's source folder;
                                                  the criteria of NN/checks are in the docstrings of TODOs
                        --> labs/NN/              what students get, as `nbgrader generate_assignment` makes it
    NN/checks/, NN/probes/ ...  .check.zip in both    what `check()` needs, see archive.py
    slurm/run.sh        --> run.sh in both        the job that runs the notebook, unless the lab has its own
    solutions/GLOSSARY.md    likewise, and labs/  what the terms mean to which notebooks link
    solutions/NN/lab.toml    in the notebook      at its top, see opening.py
    all of these             labs/README.md       the map of the course, see course_map.py
                             README.md, docs/     tables of labs in the clone's own pages, see tables.py

Every byte is determined by the sources: cell ids are derived, and there are no outputs or dates.
"""

from __future__ import annotations

import copy
import logging
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    LockCells,
)

from autograde.hints import load_hints
from autograde.labs.description import FILE as DESCRIPTION
from autograde.labs.description import read_description
from autograde.labs.folder import Lab, LabError, find_labs, load_lab
from autograde.labs.places import LABS, REPOSITORY, SOURCE
from autograde.making.archive import ignored, packed
from autograde.making.cell_marks import answer_marks, grading_metadata, marks, tell_points, untouched, validate
from autograde.making.course_map import course_map
from autograde.making.opening import facts, filled_in
from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Criterion
from autograde.rubric.docstring import with_criteria
from course.lab_archive import ARCHIVE, PACKED
from course.notebook_file import as_bytes, new_cell, new_notebook
from course.overview.cells import OWN_METADATA

# The preprocessors of `nbgrader generate_assignment`, in its order, without the one that writes to the gradebook.
RELEASE = (
    LockCells,
    ClearSolutions,
    ClearOutput,
    CheckCellMetadata,
    ComputeChecksums,
    ClearHiddenTests,
    ClearMarkScheme,
    ComputeChecksums,
    CheckCellMetadata,
)
GLOSSARY = "GLOSSARY.md"  # the terms of all labs
MAP = "README.md"  # of labs/
# README.md is for instructors, equivalent.toml shows answers.
KEPT_BACK = frozenset({"lab.py", DESCRIPTION, "README.md", "equivalent.toml", "variants", "tests", "bench"})
RUN = REPOSITORY / "slurm" / "run.sh"  # the template for all labs: @LAB@ stands for the name


@dataclass(frozen=True)
class File:
    """The content of a file to write."""

    content: bytes
    executable: bool = False


@dataclass(frozen=True)
class Built:
    """The files made from one lab, by path in its folder."""

    lab: Lab
    instructor: dict[str, File]
    student: dict[str, File]

    @property
    def released(self) -> NotebookNode:
        """The notebook as students get it."""
        return nbformat.reads(self.student[self.lab.notebook].content.decode(), as_version=4)


def build(lab: Lab) -> Built:
    """Make all files of `lab`. Raises LabError, which names the lab and the cell."""
    notebook = instructor_notebook(lab)
    files = extra_files(lab)
    files.setdefault("run.sh", run_script(lab))
    # In each lab's own folder: that is all that students fetch.
    for name, file in shared_files(lab).items():
        files.setdefault(name, file)
    return Built(
        lab,
        {lab.notebook: File(as_bytes(notebook)), **files},
        {lab.notebook: File(as_bytes(release(notebook))), **files},
    )


def instructor_notebook(lab: Lab) -> NotebookNode:
    """The notebook of `lab` with answers, and cells tagged for nbgrader. Raises LabError."""
    loaded = load_lab(lab)
    checks = loaded.todo_checks
    points = {check.todo: check.points for check in checks}
    criteria = {check.todo: check.criteria for check in checks if isinstance(check, CallCheck)}
    load_hints(lab.folder, points)
    description = read_description(lab.folder)
    notebook = new_notebook()
    if description is not None:
        notebook.metadata[OWN_METADATA] = facts(description)
    anchor, since = "start", 0
    for number, cell in enumerate(loaded.cells, 1):
        where = f"{lab.name}: cell {number}"
        answer, points_of_answer = answer_marks(cell, where)
        todo, check, shown = marks(cell, where)
        if todo or check or answer:
            name = todo or answer or f"{check}-check"
            anchor, since = name, 0
        else:
            since += 1
            name = f"{anchor}-{since}"
        if name in [earlier.id for earlier in notebook.cells]:
            raise LabError(f"{lab.name}: there are two cells called `{name}`")
        if len(name) > 64:
            raise LabError(
                f"{lab.name}: cell {number}: `{name}` is longer than the 64 characters that a cell id may have"
            )
        new = new_cell(cell.kind, cell.source, name, shown)
        if todo in criteria:
            new.source = told(cell.source, todo, criteria[todo], where)
        if answer:
            text = cell.kind == "markdown"
            new.metadata["nbgrader"] = grading_metadata(name, text, points_of_answer if text else None, locked=False)
        elif cell.kind == "code" and "editable" not in shown:  # nbgrader locks each cell that it knows
            new.metadata["nbgrader"] = grading_metadata(name, bool(todo), points.get(check) if check else None)
        notebook.cells.append(new)
    first = next((cell for cell in notebook.cells if cell.cell_type == "markdown"), None)
    if first is not None:
        first.source = filled_in(first.source, description, lab.name)
    tell_points(notebook)
    validate(lab, notebook, points)
    return notebook


def told(source: str, todo: str, criteria: Sequence[Criterion], where: str) -> str:
    """The cell of a TODO with its criteria in the docstring. Raises LabError."""
    try:
        return with_criteria(source, todo, criteria)
    except (SyntaxError, ValueError) as error:
        raise LabError(f"{where}: {error}") from error


def release(notebook: NotebookNode) -> NotebookNode:
    """The instructor's notebook as students get it: stubs for answers, cells locked, checksums set."""
    released, resources = copy.deepcopy(notebook), {}
    quiet = logging.Logger("lockstep.build", logging.WARNING)  # they log each checksum, over what a reader should see
    for preprocessor in RELEASE:
        released, resources = preprocessor(log=quiet).preprocess(released, resources)
    return released


def shared_files(lab: Lab) -> dict[str, File]:
    """Files that every lab's folder has, and `labs/` as well: the glossary, if the course has one."""
    glossary = lab.folder.parent / GLOSSARY
    return {GLOSSARY: File(glossary.read_bytes())} if glossary.is_file() else {}


def beside_labs(lab: Lab) -> dict[str, File]:
    """Files for `labs/` itself. Those of an instructor's own folder are in its labs' folders only."""
    folder = lab.folder.parent
    if folder.name != "solutions":
        return {}
    return {**shared_files(lab), MAP: File(course_map(find_labs(folder.parent)).encode())}


def extra_files(lab: Lab) -> dict[str, File]:
    """Files of the lab's folder that students get unchanged (pictures, data, `run.sh`), and its archive."""
    found = {ARCHIVE: File(packed(lab.folder))}
    for path in sorted(lab.folder.rglob("*")):
        name = path.relative_to(lab.folder)
        if path.is_file() and not ignored(name) and name.parts[0] not in KEPT_BACK | PACKED and path.suffix != ".ipynb":
            found[name.as_posix()] = File(path.read_bytes(), bool(path.stat().st_mode & 0o100))
    return found


def run_script(lab: Lab) -> File:
    """The job that runs the lab's notebook on Slurm."""
    return File(RUN.read_text(encoding="utf-8").replace("@LAB@", lab.name).encode(), executable=True)


def worked_in(path: Path) -> list[str]:
    """Names of the student's cells in the notebook at `path` that somebody has changed.

    They show by the checksum that nbgrader puts into each cell it releases. An unreadable file counts as one cell:
    better ask than overwrite it.
    """
    try:
        cells = [cell for cell in nbformat.reads(path.read_text(), as_version=4).cells if "nbgrader" in cell.metadata]
        tagged = [(cell.metadata.nbgrader, cell) for cell in cells if not cell.metadata.nbgrader.get("locked", True)]
        return [tag["grade_id"] for tag, cell in tagged if not untouched(cell, tag)]
    except Exception:
        return ["(not readable)"]


def write(built: Built, root: Path, force: bool = False) -> None:
    """Write the files of a lab under `root`. Raises LabError rather than overwrite a student's work in `labs/`."""
    write_instructor(built, root)
    folder = root / "labs" / built.lab.name
    write_file(folder / ARCHIVE, built.student[ARCHIVE])  # which is no work of anybody's
    notebook = folder / built.lab.notebook
    if not force and notebook.exists() and (cells := worked_in(notebook)):
        raise LabError(
            f"labs/{built.lab.name}/{built.lab.notebook} has work in cell {', '.join(cells)}; "
            "move it elsewhere, or overwrite it with --force"
        )
    for name, file in built.student.items():
        write_file(folder / name, file)
    for name, file in beside_labs(built.lab).items():
        write_file(root / "labs" / name, file)


def take_away(lab: Lab, root: Path, force: bool = False) -> bool:
    """Delete what was built of a lab that the course does not choose any more. Returns whether there was something.

    Raises LabError rather than delete a student's work in `labs/`.
    """
    folders = [folder for folder in (root / SOURCE / lab.name, root / LABS / lab.name) if folder.is_dir()]
    notebook = root / LABS / lab.name / lab.notebook
    if not force and notebook.exists() and worked_in(notebook):
        raise LabError(
            f"labs/{lab.name} is not chosen any more, but there is work in {lab.notebook}; move it elsewhere, or "
            "delete it with --force"
        )
    for folder in folders:
        shutil.rmtree(folder)
    return bool(folders)


def write_instructor(built: Built, root: Path) -> None:
    """Write nbgrader's source folder. Deletes other files in it, which nbgrader would release to students."""
    folder = root / "build" / "solutions" / built.lab.name
    for path in folder.rglob("*"):
        if path.is_file() and path.relative_to(folder).as_posix() not in built.instructor:
            path.unlink()
    for name, file in built.instructor.items():
        write_file(folder / name, file)


def write_file(path: Path, file: File) -> None:
    """Write `file` if it differs from what is there."""
    if same(path, file):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(file.content)
    path.chmod(0o755 if file.executable else 0o644)


def same(path: Path, file: File) -> bool:
    """Whether the file at `path` is the same as `file`."""
    if not path.is_file() or path.read_bytes() != file.content:
        return False
    return bool(path.stat().st_mode & 0o100) == file.executable
