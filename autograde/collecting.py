"""Collects submissions from nbgrader's exchange: each student's own, and only what that student put there.

A student owns the folder that was handed in, chose its name, and may put links into it, also while it is copied.
nbgrader believes the name, and follows links with the instructor's rights: another's work would be replaced by a forged
one; the solution, the gradebook or another's submission would come back as the student's own work, and as feedback.
Here a folder counts for the account that owns it, and no link is followed, of no file and no folder; pipes and devices
are not opened.
"""

from __future__ import annotations

import errno
import glob
import os
import pwd
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

from nbgrader.exchange.default import ExchangeCollect
from nbgrader.utils import check_mode, ignore_patterns, parse_utc

from course.jupyterhub.deadlines import due_date

# A submission's files may arrive so much later than its name says, e.g. as two machines' clocks differ.
TOLERANCE = timedelta(minutes=10)
OURS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}  # errors of where submissions are collected to, not of one of them


@dataclass(frozen=True)
class HandedIn:
    """A folder in the exchange, as its name describes it: STUDENT+LAB+TIME, with +RANDOM behind.

    time: as the student wrote it; when: the same in UTC, without saying so.
    """

    path: Path
    student: str
    time: str
    when: datetime


class PlainCollect(ExchangeCollect):
    """nbgrader's collect, but for whom and what it trusts. It is nbgrader's own where our nbgrader_config.py is read.

    One submission that cannot be collected is named in the log, and the student's last one before it is collected.
    """

    def init_src(self) -> None:
        """Find each student's submissions, the one that counts first."""
        course, lab = self.coursedir.course_id, self.coursedir.assignment_id
        if not course:
            self.fail("No course id specified. Re-run with --course flag.")
        self.inbound_path = os.path.join(self.root, course, "inbound")
        if not os.path.isdir(self.inbound_path):
            self.fail(f"Course not found: {self.inbound_path}")
        if not check_mode(self.inbound_path, read=True, execute=True):
            self.fail(f"You don't have read permissions for the directory: {self.inbound_path}")
        due = due_date(self.coursedir.db_url, course, lab) if self.before_duedate else None
        self.found: dict[str, list[HandedIn]] = {}
        for path in glob.glob(os.path.join(self.inbound_path, f"{self.coursedir.student_id or '*'}+{lab}+*")):
            one = read_name(Path(path), lab)
            if one is None:
                self.log.warning("%s is not collected: no submission's name ends like this", path)
            else:
                self.found.setdefault(one.student, []).append(one)
        for ones in self.found.values():
            ones.sort(key=lambda one: (due is None or one.when <= due, one.when), reverse=True)

    def copy_files(self) -> None:
        """Collect what is new of each student."""
        course, lab = self.coursedir.course_id, self.coursedir.assignment_id
        if not self.found:
            self.log.warning("No submissions of '%s' for course '%s' to collect", lab, course)
        else:
            self.log.info("Processing %d submissions of '%s' for course '%s'", len(self.found), lab, course)
        for student, ones in sorted(self.found.items()):
            dest = Path(self.coursedir.format_path(self.coursedir.submitted_directory, student, lab))
            for one in ones:
                if not self.wanted(one, dest) or self.take(one, dest):
                    break

    def wanted(self, one: HandedIn, dest: Path) -> bool:
        """Whether a submission is to replace what is at `dest`, by nbgrader's rules."""
        if not dest.is_dir():
            return True
        have = self.coursedir.get_existing_timestamp(str(dest))
        if (self.update and (have is None or one.when > have)) or (self.before_duedate and have != one.when):
            return True
        said = "No newer submission to collect" if self.update else "Submission already exists, use --update to update"
        self.log.info("%s: %s %s", said, one.student, self.coursedir.assignment_id)
        return False

    def take(self, one: HandedIn, dest: Path) -> bool:
        """Copy a submission to `dest`, which then has it whole or is as before. Returns False when it said why not."""
        dest.parent.mkdir(parents=True, exist_ok=True)
        copy = dest.with_name(f".{dest.name}.part")
        shutil.rmtree(copy, ignore_errors=True)
        try:
            place = os.open(one.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                owner = account(os.fstat(place).st_uid)
                if self.check_owner and owner != one.student:
                    self.log.warning(
                        "%s is not collected: it says that it is %s's, but is owned by %s; cheating attempt? "
                        "(ExchangeCollect.check_owner = False collects it.)",
                        *(one.path, one.student, owner),
                    )
                    return False
                arrived = self.copy(one.path, place, copy)
            finally:
                os.close(place)
            self.complete(copy, one)
        except OSError as error:
            shutil.rmtree(copy, ignore_errors=True)
            if error.errno in OURS:
                raise
            self.log.warning("%s is not collected: %s", one.path, error.strerror)
            return False
        if arrived - one.when > TOLERANCE:
            self.log.warning(
                "%s says that it was handed in at %s UTC, but was changed at %s UTC", one.path, one.when, arrived
            )
        self.log.info("%s submission: %s %s", "Updating" if dest.exists() else "Collecting", one.student, dest.name)
        replace(dest, copy)
        return True

    def copy(self, source: Path, place: int, dest: Path) -> datetime:
        """Copy the regular files of an open folder, and name in the log what is left out.

        Returns when the last of them was changed (its ctime, which its owner cannot set), in UTC without saying so.
        """
        ignored = ignore_patterns(
            exclude=self.coursedir.ignore,
            include=self.coursedir.include,
            max_file_size=self.coursedir.max_file_size,
            log=self.log,
        )
        newest = 0.0
        dest.mkdir()
        for below, folders, files, opened in os.fwalk(
            ".", dir_fd=place, follow_symlinks=False, onerror=self.unreadable
        ):
            skipped = ignored(str(source / below), folders + files)
            folders[:] = [name for name in folders if name not in skipped]
            (dest / below).mkdir(exist_ok=True)
            for name in files:
                if name in skipped:
                    continue
                with regular(name, opened) as file:
                    if file is None:
                        self.log.warning("%s is not collected: it is no regular file", source / below / name)
                        continue
                    newest = max(newest, os.fstat(file.fileno()).st_ctime)
                    with open(dest / below / name, "wb") as copy:
                        shutil.copyfileobj(file, copy)
        return datetime.fromtimestamp(newest, UTC).replace(tzinfo=None)

    def unreadable(self, error: OSError) -> None:
        """Say that a folder in a submission is left out."""
        self.log.warning("%s in a submission is not collected: %s", error.filename, error.strerror)

    def complete(self, folder: Path, one: HandedIn) -> None:
        """See that nbgrader finds in a collected submission what its later steps need, each of which stops without it.

        The time is that of the name, by which it was collected. The secret names the feedback.
        """
        if text(folder / "timestamp.txt").strip() != one.time:
            self.log.warning("%s: its timestamp.txt is not what its name says, which counts", one.path)
            write(folder / "timestamp.txt", one.time)
        if not re.fullmatch(r"[0-9a-f]{128}", text(folder / "submission_secret.txt")):
            self.log.warning("%s has no submission_secret.txt: the student cannot fetch feedback for it", one.path)
            write(folder / "submission_secret.txt", secrets.token_hex(64))


def read_name(path: Path, lab: str) -> HandedIn | None:
    """What the name of a folder in the exchange says; None if it is not one of a submission of `lab`."""
    parts = path.name.rsplit("+", 3)  # a student's id may have a "+"
    try:
        student, of, time = parts[:3]
        return HandedIn(path, student, time, parse_utc(time)) if of == lab else None
    except (ValueError, OverflowError):
        return None


def account(user: int) -> str:
    """Name of the account with this id."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"the unknown user {user}"


def text(path: Path) -> str:
    """What is in a small file; nothing if that cannot be known."""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def write(path: Path, content: str) -> None:
    """Write a file, whatever is there now."""
    if path.is_dir():
        shutil.rmtree(path)
    path.write_text(content)


def replace(dest: Path, new: Path) -> None:
    """Put the folder `new` at `dest`. Killed meanwhile, there is the old one, the new one or none, never a part."""
    old = dest.with_name(f".{dest.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    with suppress(FileNotFoundError):
        dest.rename(old)
    new.rename(dest)
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def regular(name: str, place: int) -> Iterator[IO[bytes] | None]:
    """The file called `name` in an open folder, open for reading; None if it is anything but a regular file."""
    try:
        opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
    except OSError:  # a link, a socket, a file that may not be read
        yield None
        return
    with os.fdopen(opened, "rb") as file:
        yield file if stat.S_ISREG(os.fstat(opened).st_mode) else None
