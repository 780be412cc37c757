"""Reads what was handed in, without following it anywhere.

What a student hands in may be a link to a file that only the grader may read, a pipe that nobody ever writes to, a
device without end, or too large. None of that is opened.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from autograde.rebuild import Unreadable, quoted

MAX_NOTEBOOK = 32 * 2**20  # bytes; pictures in a notebook's outputs take some
MAX_FILE = 100 * 2**20  # bytes of any other file, as in nbgrader's own CourseDirectory.max_file_size

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def read_submission(path: Path) -> tuple[bytes | Unreadable | None, tuple[str, ...]]:
    """The bytes of the notebook at `path`; None if there is none; Unreadable, which says why, if it may not be read.

    Also the names of the other notebooks beside it.
    """
    folder = path.parent
    for place in (folder.parent, folder):
        if place.is_symlink():
            return Unreadable(f"is not read: the folder {quoted(place.name)} is a symbolic link"), ()
    others = tuple(sorted(name for name in names(folder) if name.lower().endswith(".ipynb") and name != path.name))
    try:
        return read_plain(path, MAX_NOTEBOOK), others
    except FileNotFoundError:
        return None, others
    except Unreadable as error:
        return error, others


def names(folder: Path) -> list[str]:
    """What is in a folder; nothing where there is none."""
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []


def read_plain(path: Path, limit: int) -> bytes:
    """The bytes of the file at `path`. Raises Unreadable, see `refusal`, and OSError."""
    if reason := refusal(path, limit):
        raise Unreadable(f"is not read: {reason}")
    return path.read_bytes()


def refusal(path: Path, limit: int) -> str | None:
    """Why a file that was handed in must not be opened: it is no regular file, or elsewhere, or larger than `limit`.

    A symbolic link to a file beside it, or in a folder below, is none of that. Raises OSError, as for a missing file.
    """
    try:
        if not path.resolve(strict=True).is_relative_to(path.parent.resolve()):
            return "it is a symbolic link that leads out of the submission"
    except RuntimeError:
        return "it is a symbolic link to itself"
    except FileNotFoundError:
        if not path.is_symlink():
            raise
        return "it is a symbolic link to nothing"
    seen = path.stat()
    if not stat.S_ISREG(seen.st_mode):
        return f"it is {KINDS.get(stat.S_IFMT(seen.st_mode), 'no regular file')}"
    if seen.st_nlink > 1:
        return "it is a hard link, another name of a file elsewhere; put a copy in its place"
    if seen.st_size > limit:
        return f"it has {seen.st_size:,} bytes, more than {limit:,}"
    return None


def fingerprint(raw: bytes | Unreadable | None) -> str:
    """Tells submissions apart."""
    if isinstance(raw, Unreadable):
        return str(raw)
    return hashlib.sha256(raw).hexdigest() if raw is not None else "no file"
