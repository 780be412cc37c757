"""Receipts: what a student has handed in is known where it counts, in the exchange; the home has copies of them.

A receipt is a folder that nbgrader takes for the student's own copy of a submission. It has the secret that names the
feedback, where the submission is, a digest of its content, and the notebooks' names, as empty files: nbgrader looks for
no more. Receipts are in
`inbound/.receipts.STUDENT/COURSE/`, which its student makes and nobody else enters. People clear their homes, and
exchanges are cleared and restored: whichever of the two lost a receipt gets it from the other.

Nothing here waits for a lock, and nothing needs one: some file servers have none.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from urllib.parse import quote

from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import Exchange
from nbgrader.utils import get_username

from course.exchange.copying import make_private, remove, sync, write_synced
from course.exchange.names import HIDDEN, SECRET, Name, hidden, lab_of, read_receipt, shown
from course.homes.look import name_of

WHERE = "submission.txt"  # in a receipt: the path of what was handed in
CONTENT = "content.txt"  # in a receipt: a digest of it, see handed_in/content.py
CORRECTED = "corrected.txt"  # in a receipt: the same of the folder since the lab's corrected text was put into it
WHOLE = re.compile(r"[0-9a-f]{128}")  # a secret
DAY = 24 * 3600  # seconds


@dataclass(frozen=True)
class Receipt:
    """What a receipt says. name: STUDENT+LAB+TIME. work: what the exchange calls the submission, empty if unknown.
    content: a digest of what was handed in; empty if it is not known yet, or not any more."""

    name: str
    secret: str
    notebooks: tuple[str, ...]
    work: str
    content: str = ""

    def write(self, folder: Path, inbound: Path) -> None:
        """Write it into an empty folder. Raises OSError."""
        write_synced(folder / SECRET, self.secret)
        for notebook in self.notebooks:
            write_synced(folder / notebook, "")
        if self.work:
            write_synced(folder / WHERE, str(inbound / self.work))
        if self.content:
            write_synced(folder / CONTENT, self.content)
        sync(folder)


class Receipts:
    """A student's receipts of one course.

    folder: where they are, in the exchange. trouble: why they cannot be there, and are in the home only; else empty.
    """

    def __init__(self, exchange: Exchange, course: str) -> None:
        self.student = reader(exchange.coursedir)
        self.inbound, self.home = Path(exchange.root, course, "inbound"), Path(exchange.cache, course)
        own = self.inbound / f".receipts.{quote(self.student, safe='')}"
        self.folder, self.trouble = own / course, closed_to_others(own)
        try:
            if not self.trouble and not self.folder.is_dir():
                make_private(self.folder)
        except OSError as error:
            self.trouble = f"{self.folder}: {error.strerror}"
        if self.trouble:
            self.folder = self.home
        self._settle()

    @property
    def places(self) -> list[Path]:
        """The folders for receipts, the one in the exchange first."""
        return list(dict.fromkeys([self.folder, self.home]))

    def of(self, lab: str = "") -> dict[Path, Name]:
        """The receipts of a lab, or of all: folders and what their names say, oldest first."""
        found = {path: read_receipt(path.name, lab or lab_of(path.name)) for path in self._named(self.folder)}
        return dict(sorted(((path, name) for path, name in found.items() if name), key=lambda each: each[1].when))

    def note(self, place: Path, receipt: Receipt) -> tuple[Path, int] | None:
        """Note under a hidden name that something is being handed in. Raises OSError.

        Returns the note and an open file, which tells that its owner lives; None if one of the same time was handed in,
        or is being handed in.
        """
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        note = place / hidden(receipt.name)
        try:
            make_private(note)
        except FileExistsError:
            return None
        try:
            if os.path.lexists(place / receipt.name):
                remove(note)
                return None
            receipt.write(note, self.inbound)
            alive = os.open(note, os.O_RDONLY | os.O_DIRECTORY)
        except BaseException:
            remove(note)
            raise
        with suppress(OSError):  # some file servers have no locks: see `is_abandoned`
            fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return note, alive

    def issue(self, note: Path, receipt: Receipt) -> None:
        """Make a receipt of a note, as its submission has arrived. What fails is made up for by the next look."""
        with suppress(OSError):
            issued = note.with_name(receipt.name)
            if not os.path.lexists(note) and not os.path.lexists(issued):  # somebody took its owner for dead
                make_private(note)
                receipt.write(note, self.inbound)
            elif receipt.content:
                with suppress(OSError):  # then it is not known whether the next one is the same
                    write_synced(note / CONTENT, receipt.content)
            note.rename(issued)
        self._mend()

    def clear(self) -> None:
        """Remove what is left of hand-ins that were killed before they arrived."""
        for place in self.places:
            for note in place.glob(HIDDEN):
                if is_abandoned(note):
                    if work := work_of(note):
                        remove(self.inbound / hidden(work))
                    remove(note)

    def _settle(self) -> None:
        """Issue the receipts of hand-ins that were killed when they had arrived."""
        for place in self.places:
            for note in place.glob(HIDDEN):
                if (work := work_of(note)) and (self.inbound / work).is_dir():
                    with suppress(OSError):
                        note.rename(note.with_name(shown(note.name)))
        self._mend()

    def _mend(self) -> None:
        """Give each of the two places what it lacks or has damaged, as far as that can be done."""
        for name in sorted({path.name for place in self.places for path in self._named(place)}):
            copies = [place / name for place in self.places]
            broken = [copy for copy in copies if not secret_of(copy)]
            if not broken or not (lab := lab_of(name)):
                continue
            work = next(filter(None, map(work_of, copies)), "")
            content = next(filter(None, map(content_in, copies)), "")
            secret = next(filter(None, map(secret_of, [*copies, *([self.inbound / work] if work else [])])), "")
            if secret:
                notebooks = {path.name for copy in copies for path in copy.glob("*.ipynb")} or {f"{lab}.ipynb"}
                for copy in broken:
                    self._replace(copy, Receipt(name, secret, tuple(notebooks), work, content))

    def _replace(self, copy: Path, receipt: Receipt) -> None:
        """Write a receipt that is missing or damaged, or leave it as it is."""
        note = copy.with_name(hidden(receipt.name))
        try:
            copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            make_private(note)
        except OSError:
            return
        with suppress(OSError):
            receipt.write(note, self.inbound)
            remove(copy)
            note.rename(copy)
        remove(note)

    def _named(self, place: Path) -> Iterable[Path]:
        return place.glob(f"{escape(self.student)}+*")


def closed_to_others(own: Path) -> str:
    """Make the folder of a student's receipts, or look whose it is. Returns what is wrong with it, or nothing."""
    try:
        if not os.path.lexists(own):
            make_private(own)
        found = own.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return f"{own} was put there by {name_of(found.st_uid)}"
        if found.st_mode & 0o077:
            own.chmod(0o700)
    except OSError as error:
        return f"{own}: {error.strerror}"
    return ""


