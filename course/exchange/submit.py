"""Submission that is atomic, and that only the student and the course's grader can read.

nbgrader protects submissions by a random name: whoever learns it can read and change the work. Here permissions protect
them. `inbound` is setgid, so what students make in it gets the grader's own group: the folder is 0770, its files 0640.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import replace
from logging import Logger
from pathlib import Path
from typing import NoReturn

from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeError
from nbgrader.exchange.default import ExchangeSubmit
from nbgrader.utils import ignore_patterns
from traitlets import Bool
from traitlets.config import Config

from course.exchange.copying import copy_private, make_private, open_to_group, remove, walk, write_synced
from course.exchange.deadlines import how_late
from course.exchange.due import read_deadline
from course.exchange.handed_in.again import ConfirmationNeeded, Unchanged, by_choice, question, unchanged
from course.exchange.handed_in.choice import read_choice
from course.exchange.handed_in.content import Digests
from course.exchange.handed_in.summary import summary
from course.exchange.limits import MAX_FOLDER, MAX_NOTEBOOK, NOTEBOOKS, megabytes, notebook_too_large
from course.exchange.names import SECRET, TIMESTAMP, hidden, receipt_of
from course.exchange.own import OwnFeedback, OwnList
from course.exchange.receipts import Receipt, Receipts
from course.lab_archive import ARCHIVE

NOTHING = "Nothing was handed in; your files are as they were."
REPLACED = (
    "You had handed in in time before. The last one counts, which is this late one. If you do not want that, tell your "
    "instructor."
)
WHY = {
    errno.ENOSPC: "no space is left",
    errno.EDQUOT: "your quota is used up",
    errno.EFBIG: "a file is larger than it may be",
    errno.EROFS: "it is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
}


def hand_in_privately(c: Config, root: Path | str) -> None:
    """Set `c` so that students of the courses with the exchange at `root` hand in by `PrivateSubmit`."""
    c.Exchange.root = str(root)
    c.Exchange.path_includes_course = True
    use_receipts(c)


def use_receipts(c: Config) -> None:
    """Set `c` so that what is handed in is private, has a receipt, and is as large as it may be."""
    c.ExchangeFactory.submit = PrivateSubmit
    c.ExchangeFactory.list = OwnList
    c.ExchangeFactory.fetch_feedback = OwnFeedback
    c.CourseDirectory.max_dir_size = c.CourseDirectory.max_file_size = MAX_FOLDER // 1000  # nbgrader counts kB


class PrivateSubmit(ExchangeSubmit):
    """nbgrader's submit with its own way of copying, and messages that say what to do.

    Raises Unchanged where nothing has changed since the last hand-in, and ConfirmationNeeded where this one would be
    late and replace one that was in time or is graded, or would not count; then nothing is handed in.
    """

    confirmed = Bool(False, help="Whether to hand in what would be late and replace something, or not count").tag(
        config=True
    )

    def ensure_root(self) -> None:
        """Check that there is an exchange, and that it is not read-only."""
        if not os.path.isdir(self.root):
            self.refuse(f"There is no exchange at {self.root}. Tell your instructor.")
        if os.statvfs(self.root).f_flag & os.ST_RDONLY:
            self.refuse(f"The exchange at {self.root} is read-only now. Tell your instructor, and hand in again later.")
        super().ensure_root()

    def init_src(self) -> None:
        """Find the student's folder; the assignment must be released."""
        course, assignment = self.coursedir.course_id, os.path.basename(os.path.normpath(self.coursedir.assignment_id))
        place = Path(self.root, course)
        if not course:
            self.refuse("No course is named. Name it: nbgrader submit ASSIGNMENT --course COURSE")
        if not place.is_dir():
            self.refuse(f"There is no course `{course}` in the exchange at {self.root}. Look at its name, --course.")
        if not (place / "outbound" / assignment).is_dir():
            released = sorted(path.name for path in place.glob("outbound/[!.]*"))
            self.refuse(
                f"`{assignment}` is not released in `{course}`, or not any more. "
                f"Released: {', '.join(released) or 'nothing'}. If it should be there, ask your instructor."
            )
        super().init_src()

    def init_dest(self) -> None:
        """Choose the submission's name, different from that of another one in the same second."""
        inbound = Path(self.root, self.coursedir.course_id, "inbound")
        if not os.access(inbound, os.W_OK | os.X_OK):
            self.refuse(
                f"You may not hand in to `{self.coursedir.course_id}`: no permission for {inbound}. "
                "Tell your instructor."
            )
        super().init_dest()

    def copy_files(self) -> None:
        """Copy the assignment to the exchange, and keep a receipt."""
        self.init_release()
        self.check_filename_diff()
        with self.explained(Path(self.inbound_path)):
            if reason := too_large(Path(self.src_path), self.coursedir):
                self.refuse(reason)
        self.receipts = Receipts(self, self.coursedir.course_id)
        self.receipts.clear()
        if self.receipts.trouble:
            self.log.warning("Receipts cannot be kept in the exchange: %s. Tell your instructor", self.receipts.trouble)
        course, assignment = self.coursedir.course_id, self.coursedir.assignment_id
        self.chosen = read_choice(self.root, course, assignment, self.receipts.student)
        self.deadline = read_deadline(self.root, course, assignment, self.receipts.student)
        self.digests = Digests()
        self.refuse_what_is_to_be_asked()
        receipt, note, alive = self.reserve()
        try:
            receipt = replace(receipt, content=self.hand_in(receipt))
        except BaseException:
            if not Path(self.inbound_path, receipt.work).is_dir():
                remove(note)
            raise
        finally:
            os.close(alive)
        self.receipts.issue(note, receipt)
        self.log.info("Submitted as: %s %s %s", course, assignment, self.timestamp)
        self.tell(Path(self.inbound_path, receipt.work))

    def refuse_what_is_to_be_asked(self) -> None:
        """Raise Unchanged or ConfirmationNeeded, if that is so."""
        lab = self.coursedir.assignment_id
        with self.explained(Path(self.inbound_path)):
            now = self.digests.of_folder(Path(self.src_path), self.ignored(quiet=True))
        try:
            if said := unchanged(self.receipts, lab, now, self.chosen):
                raise Unchanged(said)
            asked = question(self.receipts, lab, self.timestamp, self.deadline, self.chosen)
            if asked and not self.confirmed:
                raise ConfirmationNeeded(asked, NOTHING)
        except ExchangeError as error:
            self.log.error("%s", error)
            raise

    def reserve(self) -> tuple[Receipt, Path, int]:
        """Choose when this is handed in, which is no other hand-in's time.

        Returns the receipt, its note in the exchange, or else in the home, and the open file of `Receipts.note`.
        """
        notebooks = tuple(path.name for path in Path(self.release_path).glob("*.ipynb"))
        reasons = []
        for place in self.receipts.places:
            try:
                while True:
                    self.set_timestamp()
                    super().init_dest()
                    name = receipt_of(self.assignment_filename) if self.add_random_string else self.assignment_filename
                    receipt = Receipt(name, secrets.token_hex(64), notebooks, self.assignment_filename)
                    if noted := self.receipts.note(place, receipt):
                        return receipt, *noted
                    time.sleep(0.05)
            except OSError as error:
                reasons.append(f"into {place}: {why(error)}")
        known = f"{self.receipts.trouble}. " if self.receipts.trouble else ""
        self.refuse(f"The receipt cannot be put {', nor '.join(reasons)}. {known}Tell your instructor.")

    def hand_in(self, receipt: Receipt) -> str:
        """Make a copy under a hidden name, and rename it when it is complete; or leave none. Returns its digest."""
        dest = Path(self.inbound_path, receipt.work)
        sent = dest.with_name(hidden(dest.name))
        self.log.info("Source: %s", self.src_path)
        self.log.info("Destination: %s", dest)
        try:
            with self.explained(dest.parent):
                make_private(sent)
                if sent.stat().st_gid != dest.parent.stat().st_gid:
                    self.refuse(f"{dest.parent} is not prepared for handing in. Tell your instructor.")
                copy_private(Path(self.src_path), sent, self.ignored(), self.left_out)
                content = self.digests.of_folder(sent)
                write_synced(sent / TIMESTAMP, self.timestamp)
                write_synced(sent / SECRET, receipt.secret)
                open_to_group(sent)
                sent.rename(dest)
        finally:
            remove(sent)
        return content

    def ignored(self, quiet: bool = False) -> ignore_patterns:
        """What is left out, as `shutil.copytree` takes it. quiet: it is not told."""
        return not_handed_in(self.coursedir, None if quiet else self.log)

    def left_out(self, path: Path, reason: str) -> None:
        """Warn of what is not handed in."""
        self.log.warning("%s is not handed in: %s", path, reason)

    def tell(self, submission: Path) -> None:
        """Say what the student should know of this submission: what is in it, how late it is, and which one counts."""
        assignment, deadline = self.coursedir.assignment_id, self.deadline
        before = [name.when for name in self.receipts.of(assignment).values() if name.time != self.timestamp]
        with contextlib.suppress(OSError):
            self.log.info("%s", summary(submission, assignment))
        if late := how_late(self.timestamp, deadline):
            self.log.warning("It is late: handed in %s after the deadline, %s UTC.", late, deadline)
            if before and min(before) <= deadline and not self.chosen:
                self.log.warning("%s", REPLACED)
        elif deadline:
            self.log.info("It is in time: your deadline is %s UTC.", deadline)
        if before:
            counts = by_choice(self.chosen) or "The last one counts, which is this one."
            self.log.info("You have handed in %d times now. %s", len(before) + 1, counts)

    @contextlib.contextmanager
    def explained(self, place: Path) -> Iterator[None]:
        """Turn an OSError in this block into a message that says what went wrong, where, and what to do."""
        try:
            yield
        except OSError as error:
            file = str(error.filename or "")
            if Path(file).is_relative_to(self.src_path):
                self.refuse(f"{file} cannot be read: {why(error)}. Mend it, or move it away; then hand in again.")
            named = f" ({file})" if file else ""
            self.refuse(
                f"It cannot be put into {place}: {why(error)}{named}. Tell your instructor, and hand in again later."
            )

    def refuse(self, message: str) -> NoReturn:
        """`self.fail`, without the cause of the error, whose traceback the Assignment List would show."""
        try:
            self.fail(f"{message} {NOTHING}")
        except ExchangeError as error:
            raise error from None


