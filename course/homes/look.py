"""What is wrong with a folder in which somebody's work is to be saved, in words: it is full, read-only, not theirs.

`python -m course.homes.look FOLDER` prints it, and ends with 1, if that is nothing that its owner can mend from inside.
"""

from __future__ import annotations

import errno
import os
import pwd
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

NOT_COPIED = "LOCKSTEP_NOT_COPIED"  # variable: what could not be put into the home, a sentence in each line
MIB = 2**20
TRIAL = MIB // 4  # bytes that are written to see whether something can be: more than what a start writes
LITTLE = 8 * MIB  # bytes; a notebook with pictures has one or two, and is written twice when it is saved
MEND = (
    "Delete what you no longer need, in JupyterLab's file browser or in its terminal, where this lists the largest: "
    "du -ah {folder} | sort -h | tail -20"
)


@dataclass(frozen=True)
class Trouble:
    """What is wrong with a folder. sentence: with the next step. lasting: its owner cannot mend it from inside."""

    sentence: str
    lasting: bool = False


def notices(folder: Path) -> list[str]:
    """What somebody who works in a folder has to know: what is wrong with it, and what could not be put there."""
    found = trouble(folder)
    return [*([found.sentence] if found else []), *os.environ.get(NOT_COPIED, "").splitlines()]


def cannot_write(folder: str | os.PathLike[str]) -> OSError | None:
    """Why nothing can be written in a folder, found by a trial that leaves nothing there; None: it can be."""
    try:
        # Some file servers tell only here that a quota is used up.
        with tempfile.TemporaryFile(dir=folder, prefix=".lockstep-") as file:
            file.write(bytes(TRIAL))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error
    return None


def trouble(folder: Path) -> Trouble | None:
    """What is wrong with a folder for this process's account; None if it can be written and has room."""
    try:
        seen = folder.stat()
    except FileNotFoundError:
        return Trouble(f"There is no folder {folder}. Whoever runs this machine makes it, for its owner.", True)
    except OSError as error:
        return Trouble(f"{folder} cannot be reached: {error.strerror}. Ask whoever runs this machine.", True)
    if not stat.S_ISDIR(seen.st_mode):
        return Trouble(f"{folder} is no folder. Whoever runs this machine makes one of that name.", True)
    error = cannot_write(folder)
    return none_left(folder, error) or (None if error is None else refused(folder, seen, error))


def none_left(folder: Path, error: OSError | None) -> Trouble | None:
    """Whether there is no room, or little. error: what came of writing."""
    mend = MEND.format(folder=folder)
    if error is not None and error.errno == errno.EDQUOT:
        return Trouble(f"Your quota in {folder} is used up, and nothing more is saved there. {mend}")
    try:
        there = os.statvfs(folder)
    except OSError:
        return None
    if there.f_files and not there.f_favail:
        return Trouble(f"{folder} can take no more files: all {there.f_files:,} are in use, however small. {mend}")
    left, whole = there.f_bavail * there.f_frsize, there.f_blocks * there.f_frsize
    room = f"{left / MIB:.1f} of {whole / MIB:,.0f} MiB are free"
    if error is not None and error.errno == errno.ENOSPC:
        return Trouble(f"{folder} is full: {room}. Nothing more is saved there. {mend}")
    if error is None and left < LITTLE:
        return Trouble(f"{folder} is almost full: {room}, and your next save may fail. {mend}")
    return None


def refused(folder: Path, seen: os.stat_result, error: OSError) -> Trouble:
    """What to say where writing fails for another reason than room."""
    if error.errno == errno.EROFS:
        words = (
            f"{folder} is read-only, and nothing can be saved there. Whoever runs this machine mounts it for writing."
        )
    elif error.errno in (errno.EACCES, errno.EPERM):
        words = (
            f"{folder} cannot be written by {name_of(os.geteuid())}: it belongs to {name_of(seen.st_uid)}, mode "
            f"{stat.S_IMODE(seen.st_mode):o}. Whoever runs this machine looks whose it is to be, and gives it to them: "
            f"sudo chown {os.geteuid()}:{os.getegid()} {folder} && sudo chmod u+rwx {folder}"
        )
    else:
        words = f"Nothing can be saved in {folder}: {error.strerror}. Ask whoever runs this machine."
    return Trouble(words, True)


def name_of(uid: int) -> str:
    """An account in words: its name, or its number where it has none, as in many containers."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def main() -> None:
    """See the module."""
    found = trouble(Path(sys.argv[1]))
    if found is not None and found.lasting:
        print(found.sentence)
        raise SystemExit(1)


if __name__ == "__main__":
    main()