def is_abandoned(note: Path) -> bool:
    """Whether whoever made a note does not live any more; where nobody can tell, whether it is older than a day."""
    try:
        opened = os.open(note, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return time.time() - os.fstat(opened).st_mtime > DAY
    finally:
        os.close(opened)
    return True


def work_of(receipt: Path) -> str:
    """What the exchange calls the submission of a receipt; empty if that is not known."""
    return os.path.basename(text(receipt / WHERE).strip())


def content_in(receipt: Path) -> str:
    """The digest of what was handed in; empty if that is not known."""
    return text(receipt / CONTENT).strip()


def contents_in(receipt: Path) -> set[str]:
    """The digests of folders in which the student has changed nothing since."""
    return {*filter(None, (content_in(receipt), text(receipt / CORRECTED).strip()))}


def secret_of(folder: Path) -> str:
    """The secret in a receipt or a submission; empty if there is none, or it is damaged."""
    secret = text(folder / SECRET)
    return secret if WHOLE.fullmatch(secret) else ""


def text(path: Path) -> str:
    """The text of a small file; empty if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def reader(coursedir: CourseDirectory) -> str:
    """The student who uses nbgrader here: the configured one, else the account."""
    return coursedir.student_id if coursedir.student_id not in ("", "*") else get_username()
