"""Runs nbgrader as a library, for one student at a time, so that one bad submission does not stop the others.

nbgrader's converters select students by glob pattern, and stop at the first failure of some kinds. Here each takes
exactly one folder, whatever characters its name contains, and says in one line why it failed.
"""

from __future__ import annotations

import contextlib
import copy
import glob
import re
import shutil
import warnings
from collections.abc import Collection, Iterator, Mapping
from datetime import tzinfo
from functools import cached_property
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.auth import Authenticator
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeFactory
from nbgrader.exchange.default import Exchange
from sqlalchemy.exc import SAWarning
from traitlets.config import Config

from autograde.classroom.configuration import configuration, is_ours, make_class_folder
from autograde.classroom.converters import AutogradeOne, CapturedLog, FeedbackOne, new_log
from autograde.classroom.errors import StepFailed, describe, printable
from autograde.classroom.gradebook.locked import wait_until_free
from autograde.classroom.gradebook.made import make_gradebook
from autograde.classroom.nbgrader_steps import Grading
from autograde.classroom.runs.progress import Reporter
from autograde.classroom.submissions.one_name import ids_to_nfc, rename_to_nfc
from autograde.classroom.submissions.submission import Submission
from autograde.classroom.submissions.times import course_zone
from autograde.labs.folder import LoadedLab
from autograde.labs.places import CLASS
from autograde.sandbox.examine import Examined
from course.exchange.handed_in.choice import read_choice
from course.exchange.handed_in.inbound import hand_ins, last_hand_ins, unclear
from course.exchange.names import UNCLEAR


