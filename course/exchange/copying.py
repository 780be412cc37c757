"""Copies folders so that nobody else can read the copy meanwhile, and it is on disk when the function returns."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

Ignored = Callable[[str, list[str]], Iterable[str]]  # as in `shutil.copytree`


def make_private(folder: Path) -> None:
    """Make a folder that only its owner can enter, with the group that its parent passes on. Raises OSError."""
    os.mkdir(folder, 0o700)  # whatever the umask; only `open_to_group` gives the group rights


def copy_private(source: Path, dest: Path, ignored: Ignored, left_out: Callable[[Path, str], None]) -> None:
    """Copy the files below `source` into the private folder `dest`, with mode 0600 and synced. Raises OSError.

    Links to files are followed, as by nbgrader. What is not a file (a link to a folder or to nothing, a pipe, a socket)
    is left out, and `left_out` is called with its path and the reason.
    """
    for here, folders, files in walk(source, ignored, left_out):
        there = dest / here.relative_to(source)
        for name in folders:
            make_private(there / name)
        for name in files:
            if reason := copy_file(here / name, there / name):
                left_out(here / name, reason)
        sync(there)


def walk(
    source: Path, ignored: Ignored, left_out: Callable[[Path, str], None]
) -> Iterator[tuple[Path, list[str], list[str]]]:
    """The folders below `source`, itself first, with the names of what is copied of each: folders, and files. Raises
    OSError."""
    for folder, folders, files in os.walk(source, onerror=reraise):
        here = Path(folder)
        skipped = set(ignored(folder, folders + files))
        for name in (name for name in folders if name not in skipped and (here / name).is_symlink()):
            left_out(here / name, "it is a link to a folder")
            skipped.add(name)
        folders[:] = [name for name in folders if name not in skipped]
        yield here, folders, [name for name in files if name not in skipped]


def copy_file(source: Path, dest: Path) -> str:
    """Copy one file, which keeps its time. Returns why it was left out; empty if it was copied. Raises OSError."""
    try:
        opened = os.open(source, os.O_RDONLY | os.O_NONBLOCK)  # if it is a pipe, do not wait for a writer
    except OSError:
        if not source.is_symlink() and source.is_file():
            raise
        return "it is a link to nothing" if source.is_symlink() else "it is no file"
    with os.fdopen(opened, "rb") as read:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return "it is no file"
        with os.fdopen(os.open(dest, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as written:
            shutil.copyfileobj(read, written)
            written.flush()
            found = os.fstat(opened)
            os.utime(written.fileno(), ns=(found.st_atime_ns, found.st_mtime_ns))
            os.fsync(written.fileno())
    return ""


def open_to_group(folder: Path) -> None:
    """Let a private folder's group read its files and delete it; others still have no access. Raises OSError.

    The folder itself comes last: until then nobody else can reach its content.
    """
    for place, _, files in os.walk(folder, topdown=False, onerror=reraise):
        for name in files:
            os.chmod(os.path.join(place, name), 0o640)
        os.chmod(place, 0o770)
        sync(Path(place))


def write_synced(path: Path, content: str) -> None:
    """Write a small file that only its owner reads, and wait until it is on disk. Raises OSError."""
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def remove(folder: Path) -> None:
    """Remove a folder of one's own, at one stroke for whoever still writes into it; nothing if it is not there."""
    gone = folder.with_name(f"{folder.name}.gone")
    shutil.rmtree(gone, ignore_errors=True)  # of one who was killed here
    with suppress(OSError):
        folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def sync(folder: Path) -> None:
    """Wait until a folder's entries are on disk. Raises OSError."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def reraise(error: OSError) -> None:
    """Error handler for `os.walk`, which would otherwise skip folders that it cannot read."""
    raise error
