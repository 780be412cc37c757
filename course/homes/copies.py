"""Puts labs and lectures of the kit into a home: each file whole or not at all, and nothing over what is there."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from course.files import replaced

FOLDERS = ("labs", "course/lectures")  # where their links have them
UNFINISHED = ".lockstep-copy-"  # begins the name of a copy that is not whole yet
TEXTS = {".md", ".py", ".sh", ".toml", ".txt", ".css", ".js"}  # what people may shorten
BLOCK = 512  # bytes: where a copy breaks off, a whole number of these is there
SHOWN = 3  # of what is in the way
AGAIN = "What is missing is put there when your server or container is started again; what is there stays as it is."


def put(kit: Path, home: Path) -> list[str]:
    """Put what is missing into a home. Returns what could not be put there, and why, in sentences."""
    blocked, failed = [], {}
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        failed[str(home)] = error.strerror
    for source, target in pairs(kit, home):
        name = str(target.relative_to(home))
        try:
            if hindrance := put_one(source, target):
                blocked.append(f"{name} {hindrance}")
        except OSError as error:
            failed[name] = error.strerror
    return sentences(blocked, failed)


def pairs(kit: Path, home: Path) -> Iterator[tuple[Path, Path]]:
    """What of the kit belongs into a home, each with its place there: folders before what is in them, and nothing in a
    folder that is not there."""
    for folder in FOLDERS:
        for above in reversed(Path(folder).parents[:-1]):
            yield kit / above, home / above
        if os.path.isdir((home / folder).parent):
            yield from below(kit / folder, home / folder)


def below(source: Path, target: Path) -> Iterator[tuple[Path, Path]]:
    """A folder and all that is in it."""
    yield source, target
    if os.path.isdir(target):
        clean(target)
        for path in sorted(source.iterdir()):
            if path.is_dir() and path.name != "__pycache__":
                yield from below(path, target / path.name)
            elif path.is_file():
                yield path, target / path.name


def put_one(source: Path, target: Path) -> str:
    """Put a file, or an empty folder, where there is nothing, or a copy that broke off.

    Returns what else is in the way, in words. Raises OSError.
    """
    try:
        there = target.lstat()
    except FileNotFoundError:
        if source.is_dir():
            target.mkdir()
        else:
            copy(source, target)
        return ""
    if stat.S_ISLNK(there.st_mode) and not os.path.exists(target):
        return "is a link that leads nowhere"
    if source.is_dir():
        return "" if os.path.isdir(target) else "is a file, where the kit has a folder"
    if os.path.isdir(target):
        return "is a folder, where the kit has a file"
    if stat.S_ISREG(there.st_mode) and broke_off(source, target, there.st_size):
        copy(source, target)
    return ""


def broke_off(source: Path, target: Path, size: int) -> bool:
    """Whether a file is the beginning of the kit's, as a copy leaves it that was interrupted or had no room.

    Nobody's work is: all that is in it is in the kit's file, too. A text that somebody shortened stays.
    """
    if size >= source.stat().st_size or (source.suffix in TEXTS and size % BLOCK):
        return False
    try:
        return source.read_bytes().startswith(target.read_bytes())
    except PermissionError:  # somebody's, who closed it
        return False


def copy(source: Path, target: Path) -> None:
    """Copy a file, whole or not at all. Raises OSError."""
    with source.open("rb") as content, replaced(target, UNFINISHED) as file:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        shutil.copyfileobj(content, file)
        file.flush()
        os.fsync(file.fileno())
        if os.access(source, os.X_OK):
            os.fchmod(file.fileno(), stat.S_IMODE(os.fstat(file.fileno()).st_mode) | stat.S_IXUSR)


def clean(folder: Path) -> None:
    """Remove what interrupted copies left in a folder; not what another start is about to copy there."""
    with suppress(OSError):
        for path in folder.glob(f"{UNFINISHED}*"):
            with path.open("r+b") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                except OSError:  # a file system without locks
                    pass
                path.unlink()


def sentences(blocked: list[str], failed: dict[str, str]) -> list[str]:
    """What is not there, in words. blocked: what is in the way, and how. failed: reasons by path."""
    said = []
    for line in blocked[:SHOWN]:
        said.append(f"{line}. Give it another name, to get the kit's.")
    if len(blocked) > SHOWN:
        said.append(f"{len(blocked) - SHOWN} more names of the kit's are taken in this way.")
    for reason, number in Counter(failed.values()).most_common(SHOWN):
        first = next(name for name, why in failed.items() if why == reason)
        more = f" and {number - 1} more files or folders" if number > 1 else ""
        said.append(f"Of the labs and lectures, {first}{more} could not be put into your home: {reason}.")
    return [*said[:-1], f"{said[-1]} {AGAIN}"] if said else []