class Course:
    """nbgrader, configured for the course at `root`. Raises StepFailed if a configuration removes our grading steps."""

    def __init__(self, root: Path) -> None:
        self.root = root
        make_class_folder(root)
        self.config = configuration(root)
        if not is_ours(self.config):
            raise StepFailed(
                "an nbgrader_config.py takes Rebuild or Judge out of Autograde: submissions would be executed"
            )
        self.directory = CourseDirectory(config=self.config)

    def wait_until_free(self) -> None:
        """Wait for another program that writes to the gradebook. Raises Locked."""
        wait_until_free(self.directory.db_url)

    def gradebook(self) -> Gradebook:
        """The open gradebook, a context manager."""
        make_gradebook(self.directory.db_url)
        return Gradebook(self.directory.db_url, self.directory.course_id)

    @property
    def zone(self) -> tzinfo:
        """The zone that nbgrader's `Exchange.timezone` names; where that is UTC, as it is if nobody sets it, this
        machine's."""
        name = Exchange(config=self.config).timezone
        return course_zone(None if name == "UTC" else name)

    def folder(self, step: str, student: str, lab: str) -> Path:
        """The folder of one submission after a step: "submitted", "autograded" or "feedback"."""
        return Path(self.directory.format_path(getattr(self.directory, f"{step}_directory"), student, lab))

    def in_one_form(self) -> list[str]:
        """Have each student's id in one form of Unicode, wherever it is kept. Returns what to say, a line each.

        Raises OSError.
        """
        steps = (self.directory.submitted_directory, self.directory.autograded_directory)
        said = [line for step in steps for line in rename_to_nfc(self.root / step)]
        with self.gradebook() as gradebook:
            return said + ids_to_nfc(gradebook)

    def enrol(self, students: Mapping[str, str]) -> None:
        """Add new students to the gradebook: names by id. Without a name, the id is shown."""
        with self.gradebook() as gradebook:
            known = {student.id for student in gradebook.students}
            for student, name in students.items():
                if student not in known:
                    first, _, last = (name or student).rpartition(" ")
                    gradebook.add_student(student, first_name=first, last_name=last)

    def forget(self, labs: Collection[str]) -> None:
        """Take labs out of the gradebook for which nobody has handed in anything."""
        with self.gradebook() as gradebook:
            for name in [each.name for each in gradebook.assignments if each.name in labs and not each.submissions]:
                gradebook.remove_assignment(name)

    def knows(self, lab: str) -> bool:
        """Whether the lab is in the gradebook, with cells."""
        with self.gradebook() as gradebook:
            return any(each.name == lab and each.notebooks for each in gradebook.assignments)

    def in_exchange(self, lab: str) -> set[str]:
        """Who has handed in `lab` through the exchange, as the names there say; nobody if it cannot be read."""
        return {*last_hand_ins(Path(Exchange(config=self.config).root, self.directory.course_id, "inbound"), lab)}

    def chosen(self, lab: str, student: str) -> str:
        """The time of the hand-in that counts by an instructor's choice; empty if the last one counts."""
        return read_choice(Exchange(config=self.config).root, self.directory.course_id, lab, student)

    def register(self, lab: str) -> list[str]:
        """Put the lab's cells and points into the gradebook. Returns nbgrader's warnings. Raises StepFailed."""
        with changed(self.directory, assignment_id=lab, release_directory="build/release"):  # labs/ stays as it is
            return self._start(GenerateAssignment, self.config, force=True)

    def autograde(self, lab: LoadedLab, student: str, submission: Submission, examined: Examined) -> list[str]:
        """Write an examined submission to the gradebook. Returns nbgrader's warnings. Raises StepFailed."""
        grading = Grading(lab, submission, examined)
        with changed(self.directory, assignment_id=lab.name, ignore=self.directory.ignore):
            return self._start(AutogradeOne, self.config, student=student, grading=grading, force=True)

    def feedback(self, lab: str, student: str) -> None:
        """Write a graded submission's feedback. Raises StepFailed."""
        with changed(self.directory, assignment_id=lab):
            self._run(self._feedback_writer, student=student)

    @cached_property
    def _feedback_writer(self) -> FeedbackOne:
        config = copy.deepcopy(self.config)
        config.HTMLExporter.template_name = "feedback"
        return FeedbackOne(coursedir=self.directory, config=config, log=new_log(), force=True)

    def collect(self, lab: str, run: Reporter, only: str = "") -> tuple[list[str], list[str]]:
        """Fetch what was handed in since the last time. Returns notices and errors, one line each.

        run: reports how far it is. only: by this student.
        """
        factory = ExchangeFactory(config=self.config)
        exchange = Path(Exchange(config=self.config).root)
        inbound, note = exchange / self.directory.course_id / "inbound", f"what is in {CLASS}/submitted is graded"
        if not inbound.is_dir():
            missing = f"course `{self.directory.course_id}` in the exchange" if exchange.is_dir() else "exchange"
            return [f"no {missing} at {exchange}: nothing is collected; {note}"], []
        try:
            students = sorted({each.name.student for each in hand_ins(inbound, lab)})
            failed = [f"{printable(path.name)}: not collected: {UNCLEAR}" for path in unclear(inbound, lab)]
        except OSError as error:
            return [], [f"the exchange cannot be read: {describe(error)}; {note}"]
        notices, collecting = [], factory.collect(coursedir=self.directory, config=self.config, log=new_log())
        chosen = sorted({only} & {*students}) if only else students
        for student in run.count("collecting", chosen):
            folder = self.folder("submitted", student, lab)
            before = state(folder)
            try:
                with changed(self.directory, assignment_id=lab, student_id=exactly(student)):
                    messages = self._run(collecting, authenticator=Authenticator(), update=True)
                notices += map(printable, messages)
            except StepFailed as error:
                failed.append(f"{printable(student)}: not collected: {error}")
                if state(folder) != before:  # an incomplete copy would count as collected next time
                    shutil.rmtree(folder, ignore_errors=True)
        return [f"{len(students)} in the exchange", *notices], failed

    def _start(self, converter: Any, config: Config, **attributes: Any) -> list[str]:
        """Make one of nbgrader's steps, and run it as `_run` does."""
        return self._run(converter(coursedir=self.directory, config=config, log=new_log()), **attributes)

    def _run(self, app: Any, **attributes: Any) -> list[str]:
        """Run one of nbgrader's steps. Returns its warnings. Raises StepFailed, Locked."""
        self.wait_until_free()
        make_gradebook(self.directory.db_url)
        captured = CapturedLog()
        app.log.addHandler(captured)
        for name, value in attributes.items():
            setattr(app, name, value)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SAWarning)  # harmless ones from nbgrader itself
                app.start()
        except (Exception, SystemExit) as error:
            raise StepFailed(describe(captured.error or error)) from error
        finally:
            app.log.removeHandler(captured)
        return captured.lines


def state(folder: Path) -> tuple[int, int] | None:
    """A value that changes when a folder is replaced or gets a new entry; None if there is no folder."""
    return (folder.stat().st_ino, folder.stat().st_ctime_ns) if folder.exists() else None


def exactly(student: str) -> str:
    """A glob pattern for exactly this id. White space at its ends is in brackets, as nbgrader would strip it."""
    return re.sub(r"^\s+|\s+$", lambda space: "".join(f"[{char}]" for char in space[0]), glob.escape(student))


@contextlib.contextmanager
def changed(target: Any, **values: Any) -> Iterator[None]:
    """In this block, attributes of `target` have these values."""
    before = {name: getattr(target, name) for name in values}
    try:
        for name, value in values.items():
            setattr(target, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(target, name, value)
