"""Submission that is atomic, and that only the student and the course's grader can read.

nbgrader protects submissions by a random name: whoever learns it can read and change the work. Here permissions protect
them. `inbound` is setgid, so what students make in it gets the grader's own group: the folder is 0770, its files 0640.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import glob
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from nbgrader.exchange import ExchangeError
from nbgrader.exchange.default import ExchangeSubmit
from nbgrader.utils import ignore_patterns
from traitlets.config import Config

from course.exchange.copying import copy_private, make_private, open_to_group, sync
from course.exchange.deadlines import DatedList, how_late, reader
from course.exchange.due import read_deadline
from course.exchange.names import HIDDEN, SECRET, TIMESTAMP, hidden, own_copy, shown

NOTHING = "Nothing was handed in; your files are as they were."
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
    c.ExchangeFactory.submit = PrivateSubmit
    c.ExchangeFactory.list = DatedList


class PrivateSubmit(ExchangeSubmit):
    """nbgrader's submit with its own way of copying, and messages that say what to do."""

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
        while self.own_copy(self.assignment_filename).exists():
            time.sleep(0.05)
            self.set_timestamp()
            super().init_dest()

    def copy_files(self) -> None:
        """Copy the assignment to the student's own cache, and from there to the exchange."""
        self.init_release()
        self.check_filename_diff()
        self.check_size()
        inbound, cache = Path(self.inbound_path), Path(self.cache_path)
        with (
            self.explained(cache, "Delete files that you do not need, or mend it; then hand in again."),
            only_one(cache),
        ):
            self.settle(inbound, cache)
            self.hand_in(inbound / self.assignment_filename, cache)
        self.log.info("Submitted as: %s %s %s", self.coursedir.course_id, self.coursedir.assignment_id, self.timestamp)
        self.tell()

    def hand_in(self, dest: Path, cache: Path) -> None:
        """Make both copies under hidden names, and rename them when they are complete; or leave none."""
        copy, sent = cache / hidden(dest.name), dest.with_name(hidden(dest.name))
        self.log.info("Source: %s", self.src_path)
        self.log.info("Destination: %s", dest)
        try:
            make_private(copy)
            copy_private(Path(self.src_path), copy, self.ignored(), self.left_out)
            (copy / TIMESTAMP).write_text(self.timestamp)
            (copy / SECRET).write_text(secrets.token_hex(64))
            with self.explained(dest.parent, "Tell your instructor, and hand in again later."):
                make_private(sent)
                if sent.stat().st_gid != dest.parent.stat().st_gid:
                    self.refuse(f"{dest.parent} is not prepared for handing in. Tell your instructor.")
                copy_private(copy, sent, lambda *_: (), self.left_out)
                open_to_group(sent)
                sent.rename(dest)
        finally:
            self.settle(dest.parent, cache)

    def settle(self, inbound: Path, cache: Path) -> None:
        """Finish submissions that ended, even by a kill: keep those that reached the exchange, remove all others."""
        for copy in cache.glob(HIDDEN):
            name = shown(copy.name)
            if (inbound / name).is_dir():
                with contextlib.suppress(OSError):
                    sync(inbound / name)
                copy.rename(self.own_copy(name))
            else:
                shutil.rmtree(inbound / copy.name, ignore_errors=True)
                shutil.rmtree(copy, ignore_errors=True)

    def own_copy(self, name: str) -> Path:
        """The student's own copy of what the exchange calls `name`."""
        return Path(self.cache_path, own_copy(name) if self.add_random_string else name)

    def ignored(self) -> ignore_patterns:
        """What nbgrader leaves out, as `shutil.copytree` takes it."""
        rules = self.coursedir
        return ignore_patterns(rules.ignore, rules.include, rules.max_file_size, self.log)

    def check_size(self) -> None:
        """Refuse folders that nbgrader would refuse, or would hand in without a notebook that is too large."""
        limit = self.coursedir.max_dir_size
        if (size := self.get_size(self.src_path)) > 1000 * limit:
            self.refuse(
                f"{self.src_path} has {size} bytes, and {1000 * limit} may be handed in. Take large files away."
            )
        for notebook in Path(self.src_path).glob("*.ipynb"):
            if notebook.is_file() and notebook.stat().st_size > 1000 * self.coursedir.max_file_size:
                self.refuse(f"{notebook} is too large to be handed in. Clear its outputs, save it, then hand in again.")

    def left_out(self, path: Path, reason: str) -> None:
        """Warn of what is not handed in."""
        self.log.warning("%s is not handed in: %s", path, reason)

    def tell(self) -> None:
        """Say what the student should know of this submission: how late it is, and that only the last counts."""
        course, assignment = self.coursedir.course_id, self.coursedir.assignment_id
        deadline = read_deadline(self.root, course, assignment, reader(self.coursedir))
        if late := how_late(self.timestamp, deadline):
            self.log.warning("It is late: handed in %s after the deadline, %s UTC.", late, deadline)
        elif deadline:
            self.log.info("It is in time: your deadline is %s UTC.", deadline)
        times = list(Path(self.cache_path).glob(f"[!.]*+{glob.escape(assignment)}+*"))
        if len(times) > 1:
            self.log.info("You have handed in %d times now. The last one counts, which is this one.", len(times))

    @contextlib.contextmanager
    def explained(self, place: Path, next_step: str) -> Iterator[None]:
        """Turn an OSError in this block into a message that says what went wrong, where, and what to do."""
        try:
            yield
        except OSError as error:
            why = WHY.get(error.errno, error.strerror or str(error))
            file = f" ({error.filename})" if error.filename else ""
            self.refuse(f"It cannot be put into {place}: {why}{file}. {next_step}")

    def refuse(self, message: str) -> NoReturn:
        """`self.fail`, without the cause of the error, whose traceback the Assignment List would show."""
        try:
            self.fail(f"{message} {NOTHING}")
        except ExchangeError as error:
            raise error from None


@contextlib.contextmanager
def only_one(cache: Path) -> Iterator[None]:
    """Make a student's cache, private as it holds the secrets that name feedback, and lock it during this block."""
    cache.mkdir(parents=True, exist_ok=True)
    cache.chmod(0o700)
    with open(cache / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