def why(error: OSError) -> str:
    """What went wrong."""
    return WHY.get(error.errno, error.strerror or str(error))


def not_handed_in(rules: CourseDirectory, log: Logger | None = None, sizes: bool = True) -> ignore_patterns:
    """What is left out of a lab's folder, as `shutil.copytree` takes it: what nbgrader leaves out, and the archive,
    which is no student's work.

    log: tells of files that are left out as too large. sizes: whether those are left out.
    """
    ignored = [*rules.ignore, ARCHIVE]
    return ignore_patterns(ignored, rules.include, rules.max_file_size if sizes else None, log)


def too_large(folder: Path, rules: CourseDirectory) -> str:
    """Why a lab's folder is too large to be handed in, and what to do; empty if it is not. Raises OSError.

    Of links, what they lead to counts, except for files that nbgrader leaves out as too large.
    """
    limit, file_limit, sizes = 1000 * rules.max_dir_size, 1000 * rules.max_file_size, {}
    for here, _, files in walk(folder, not_handed_in(rules, sizes=False), lambda *_: None):
        for path in (here / name for name in files if (here / name).is_file()):
            if path.name.lower().endswith(NOTEBOOKS) and (
                reason := notebook_too_large(path, min(MAX_NOTEBOOK, file_limit))
            ):
                return reason
            if not path.is_symlink() or path.stat().st_size <= file_limit:
                sizes[path] = path.stat().st_size
    if sum(sizes.values()) <= limit:
        return ""
    largest = max(sizes, key=lambda path: sizes[path])
    return (
        f"{folder} has {megabytes(sum(sizes.values()))}, and a lab that is handed in has {megabytes(limit)} at most. "
        f"Take large files away; the largest is {largest.relative_to(folder)}, {megabytes(sizes[largest])}."
    )
