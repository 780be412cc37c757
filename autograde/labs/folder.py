"""Finds labs and loads their checks and variants. A lab is a folder with a `lab.py`; see `course.lab_choice`.

Its `checks/` and `variants/` are packages with one module per TODO, named after it. `checks/x.py` sets CHECK, and
`variants/x.py` sets ANSWERS. Other modules hold what several TODOs share; import them relatively, at the top of a
module.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from autograde.contract.check import Check
from autograde.contract.lab_package import LabPackage
from autograde.labs.source import SourceCell, read_cells
from autograde.labs.variants import Wrong, plain_source, read_variants
from course.lab_archive import BESIDE_STUDENTS, JUDGING
from course.lab_choice import FILE, ChoiceError, all_labs, chosen, named_folders, read_choice

# How many ranks a lab's checks need if its checks/__init__.py sets no RANKS.
DEFAULT_RANKS = 4


class LabError(Exception):
    """A lab's files are wrong. The message names the lab, the place and what to do."""


@dataclass(frozen=True)
class Lab:
    """One lab: its name, such as ``03_pi_allreduce``, which is also its notebook's, and its source folder."""

    name: str
    folder: Path

    @property
    def notebook(self) -> str:
        """File name of the lab's notebook."""
        return f"{self.name}.ipynb"

    @property
    def source(self) -> Path:
        """The notebook as percent text, with answers."""
        return self.folder / "lab.py"

    @property
    def checks(self) -> Path:
        """The folder of the lab's checks."""
        return self.folder / "checks"

    @property
    def variants(self) -> Path:
        """The folder of other right answers and known mistakes."""
        return self.folder / "variants"


@dataclass(frozen=True)
class LoadedLab(Lab):
    """A lab with its checks loaded: a command loads a lab once, and passes it on.

    todo_checks: one for each TODO, in the order of the TODOs. cells: of `lab.py`. files: the texts of the checks, and
    of what runs beside the student's code, by module, as in `LabPackage`.
    """

    todo_checks: tuple[Check, ...]
    cells: tuple[SourceCell, ...] = field(repr=False, hash=False)
    files: Mapping[str, str] = field(repr=False, hash=False)

    @property
    def todos(self) -> list[str]:
        """The names of the TODOs, in order."""
        return [check.todo for check in self.todo_checks]


def find_labs(root: Path) -> list[Lab]:
    """The labs of the course at `root`, in the order that it chooses, else of name. Raises LabError."""
    try:
        choice = read_choice(root)
        labs = chosen(all_labs(root, choice.folders, named_folders()), choice, str(root / FILE))
    except ChoiceError as error:
        raise LabError(str(error)) from error
    return [Lab(name, folder) for name, folder in labs.items()]


def labs_left_out(root: Path) -> list[Lab]:
    """The labs that the course at `root` could have, and does not choose. Raises LabError."""
    taken = {lab.name for lab in find_labs(root)}
    labs = all_labs(root, read_choice(root).folders, named_folders())
    return [Lab(name, folder) for name, folder in labs.items() if name not in taken]


def find_lab(root: Path, name: str) -> Lab:
    """The lab called `name`. Raises LabError, which lists the labs that exist."""
    labs = {lab.name: lab for lab in find_labs(root)}
    if name not in labs:
        there_are = f"there are: {', '.join(labs)}" if labs else "there are none"
        if name in {lab.name for lab in labs_left_out(root)}:
            raise LabError(f"`{name}` is not among the labs that {root / FILE} chooses; {there_are}")
        raise LabError(f"no lab `{name}` in {root / 'solutions'}; {there_are}")
    return labs[name]


def read_package(folder: Path) -> dict[str, str]:
    """The source texts of the modules in a lab's package, by file name. Raises LabError if it is no package."""
    folder = Path(folder).resolve()
    try:
        texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"{folder}: {error}") from error
    if "__init__.py" not in texts:
        raise LabError(f"{folder}: {'no __init__.py in it' if texts else 'No such folder, or no module in it'}")
    return texts


def load_modules(folder: Path, package: LabPackage | None = None) -> dict[str, ModuleType]:
    """Import a lab's `checks/` or `variants/`. Returns its modules by file name without ``.py``.

    Several labs can be loaded at once. Loading unchanged files again returns the same modules. package: what is read of
    the lab already. Raises LabError if there is no such package, or one of its modules does not run.
    """
    folder = Path(folder).resolve()
    package = package or lab_package(folder.parent, folder.name)
    try:
        return package.modules(folder.name)
    except Exception as error:
        text = f"{type(error).__name__}: {error}{place_of(error)}"
        raise LabError(f"{folder.parent}: {folder.name}/ does not load: {text}") from error


