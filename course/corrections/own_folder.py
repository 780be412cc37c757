"""A student's folder of a lab that was corrected since: whether it has the old text, and how it gets the new one.

What the student wrote stays: the notebook as it was is copied beside the new one, and a file that the student changed
is kept, with the new one beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from course.corrections.cells import is_answer, name_of
from course.corrections.changes import changed_files, in_words, stale
from course.corrections.merging import MergeResult, merge
from course.corrections.releases import Release, current, kept, release_of, stamp_in
from course.files import write_whole
from course.lab_archive import ARCHIVE, ArchiveError
from course.notebook_file import as_bytes
from course.overview.cells import NoNotebook, read_notebook

Sign = Callable[[NotebookNode, NotebookNode], None]  # carries the trust in the old notebook over to the new one


@dataclass(frozen=True)
class Correction:
    """A lab that was corrected since a student fetched it.

    old: the text of the student's notebook; None if it is not known. new: what is released. files: those in the
    student's folder that are of an earlier release, by path in it. words: what was changed; empty if not known.
    """

    old: Release | None
    new: Release
    files: tuple[str, ...]
    words: str

    @property
    def when(self) -> datetime:
        """When it was released, naive UTC."""
        return self.new.when


@dataclass(frozen=True)
class CorrectionResult:
    """What became of a student's folder. copy: the name of the copy of the old notebook; empty if that needed no
    correction. lost: what the student wrote that is in the copy only. beside: answers below which the corrected text of
    their TODO stands. kept: files that the student had changed, with the names of the new ones beside them.
    same_answers: whether all answers are as they were, so that nothing else would be graded."""

    copy: str
    lost: tuple[str, ...]
    beside: tuple[str, ...]
    kept: dict[str, str]
    same_answers: bool = field(default=True, compare=False)


def find_correction(root: Path | str, course: str, lab: str, folder: Path, mine: dict[str, Any]) -> Correction | None:
    """The correction that the lab in a student's folder lacks; None if it has what is released, or nobody can tell.

    root: of the exchange. mine: the student's notebook.
    """
    try:
        if (new := current(root, course, lab)) is None:
            return None
        releases = kept(root, course, lab)
        old = release_of(mine, releases)
        if old is None and not stamp_in(mine):  # none of the lab's cells is in it
            return None
        files = of_earlier(folder, new, [release for release in releases if release.stamp != new.stamp])
        if old is not None and old.stamp == new.stamp:
            words = ", ".join("its checks" if name == ARCHIVE else name for name in files)
            return Correction(new, new, files, words) if files else None
        return Correction(old, new, files, in_words(old, new) if old else "")
    except (OSError, ArchiveError, NoNotebook):
        return None


def of_earlier(folder: Path, new: Release, earlier: Sequence[Release]) -> tuple[str, ...]:
    """The files in a student's folder that are as in an earlier release, and not as in the new one. Raises OSError."""
    found = []
    for name in sorted({name for release in earlier for name in release.files}):
        texts = [release.files[name] for release in earlier if name in release.files]
        now = new.files.get(name)
        if not (now and same(folder / name, now)) and any(same(folder / name, text) for text in texts):
            found.append(name)
    return tuple(found)


def same(path: Path, other: Path) -> bool:
    """Whether a file is there and has the content of another one. Raises OSError."""
    alike = path.is_file() and path.stat().st_size == other.stat().st_size
    return alike and path.read_bytes() == other.read_bytes()


def correct(correction: Correction, folder: Path, sign: Sign = lambda old, new: None) -> CorrectionResult:
    """Put the corrected text of a lab into a student's folder. Raises OSError, NoNotebook."""
    old, new = correction.old, correction.new
    notebook = folder / f"{new.lab}.ipynb"
    raw = notebook.read_bytes()
    day = f"{datetime.now():%Y-%m-%d}"
    if old is not None and old.stamp == new.stamp:
        return CorrectionResult("", (), (), write_files(correction, folder, day))
    merged = merged_with(correction, raw)
    copy = write_beside(folder, f"{new.lab}_until_{day}", ".ipynb", raw)
    files = write_files(correction, folder, day)
    content = as_bytes(merged.notebook)
    write_whole(notebook, content)
    sign(nbformat.reads(raw.decode(), as_version=4), nbformat.reads(content.decode(), as_version=4))
    same = answers(read_notebook(raw)) == answers(merged.notebook)
    return CorrectionResult(copy, tuple(merged.lost), tuple(merged.beside), files, same)


def answers(notebook: dict[str, Any]) -> list[tuple[str, str]]:
    """The names and texts of the cells that a student answers in."""
    return [(name_of(cell), cell["source"]) for cell in notebook["cells"] if is_answer(cell)]


def merged_with(correction: Correction, raw: bytes) -> MergeResult:
    """The corrected notebook with what is in the student's. Raises OSError, NoNotebook."""
    old, new = correction.old, correction.new
    if old is None:
        return merge(None, read_notebook(raw), new.notebook, all_stale=True)
    names, everything = stale(changed_files(old, new), new.notebook["cells"])
    return merge(old.notebook["cells"], read_notebook(raw), new.notebook, names, everything)


def write_files(correction: Correction, folder: Path, day: str) -> dict[str, str]:
    """Write the lab's other files where the student has not changed them; else beside, if they are new to the student.
    The archive is no student's work, and is replaced whatever it is.

    Returns the names of those beside, by what they stand beside. Raises OSError.
    """
    old, new, beside = correction.old, correction.new, {}
    for name in correction.files:
        if name not in new.files:
            (folder / name).unlink()
    for name, source in new.files.items():
        path = folder / name
        if same(path, source):
            continue
        known = old is not None and name in old.files and same(old.files[name], source)
        if name == ARCHIVE or name in correction.files or not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, source.read_bytes())
            path.chmod(0o755 if source.stat().st_mode & 0o100 else 0o644)
        elif not known:
            beside[name] = write_beside(path.parent, f"{path.name}.corrected-{day}", "", source.read_bytes())
    return beside


def write_beside(folder: Path, stem: str, suffix: str, content: bytes) -> str:
    """Write a file under a name that no other file has. Returns that. Raises OSError."""
    for number in count(1):
        path = folder / f"{stem}{f'-{number}' if number > 1 else ''}{suffix}"
        try:
            with open(path, "xb") as file:
                file.write(content)
        except FileExistsError:
            continue
        except OSError:  # a full disk
            path.unlink(missing_ok=True)
            raise
        return path.name
    raise AssertionError("there is always another number")
