"""What is wrong with a folder in which somebody's work is to be saved, in words: it is full, read-only, not theirs.

`python -m course.homes.look FOLDER` prints it as JSON, and ends with 1, if that is nothing that its owner can mend from
inside.
"""

from __future__ import annotations

import errno
import json
import os
import pwd
import stat
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

NOT_COPIED = "LOCKSTEP_NOT_COPIED"  # variable: what could not be put into the home, a sentence in each line
MIB = 2**20
TRIAL = MIB // 4  # bytes that are written to see whether something can be: more than what a start writes
LITTLE = 8 * MIB  # bytes; a notebook with pictures has one or two, and is written twice when it is saved
DELETE = "Delete what you no longer need, in JupyterLab's file browser or in its terminal, where this lists the largest"
ASK = "Ask whoever runs this machine; this shows from where the folder is mounted"


@dataclass(frozen=True)
class Trouble:
    """What is wrong with a folder, in sentences.

    step: what to do. command: that shows it, or mends it; empty: none. lasting: its owner cannot mend it from inside.
    """

    what: str
    step: str
    command: str
    lasting: bool = False

    @property
    def sentence(self) -> str:
        """All of it."""
        return f"{self.what} {self.step}{f': {self.command}' if self.command else '.'}"


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
        return Trouble(f"There is no folder {folder}.", "Whoever runs this machine makes it, for its owner", "", True)
    except OSError as error:
        return Trouble(f"{folder} cannot be reached: {error.strerror}.", ASK, mounted(folder), True)
    if not stat.S_ISDIR(seen.st_mode):
        step = "Whoever runs this machine looks what it is, and makes a folder of that name"
        return Trouble(f"{folder} is no folder.", step, f"ls -ld {folder}", True)
    error = cannot_write(folder)
    return none_left(folder, error) or (None if error is None else refused(folder, seen, error))


def none_left(folder: Path, error: OSError | None) -> Trouble | None:
    """Whether there is no room, or little. error: what came of writing."""

    def told(what: str) -> Trouble:
        return Trouble(what, DELETE, f"du -ah {folder} | sort -h | tail -20")

    if error is not None and error.errno == errno.EDQUOT:
        return told(f"Your quota in {folder} is used up, and nothing more is saved there.")
    try:
        there = os.statvfs(folder)
    except OSError:
        return None
    if there.f_files and not there.f_favail:
        return told(f"{folder} can take no more files: all {there.f_files:,} are in use, however small.")
    left, whole = there.f_bavail * there.f_frsize, there.f_blocks * there.f_frsize
    room = f"{left / MIB:.1f} of {whole / MIB:,.0f} MiB are free"
    if error is not None and error.errno == errno.ENOSPC:
        return told(f"{folder} is full: {room}. Nothing more is saved there.")
    if error is None and left < LITTLE:
        return told(f"{folder} is almost full: {room}, and your next save may fail.")
    return None


def refused(folder: Path, seen: os.stat_result, error: OSError) -> Trouble:
    """What to say where writing fails for another reason than room."""
    if error.errno == errno.EROFS:
        what = f"{folder} is read-only, and nothing can be saved there."
        return Trouble(
            what, "Whoever runs this machine looks at the mount, and mounts it for writing", mounted(folder), True
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return Trouble(
            f"{folder} cannot be written by {name_of(os.geteuid())}: it belongs to {name_of(seen.st_uid)}, mode "
            f"{stat.S_IMODE(seen.st_mode):o}.",
            "Whoever runs this machine looks whose it is to be, and gives it to them",
            f"sudo chown {os.geteuid()}:{os.getegid()} {folder} && sudo chmod u+rwx {folder}",
            True,
        )
    return Trouble(f"Nothing can be saved in {folder}: {error.strerror}.", ASK, mounted(folder), True)


def mounted(folder: Path) -> str:
    """The command that shows from where a folder is mounted, and how."""
    return f"findmnt --target {folder}"


def name_of(uid: int) -> str:
    """An account in words: its name, or its number where it has none, as in many containers."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"the account {uid}"


def main() -> None:
    """See the module."""
    found = trouble(Path(sys.argv[1]))
    if found is not None and found.lasting:
        print(json.dumps(asdict(found)))
        raise SystemExit(1)


if __name__ == "__main__":
    main()
