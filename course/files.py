"""Atomic writes, and cautious reads of files that somebody else wrote.

A submitted file may be a link to one that only the grader may read, a pipe that nobody writes to, an endless device, or
too large. None of these is opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a rank's launcher imports this module, and starts faster without pathlib
    from io import BufferedWriter
    from pathlib import Path

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file atomically, see `replaced`. Raises OSError, and then leaves the old file in place."""
    with replaced(path) as file:
        file.write(content)


@contextmanager
def replaced(path: str | os.PathLike[str], prefix: str = "") -> Iterator[BufferedWriter]:
    """A new file that takes the place of `path` after this block, unless that raises: a reader finds the old content or
    the new, never a part, even with several writers. Raises OSError.

    prefix: begins its name until then.
    """
    folder, name = os.path.split(path)
    new = os.path.join(folder, f"{prefix or f'.{name}.'}{os.urandom(16).hex()}")
    try:
        with open(new, "xb") as file:
            yield file
            file.flush()
            os.replace(new, path)  # before a lock on it goes
    except BaseException:
        with suppress(OSError):
            os.unlink(new)
        raise


class Unreadable(Exception):
    """A file that somebody else wrote must not be read, or has the wrong content.

    The message completes a sentence that begins with the file's name.
    """


def read_plain(path: Path, limit: int) -> bytes:
    """The bytes of a file that somebody else wrote. Raises OSError, and Unreadable for what `refusal` rejects."""
    if reason := refusal(path, limit):
        raise Unreadable(f"is not read: {reason}")
    return path.read_bytes()


def refusal(path: Path, limit: int) -> str | None:
    """Why a submitted file must not be opened: it is not a regular file, lies elsewhere, or exceeds `limit` bytes.

    None if it may be. A symbolic link to a file in the same folder or below is accepted. Raises OSError, for instance
    for a missing file.
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
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        return f"it is {KINDS.get(stat.S_IFMT(found.st_mode), 'no regular file')}"
    if found.st_nlink > 1:
        return "it is a hard link, another name of a file elsewhere; put a copy in its place"
    if found.st_size > limit:
        return f"it has {found.st_size:,} bytes, more than {limit:,}"
    return None
