"""Notebooks in a submission that are not where the lab's notebook belongs: work that is there gets no 0 in silence.

A copy beside it, a folder too many, the ending of a download (`.ipynb.json`), an archive: whatever people hand in. What
is there is not trusted: links are not followed, and little is read. Where there are very many files, as of a run that
was handed in with all that it wrote, they are counted, up to a limit, and that is told.
"""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from lzma import LZMAError
from pathlib import Path

from autograde.classroom.submissions.zip_names import is_work, names_of
from course.exchange.limits import MAX_FOLDER, MAX_NOTEBOOK, NOTEBOOKS
from course.exchange.names import SECRET, TIMESTAMP
from course.files import Unreadable, read_plain

ARCHIVES = (".zip", ".rar", ".7z", ".tar", ".tgz", ".gz", ".bz2", ".xz")
PAGES = (".py", ".html", ".htm", ".pdf", ".docx", ".odt", ".md", ".json", ".txt")  # what may be work for people to read
OURS = frozenset((TIMESTAMP, SECRET, "hints_taken.json", "run.json", "GLOSSARY.md"))
MOST = 5  # notebooks that are read
MOST_NAMES = 2_000  # names of files and folders that are looked at
MOST_COPIED = 500  # of which there may be so many that the files are copied, for which nbgrader takes their square
DEPTH = 3  # folders in folders


@dataclass(frozen=True)
class Elsewhere:
    """A notebook in another place. where: its path in the submission, with that in an archive. raw: None if it must
    not be read."""

    where: str
    raw: bytes | None


def how_many(folder: Path) -> int:
    """How many files and folders there are in a submission's, MOST_NAMES at most."""
    count, left = 0, [str(folder)]
    while left and count < MOST_NAMES:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in islice(entries, MOST_NAMES - count):
                    count += 1
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
        except OSError:
            continue
    return count


def about_many(count: int) -> str:
    """What is told of so many files, see `how_many`; nothing where they are not too many."""
    if count <= MOST_COPIED:
        return ""
    said = f"there are {count:,} files and folders" if count < MOST_NAMES else f"there are {MOST_NAMES:,} files or more"
    looked = "" if count < MOST_NAMES else "; only the first were looked at for other notebooks"
    return f"{said} beside the notebook, more than {MOST_COPIED}: they are not copied to what was graded{looked}"


def elsewhere(folder: Path, usual: str) -> list[Elsewhere]:
    """The notebooks in a submission's folder but for the `usual` one, in the order of their paths. `MOST` are read."""
    found, stem = [], usual.removesuffix(".ipynb").lower()
    for path in files(folder):
        where = str(path.relative_to(folder))
        if where.lower().endswith(".zip") and len(found) < MOST:
            found += islice(in_archive(path, where), MOST)
        elif where != usual and (
            where.lower().endswith(NOTEBOOKS) or re.fullmatch(rf"{re.escape(stem)}.*\.json", path.name.lower())
        ):
            found.append(Elsewhere(where, read(path) if len(found) < MOST else None))
    return found


def unread(folder: Path, usual: str) -> list[str]:
    """Files in which there may be work that is not looked for: other kinds of files, in the order of their paths.

    All archives are among them. The pages only where there is no notebook of the `usual` name.
    """
    kinds = ARCHIVES if (folder / usual).exists() else ARCHIVES + PAGES
    found = (path.relative_to(folder) for path in files(folder) if path.name not in OURS)
    return [str(path) for path in found if path.name.lower().endswith(kinds) and path.parts[0] != "checks"]


def files(folder: Path) -> Iterator[Path]:
    """The files of a folder, then those of its folders. Hidden ones, as Jupyter's checkpoints, are left out."""
    left, level = MOST_NAMES, [folder]
    for _ in range(DEPTH + 1):
        below: list[Path] = []
        for place in level:
            try:
                with os.scandir(place) as entries:
                    known = [entry for entry, _ in zip(entries, range(left), strict=False)]
            except OSError:
                continue
            left -= len(known)
            for entry in sorted(known, key=lambda entry: entry.name):
                if entry.name.startswith((".", "__MACOSX")):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    below.append(Path(entry.path))
                else:
                    yield Path(entry.path)
        level = below


def read(path: Path) -> bytes | None:
    """The bytes of a notebook; None if they must not, or cannot, be read."""
    try:
        return read_plain(path, MAX_NOTEBOOK)
    except (OSError, Unreadable):
        return None


def in_archive(path: Path, where: str) -> Iterator[Elsewhere]:
    """The notebooks in an archive; none if it is damaged or encrypted."""
    try:
        content = BytesIO(read_plain(path, MAX_FOLDER))
        with zipfile.ZipFile(content) as archive:
            for member in archive.infolist()[:MOST_NAMES]:
                name = names_of(member)[0]
                if name.lower().endswith(NOTEBOOKS) and is_work(name):
                    with archive.open(member) as file:
                        raw = file.read(MAX_NOTEBOOK + 1)
                    yield Elsewhere(f"{where}/{name}", raw if len(raw) <= MAX_NOTEBOOK else None)
    except (Unreadable, zipfile.BadZipFile, zlib.error, LZMAError, EOFError, OSError, RuntimeError, ValueError):
        return
