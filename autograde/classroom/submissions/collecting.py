"""Collects submissions from nbgrader's exchange: each student's own, and only what that student put there.

Students own the folder that they hand in, choose its name, and can put links into it, even while it is copied. nbgrader
trusts the name, and follows links with the instructor's rights. So a student could replace another's work by a forgery,
or get the solution, the gradebook or another's submission back as feedback. Here a folder belongs to the account that
owns it, links to files and folders are not followed, and pipes and devices are not opened.
"""

from __future__ import annotations

import errno
import os
import pwd
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import IO

from nbgrader.exchange.default import ExchangeCollect
from nbgrader.utils import check_mode, ignore_patterns, parse_utc

from course.exchange.deadlines import Deadlines, deadlines
from course.exchange.due import to_the_minute
from course.exchange.handed_in.choice import read_choice
from course.exchange.handed_in.inbound import HandIn, hand_ins, unclear
from course.exchange.names import SECRET, TIMESTAMP, UNCLEAR

# How much later than its name says a submission may arrive, e.g. because two clocks differ.
TOLERANCE = timedelta(minutes=10)
OURS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}  # errors of the disk that we write to, not of one submission


class PlainCollect(ExchangeCollect):
    """nbgrader's collect, which trusts less. It replaces nbgrader's own wherever our nbgrader_config.py is read.

    A submission that cannot be collected is named in the log, and the student's previous one is collected instead.
    Where the instructor has chosen one that counts, that one is collected, or none.
    """

    def init_src(self) -> None:
        """Find each student's submissions, and sort them by preference."""
        course, lab = self.coursedir.course_id, self.coursedir.assignment_id
        if not course:
            self.fail("No course id specified. Re-run with --course flag.")
        self.inbound_path = os.path.join(self.root, course, "inbound")
        if not os.path.isdir(self.inbound_path):
            self.fail(f"Course not found: {self.inbound_path}")
        if not check_mode(self.inbound_path, read=True, execute=True):
            self.fail(f"You don't have read permissions for the directory: {self.inbound_path}")
        due = deadlines(self.coursedir.db_url, course, lab) if self.before_duedate else Deadlines(None)
        self.found: dict[str, list[HandIn]] = {}
        asked = f"{self.coursedir.student_id or '*'}+{lab}+*"
        handed_in, without_name = self.inbound
        for each in handed_in:
            if fnmatchcase(each.path.name, asked):
                self.found.setdefault(each.name.student, []).append(each)
        for path in without_name:
            if fnmatchcase(path.name, asked):
                self.log.warning("%s is not collected: %s", path, UNCLEAR)
        for student, submissions in self.found.items():
            last = due.of(student) or datetime.max
            submissions.sort(key=lambda each: (each.name.when <= last, each.name.when), reverse=True)
        choices = {student: read_choice(self.root, course, lab, student) for student in self.found}
        self.chosen = {student: parse_utc(time) for student, time in choices.items() if time}

    @cached_property
    def inbound(self) -> tuple[list[HandIn], list[Path]]:
        """What was handed in, and what has an unclear name. It is read once, also where this is started for one
        student after the other."""
        folder, lab = Path(self.inbound_path), self.coursedir.assignment_id
        return hand_ins(folder, lab), unclear(folder, lab)

    def copy_files(self) -> None:
        """Collect each student's new submission, if there is one."""
        course, lab = self.coursedir.course_id, self.coursedir.assignment_id
        if not self.found:
            self.log.warning("No submissions of '%s' for course '%s' to collect", lab, course)
        else:
            self.log.info("Processing %d submissions of '%s' for course '%s'", len(self.found), lab, course)
        for student, submissions in sorted(self.found.items()):
            dest = Path(self.coursedir.format_path(self.coursedir.submitted_directory, student, lab))
            if student in self.chosen:
                submissions = self.only_chosen(student, submissions, dest)
            for inbound in submissions:
                if not self.wanted(inbound, dest) or self.take(inbound, dest):
                    break

    def only_chosen(self, student: str, submissions: list[HandIn], dest: Path) -> list[HandIn]:
        """The submission that the instructor has chosen; none if only `dest` has it, or nobody any more."""
        when, lab = self.chosen[student], self.coursedir.assignment_id
        found = [each for each in submissions if each.name.when == when]
        if not found and self.coursedir.get_existing_timestamp(str(dest)) != when:
            self.log.warning(
                "%s: what was handed in at %s counts, by your choice, and is not in the exchange any more; nothing "
                "else is collected. `lockstep counts %s %s last` takes the choice back",
                *(student, to_the_minute(when), lab, student),
            )
        elif any(each.name.when > when for each in submissions):
            self.log.warning(
                "%s: what was handed in at %s counts, by your choice, and not what was handed in later",
                *(student, to_the_minute(when)),
            )
        return found

    def wanted(self, inbound: HandIn, dest: Path) -> bool:
        """Whether a submission replaces what is at `dest`, by nbgrader's rules, or by the instructor's choice."""
        if not dest.is_dir():
            return True
        have = self.coursedir.get_existing_timestamp(str(dest))
        if inbound.name.student in self.chosen:
            return have != inbound.name.when
        if (self.update and (have is None or inbound.name.when > have)) or (
            self.before_duedate and have != inbound.name.when
        ):
            return True
        why = "No newer submission to collect" if self.update else "Submission already exists, use --update to update"
        self.log.info("%s: %s %s", why, inbound.name.student, self.coursedir.assignment_id)
        return False

    def take(self, inbound: HandIn, dest: Path) -> bool:
        """Copy a submission to `dest`, completely or not at all. Returns whether it did; logs why not."""
        dest.parent.mkdir(parents=True, exist_ok=True)
        copy = dest.with_name(f".{dest.name}.part")
        shutil.rmtree(copy, ignore_errors=True)
        try:
            folder = os.open(inbound.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                owner = account(os.fstat(folder).st_uid)
                if self.check_owner and owner != inbound.name.student:
                    self.log.warning(
                        "%s is not collected: it says that it is %s's, but is owned by %s; cheating attempt? "
                        "(ExchangeCollect.check_owner = False collects it.)",
                        *(inbound.path, inbound.name.student, owner),
                    )
                    return False
                arrived = self.copy(inbound.path, folder, copy)
            finally:
                os.close(folder)
            self.complete(copy, inbound)
        except OSError as error:
            shutil.rmtree(copy, ignore_errors=True)
            if error.errno in OURS:
                raise
            self.log.warning("%s is not collected: %s", inbound.path, error.strerror)
            return False
        if arrived - inbound.name.when > TOLERANCE:
            self.log.warning(
                "%s says that it was handed in at %s UTC, but was changed at %s UTC",
                inbound.path,
                inbound.name.when,
                arrived,
            )
        self.log.info(
            "%s submission: %s %s", "Updating" if dest.exists() else "Collecting", inbound.name.student, dest.name
        )
        replace(dest, copy)
        return True

    def copy(self, source: Path, folder: int, dest: Path) -> datetime:
        """Copy the regular files of an open folder, and name in the log what is left out.

        Returns when the last of them was changed (its ctime, which its owner cannot set), as a naive datetime in UTC.
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
            ".", dir_fd=folder, follow_symlinks=False, onerror=self.unreadable
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
        """Log that a folder in a submission is left out."""
        self.log.warning("%s in a submission is not collected: %s", error.filename, error.strerror)

    def complete(self, folder: Path, inbound: HandIn) -> None:
        """Add the files without which nbgrader's later steps stop.

        The time is that of the name, by which the submission was collected. The secret names the feedback.
        """
        if text(folder / TIMESTAMP).strip() != inbound.name.time:
            self.log.warning("%s: its %s is not what its name says, which counts", inbound.path, TIMESTAMP)
            write(folder / TIMESTAMP, inbound.name.time)
        if not re.fullmatch(r"[0-9a-f]{128}", text(folder / SECRET)):
            self.log.warning("%s has no %s: the student cannot fetch feedback for it", inbound.path, SECRET)
            write(folder / SECRET, secrets.token_hex(64))


def account(user: int) -> str:
    """The name of the account with this id."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"the unknown user {user}"


def text(path: Path) -> str:
    """The text of a small file; empty if it cannot be read."""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def write(path: Path, content: str) -> None:
    """Write a file, in place of whatever is there."""
    if path.is_dir():
        shutil.rmtree(path)
    path.write_text(content)


def replace(dest: Path, new: Path) -> None:
    """Put the folder `new` at `dest`. If killed meanwhile, there is the old one, the new one or none."""
    old = dest.with_name(f".{dest.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    with suppress(FileNotFoundError):
        dest.rename(old)
    new.rename(dest)
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def regular(name: str, folder: int) -> Iterator[IO[bytes] | None]:
    """The file called `name` in an open folder, open for reading; None if it is anything but a regular file."""
    try:
        opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError:  # a link, a socket, a file that may not be read
        yield None
        return
    with os.fdopen(opened, "rb") as file:
        yield file if stat.S_ISREG(os.fstat(opened).st_mode) else None
