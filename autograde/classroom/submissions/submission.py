"""Reads one submission: the part that is examined, and the notebook that receives the results."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.utils import compute_checksum

from autograde.classroom.submissions.elsewhere import (
    MOST,
    MOST_NAMES,
    Elsewhere,
    about_many,
    elsewhere,
    how_many,
    unread,
)
from autograde.classroom.submissions.rebuild import Rebuilt, rebuild
from autograde.contract.show import quoted
from autograde.labs.folder import LoadedLab
from autograde.labs.questions import is_todo
from autograde.sandbox.examine import Answers
from autograde.slurm.record_policy import runs_to_repeat
from autograde.slurm.record_verdict import RecordFile, read_record
from course.exchange.limits import MAX_NOTEBOOK
from course.files import Unreadable, read_plain


@dataclass(frozen=True)
class HandedIn:
    """What was handed in as a lab's notebook.

    raw: the file; None if there is none; Unreadable, which says why, if it must not be read. others: notebooks in other
    places of the submission. files: how many there are in it, see `how_many`. unread: see there.
    """

    raw: bytes | Unreadable | None
    others: tuple[Elsewhere, ...] = ()
    files: int = 0
    unread: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Distinguishes it from what is handed in later."""
        if isinstance(self.raw, Unreadable):
            return str(self.raw)
        if self.raw is None and not self.others and not self.unread:
            return "no file"
        known = hashlib.sha256(self.raw or b"")
        for other in self.others:
            known.update(other.where.encode(errors="replace") + (other.raw or b""))
        known.update("".join(self.unread if self.raw is None else ()).encode(errors="replace"))
        return known.hexdigest()


@dataclass(frozen=True)
class Submission:
    """What is graded.

    fingerprint: of what was handed in. record: of a batch run. again: whether this very work was graded before.
    """

    rebuilt: Rebuilt
    fingerprint: str
    answers: Answers
    record: RecordFile
    again: bool = False


def read_submission(path: Path) -> HandedIn:
    """Read what was handed in at `path`. Follows no link out of its folder, and opens only a file. Raises OSError."""
    folder = path.parent
    for place in (folder.parent, folder):
        if place.is_symlink():
            return HandedIn(Unreadable(f"is not read: the folder {quoted(place.name)} is a symbolic link"))
    beside = tuple(elsewhere(folder, path.name)), how_many(folder), tuple(unread(folder, path.name))
    try:
        return HandedIn(read_plain(path, MAX_NOTEBOOK), *beside)
    except FileNotFoundError:
        return HandedIn(None, *beside)
    except Unreadable as error:
        return HandedIn(error, *beside)


def to_grade(lab: LoadedLab, folder: Path, handed_in: HandedIn, released: NotebookNode) -> Submission:
    """Rebuild the submission in `folder`. released: the lab's notebook as students got it. Raises nothing for what was
    handed in."""
    rebuilt = with_work(released, handed_in, lab.name)
    if many := about_many(handed_in.files):
        rebuilt.problems.append(f"{lab.name}: {many}")
    if handed_in.files >= MOST_NAMES and not has_work(rebuilt):
        rebuilt.manual = rebuilt.manual or "there are too many files to look for work in them"
    if handed_in.unread and not rebuilt.manual and not has_work(rebuilt):
        more = f" and {len(handed_in.unread) - MOST} more" if len(handed_in.unread) > MOST else ""
        rebuilt.manual = f"there may be work in {', '.join(map(path_quoted, handed_in.unread[:MOST]))}{more}"
        rebuilt.problems.append(f"{lab.name}: nothing is written in a notebook; {rebuilt.manual}")
    sources, blank = answers(rebuilt.notebook)
    record = read_record(folder)
    again = runs_to_repeat(lab, record, sources)
    return Submission(rebuilt, handed_in.fingerprint, Answers(sources, blank, again), record)


def with_work(released: NotebookNode, handed_in: HandedIn, lab: str) -> Rebuilt:
    """The notebook to grade: the lab's own, or where that is missing or blank, the only other one with work in it.

    Where others are several, which differ, a person has to look; and where another one has what is blank in the lab's.
    """
    names = tuple(other.where for other in handed_in.others)
    rebuilt = rebuild(released, handed_in.raw, lab, names)
    if isinstance(handed_in.raw, Unreadable):
        return rebuilt
    tried = {other.where: rebuild(released, other.raw, lab) for other in handed_in.others if other.raw is not None}
    works = {where: each for where, each in tried.items() if has_work(each)}
    blank = left_blank(rebuilt)
    if has_work(rebuilt):
        more = {where: sorted(blank - left_blank(each)) for where, each in works.items()}
        for where, todos in more.items():
            if todos:
                missing = ", ".join(f"`{todo}`" for todo in todos)
                rebuilt.manual = f"{missing}: blank in {lab}.ipynb, written in {path_quoted(where)}"
                rebuilt.problems.append(f"{lab}: {rebuilt.manual}; which of the two counts?")
        return rebuilt
    if not works:
        if large := [other.where for other in handed_in.others[:MOST] if other.raw is None]:
            rebuilt.manual = f"there may be work in {', '.join(map(path_quoted, large))}, which cannot be read"
            rebuilt.problems.append(f"{lab}: nothing is written in a notebook that can be read; {rebuilt.manual}")
        return rebuilt
    usual = "there is no" if handed_in.raw is None else "nothing was written in"
    listed = ", ".join(map(path_quoted, works))
    found, *others = works.values()
    if len(handed_in.others) > MOST or any(texts(other) != texts(found) for other in others):
        rebuilt.manual = f"{len(handed_in.others)} other notebooks were handed in, with work in {listed}"
        rebuilt.problems.append(f"{lab}: {rebuilt.manual}; which of them counts?")
        return rebuilt
    taken = f"{listed} is" if not others else f"{listed} are the same, and"
    found.problems.insert(0, f"{lab}: {usual} {lab}.ipynb; {taken} graded in its place")
    return found


def texts(rebuilt: Rebuilt) -> list[tuple[str, dict]]:
    """The text of each cell, and its pictures."""
    return [(cell.source, cell.get("attachments", {})) for cell in rebuilt.notebook.cells]


def path_quoted(where: str) -> str:
    """A path in a submission, harmless."""
    return f"`{'/'.join(quoted(part).strip('`') for part in where.split('/'))}`"


def has_work(rebuilt: Rebuilt) -> bool:
    """Whether something was written in a TODO, or as an answer in words."""
    return any(not is_blank(cell) for cell in own_cells(rebuilt.notebook))


def left_blank(rebuilt: Rebuilt) -> frozenset[str]:
    """The TODOs and the answers in words that are as released."""
    return frozenset(cell.id for cell in own_cells(rebuilt.notebook) if is_blank(cell))


def own_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells for TODOs and for answers in words."""
    return [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("solution")]


def is_blank(cell: NotebookNode) -> bool:
    """Whether one of them is as released: its nbgrader checksum still matches."""
    return compute_checksum(cell) == cell.metadata.nbgrader.checksum


def answers(notebook: NotebookNode) -> tuple[dict[str, str], frozenset[str]]:
    """The source text by TODO, and the TODOs left as released."""
    cells = [cell for cell in own_cells(notebook) if is_todo(cell.metadata.nbgrader)]
    return {cell.id: cell.source for cell in cells}, frozenset(cell.id for cell in cells if is_blank(cell))