def place_of(error: Exception) -> str:
    """The innermost line of a lab's module in an error's traceback, as the end of a message."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename.startswith("<lockstep_lab_")]
    return (
        f" ({'/'.join(frames[-1].filename.strip('<>').split('.')[1:])}.py, line {frames[-1].lineno})" if frames else ""
    )


def lab_package(folder: Path, name: str = "checks") -> LabPackage:
    """The packages of the lab in `folder`: that of this name, and those that run beside a student's code. Raises
    LabError."""
    own = {f"{name}/{file}": text for file, text in read_package(folder / name).items()}
    return LabPackage.of(own | beside_students(folder), str(folder))


def beside_students(folder: Path) -> dict[str, str]:
    """The files of the lab in `folder` that a sandbox shows, by path: `probes/`, `shared/` and `models/` as they
    are. Raises LabError."""
    present = [folder / name for name in BESIDE_STUDENTS if (folder / name).is_dir()]
    return {f"{each.name}/{file}": text for each in present for file, text in read_package(each).items()}


def uses_torch(lab: Lab, files: Mapping[str, str]) -> bool:
    """Whether the lab's notebook, or what runs beside a student's code, speaks of torch or Horovod. files: those of
    `beside_students`. Raises OSError."""
    texts = (lab.source.read_text(encoding="utf-8"), *files.values())
    return any(re.search("torch|horovod", text, re.IGNORECASE) for text in texts)


def load_checks(folder: Path, package: LabPackage | None = None) -> list[Check]:
    """The checks in the package at `folder`, in the order of the lab's `lab.py` if that is there, else by name.
    package: what is read of the lab already. Raises LabError."""
    folder = Path(folder).resolve()
    checks = checks_in(load_modules(folder, package), folder)
    order = [*solution_cells(source)] if (source := folder.parent / "lab.py").is_file() else []
    return sorted(checks, key=lambda check: order.index(check.todo) if check.todo in order else len(order))


def packed_checks(files: Mapping[str, bytes], archive: Path) -> list[Check]:
    """The checks in the files of a lab's archive, in order of name. archive: its path. Raises LabError."""
    texts = {path: content.decode() for path, content in files.items() if path.split("/")[0] in JUDGING}
    return load_checks(archive / "checks", LabPackage.of(texts, str(archive)))


def checks_in(modules: Mapping[str, ModuleType], folder: Path) -> list[Check]:
    """The checks that the modules of a lab's `checks/` set. folder: where these are, for messages. Raises LabError."""
    checks = []
    for stem, module in modules.items():
        several, where = getattr(module, "CHECKS", None), f"{folder}/{stem}.py"
        for check in several or [getattr(module, "CHECK", None)]:
            if check is None:
                continue
            if not isinstance(check, Check) or (check.todo != stem and not several):
                raise LabError(f"{where} must set CHECK to a Check whose `todo` is {stem!r}, as the file is called")
            checks.append(check)
    if not checks:
        raise LabError(f"{folder} has no module that sets CHECK; it needs one for each TODO, called as the TODO")
    return checks


def load_lab(lab: Lab) -> LoadedLab:
    """The lab with its checks; itself, if they are loaded. Raises LabError."""
    if isinstance(lab, LoadedLab):
        return lab
    package = lab_package(lab.folder)
    checks = tuple(load_checks(lab.checks, package))
    return LoadedLab(lab.name, lab.folder, checks, read_cells(lab.source), package.texts)


def load_ranks(folder: Path) -> int:
    """How many ranks the checks at `folder` need: RANKS in its ``__init__.py``. Raises LabError."""
    ranks = getattr(load_modules(folder)["__init__"], "RANKS", DEFAULT_RANKS)
    if not isinstance(ranks, int) or ranks < 1:
        raise LabError(f"{folder}/__init__.py: RANKS must be a whole number from 1 on, not {ranks!r}")
    return ranks


def load_variants(folder: Path) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, Wrong]]]:
    """Right and wrong answers in the package at `folder`, by TODO and name: source text, or Wrong. Raises LabError."""
    right: dict[str, dict[str, str]] = {}
    wrong: dict[str, dict[str, Wrong]] = {}
    package, solutions = load_modules(folder), solution_cells(Path(folder).parent / "lab.py")
    for todo, module in package.items():
        if todo == "__init__":
            continue
        if todo not in solutions or not isinstance(getattr(module, "ANSWERS", None), str):
            raise LabError(f"{folder}/{todo}.py must be called as a TODO, and set ANSWERS to a text")
        try:
            sources = getattr(package["__init__"], "SOURCES", {})
            right[todo], wrong[todo] = read_variants(module.ANSWERS, sources, plain_source(solutions[todo]))
        except ValueError as error:
            raise LabError(f"{folder}/{todo}.py: {error}") from error
    return right, wrong


def solution_cells(path: Path) -> dict[str, str]:
    """The source of each TODO's cell in the `lab.py` at `path`, with its answer, in order."""
    return {cell.marker["todo"]: cell.source for cell in read_cells(path) if isinstance(cell.marker.get("todo"), str)}
