"""What differs between two texts of a lab: in words, and for the outputs of its cells."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from course import lab_archive
from course.corrections.cells import is_answer, is_todo, name_of, successors, todos
from course.corrections.releases import Release
from course.lab_archive import ARCHIVE, HINTS, QUESTIONS, archive_files
from course.overview.cells import Cell, tag_of
from course.watch.wording import enumerate_words

CHECK = "-check"  # ends the name of a TODO's check
RUN = "run.sh"
JUDGING = {*lab_archive.JUDGING} - {*lab_archive.GIVEN}  # folders of which only checks are made
SHOWN = {"figures": "pictures", "models": "models"}  # folders, in words
TO_READ = (".md", ".png", ".svg", ".jpg")


def changed_files(old: Release, new: Release) -> list[str]:
    """The files other than the notebook that differ, or are in one of the two only. Raises OSError, ArchiveError."""
    before, after = contents(old), contents(new)
    return [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]


def contents(release: Release) -> dict[str, bytes]:
    """What is in the files other than the notebook, by path; those in the archive by their path in it."""
    files = {name: path.read_bytes() for name, path in release.files.items() if name != ARCHIVE}
    return files | (archive_files(release.folder) if ARCHIVE in release.files else {})


def stale(files: Iterable[str], cells: list[Cell]) -> tuple[set[str], bool]:
    """The cells, by name, whose outputs do not hold as these files have changed; and whether none of any cell does."""
    found: set[str] = set()
    for file in files:
        path = PurePosixPath(file)
        if path.parts[0] in JUDGING:
            found |= checks_of(path, cells)
        elif file == QUESTIONS:
            found |= {name_of(cell) for cell in cells if is_answer(cell) and not tag_of(cell).get("solution")}
        elif path.suffix not in TO_READ and file not in (HINTS, RUN):
            return found, True
    return found, False


def checks_of(path: PurePosixPath, cells: list[Cell]) -> set[str]:
    """The names of the checks that a file of the folders in `JUDGING` belongs to."""
    names = [*todos(cells)]
    return {f"{name}{CHECK}" for name in ([path.stem] if path.stem in names else names)}


def in_words(old: Release, new: Release) -> str:
    """What was changed, as "2 cells of text, the check of TODO 2". Raises OSError, ArchiveError, NoNotebook."""
    before, after = old.notebook["cells"], new.notebook["cells"]
    next_of, numbers = successors(before, after), todos(after)
    changed = [after[index] for one, index in sorted(next_of.items()) if differ(before[one], after[index])]
    changed += [cell for index, cell in enumerate(after) if index not in next_of.values() and not is_todo(cell)]
    removed = [cell for one, cell in enumerate(before) if one not in next_of]
    others = [cell for cell in [*changed, *removed] if not name_of(cell)]
    said = [
        counted(sum(cell["cell_type"] == "markdown" for cell in others), "of text"),
        counted(sum(cell["cell_type"] == "code" for cell in others), "of given code"),
        numbered("the text of TODO", [numbers[name_of(cell)] for cell in changed if is_todo(cell)]),
        numbered("a new TODO", [number for name, number in numbers.items() if name not in todos(before)]),
        *(f"TODO `{name}` taken away" for name in todos(before) if name not in numbers),
        counted(sum(is_answer(cell) and not is_todo(cell) for cell in changed), "of questions"),
    ]
    files = changed_files(old, new)
    judged = {name_of(cell) for cell in changed if name_of(cell).endswith(CHECK)}
    for path in map(PurePosixPath, files):
        judged |= checks_of(path, after) if path.parts[0] in JUDGING else set()
    judged_todos = sorted(numbers[name.removesuffix(CHECK)] for name in judged if name.removesuffix(CHECK) in numbers)
    said.append(numbered("the check of TODO", judged_todos))
    told = {HINTS: "hints", QUESTIONS: "what is said to numbers"}
    folders = {file: PurePosixPath(file).parts[0] for file in files}
    others = (SHOWN.get(folder, told.get(file, file)) for file, folder in folders.items() if folder not in JUDGING)
    said += dict.fromkeys(others)
    return enumerate_words([*filter(None, said)] or ["its layout"])


def differ(old: Cell, new: Cell) -> bool:
    """Whether a cell was changed: its text, or its points."""
    return old["source"].strip() != new["source"].strip() or tag_of(old).get("points") != tag_of(new).get("points")


def counted(number: int, what: str) -> str:
    """As "2 cells of text"; empty for none."""
    return f"{number} cell{'s' if number > 1 else ''} {what}" if number else ""


def numbered(what: str, numbers: list[int]) -> str:
    """As "the check of TODO 2", or "the checks of TODOs 2 and 3"; empty for none."""
    if len(numbers) < 2:
        return f"{what} {numbers[0]}" if numbers else ""
    nouns = what.replace("the check", "the checks").replace("TODO", "TODOs").replace("a new", "the new")
    return f"{nouns} {enumerate_words([*map(str, numbers)])}"
