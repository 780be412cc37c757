"""nbgrader as a library, one student at a time, so that what stops one submission does not stop the next.

nbgrader's converters take students by glob pattern, and stop at the first failure of some kinds. Here each takes
exactly one folder, whatever characters its name has, and says in one line why it failed.
"""

from __future__ import annotations

import contextlib
import copy
import glob
import logging
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.apps.baseapp import NbGrader
from nbgrader.auth import Authenticator
from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback
from nbgrader.converters.base import BaseConverter
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeFactory
from nbgrader.exchange.default import Exchange
from nbgrader.utils import find_all_files, parse_utc
from sqlalchemy.exc import SAWarning
from traitlets.config import Config

from autograde.nbgrader_steps import CLASS, Judge, Rebuild, configure, make_class_folder
from autograde.rebuild import quoted
from autograde.submitted import MAX_FILE, refusal


class StepFailed(Exception):
    """An nbgrader step did not work. The message is one line."""


class Heard(logging.Handler):
    """Keeps what nbgrader logs: warnings, and the exception behind the first error.

    nbgrader logs tracebacks as text while it handles the exception; at that moment the exception itself is at hand.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.error: BaseException | None = None
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Take one message."""
        if record.levelno >= logging.ERROR and self.error is None:
            self.error = sys.exc_info()[1]
        self.lines.append(" ".join(record.getMessage().split()))


class OneStudent:
    """Mixed into a converter: it works on the folder of `student` and nothing else; the notebook need not be there."""

    student: str

    def init_notebooks(self) -> None:
        """What nbgrader finds by glob."""
        assignment = self.coursedir.assignment_id
        folder = self._format_source(assignment, self.student)
        self.assignments = {folder: [os.path.join(folder, f"{assignment}.ipynb")]}


class PlainFiles(BaseConverter):
    """Copies what lies beside the notebook as nbgrader does, but follows no link out of the submission.

    nbgrader would put a copy of whatever a link leads to (the gradebook, the solution) into the autograded folder, and
    from there into the student's feedback. It comes after Autograde, which calls it for just this.
    """

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """In place of nbgrader's copying. What is left out is named in the log."""
        source, dest = (Path(step(assignment_id, student_id)) for step in (self._format_source, self._format_dest))
        if source.is_symlink() or source.parent.is_symlink():
            self.log.warning("%s: nothing is copied: it is a symbolic link", source)
            return
        for path in map(Path, find_all_files(str(source), self.coursedir.ignore)):
            if path.suffix == ".ipynb":
                continue
            name = path.relative_to(source)
            if reason := refusal(path, MAX_FILE):
                self.log.warning("%s is left out: %s", quoted(str(name)), reason)
                continue
            (dest / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, dest / name)


class AutogradeOne(OneStudent, Autograde, PlainFiles):
    """Grades one submission."""

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """As in nbgrader, but a notebook that was copied as if it were data goes: it is, where the id is a glob."""
        super().init_assignment(assignment_id, student_id)
        for notebook in Path(self._format_dest(assignment_id, student_id)).rglob("*.ipynb"):
            notebook.unlink()


class FeedbackOne(OneStudent, GenerateFeedback):
    """Writes one student's feedback."""


class Course:
    """nbgrader, configured for the course at `root`. Raises StepFailed if a configuration undoes our way of grading."""

    def __init__(self, root: Path) -> None:
        self.root = root
        make_class_folder(root)
        self.config = configuration(root)
        steps = self.config.Autograde
        if Rebuild not in steps.sanitize_preprocessors or Judge not in steps.autograde_preprocessors:
            raise StepFailed(
                "an nbgrader_config.py takes Rebuild or Judge out of Autograde: submissions would be executed"
            )
        self.directory = CourseDirectory(config=self.config)

    def gradebook(self) -> Gradebook:
        """The open gradebook, a context manager."""
        return Gradebook(self.directory.db_url, self.directory.course_id)

    def folder(self, step: str, student: str, lab: str) -> Path:
        """The folder of one submission in a step: "submitted", "autograded" or "feedback"."""
        return Path(self.directory.format_path(getattr(self.directory, f"{step}_directory"), student, lab))

    def enrol(self, students: Mapping[str, str]) -> None:
        """Put students into the gradebook that are not in it, by their ids, with names; without one the id is shown."""
        with self.gradebook() as gradebook:
            known = {student.id for student in gradebook.students}
            for student, name in students.items():
                if student not in known:
                    first, _, last = (name or student).rpartition(" ")
                    gradebook.add_student(student, first_name=first, last_name=last)

    def knows(self, lab: str) -> bool:
        """Whether the lab is in the gradebook, with cells."""
        with self.gradebook() as gradebook:
            return any(one.name == lab and one.notebooks for one in gradebook.assignments)

    def register(self, lab: str) -> None:
        """Put the lab's cells and points into the gradebook. Raises StepFailed."""
        with changed(self.directory, assignment_id=lab, release_directory="build/release"):  # labs/ stays as it is
            self._start(GenerateAssignment, self.config, force=True)

    def autograde(self, lab: str, student: str, prepared: dict) -> list[str]:
        """Grade a submission that was examined before. Returns nbgrader's warnings. Raises StepFailed."""
        config = copy.deepcopy(self.config)
        config.Judge.prepared = prepared
        with changed(self.directory, assignment_id=lab):
            return self._start(AutogradeOne, config, student=student, force=True)

    def feedback(self, lab: str, student: str) -> None:
        """Write a graded submission's feedback. Raises StepFailed."""
        config = copy.deepcopy(self.config)
        config.HTMLExporter.template_name = "feedback"
        with changed(self.directory, assignment_id=lab):
            self._start(FeedbackOne, config, student=student, force=True)

    def collect(self, lab: str) -> tuple[list[str], list[str]]:
        """Fetch what was handed in since the last time. Returns what to say, and what went wrong, one line each."""
        factory = ExchangeFactory(config=self.config)
        exchange = Path(Exchange(config=self.config).root)
        place, here = exchange / self.directory.course_id / "inbound", f"what is in {CLASS}/submitted is graded"
        if not place.is_dir():
            missing = f"course `{self.directory.course_id}` in the exchange" if exchange.is_dir() else "exchange"
            return [f"no {missing} at {exchange}: nothing is collected; {here}"], []
        try:
            names = sorted(os.listdir(place))
        except OSError as error:
            return [], [f"the exchange cannot be read: {describe(error)}; {here}"]
        students, failed = inbound(names, lab)
        warned = []
        for student in students:
            folder = self.folder("submitted", student, lab)
            before = state(folder)
            try:
                with changed(self.directory, assignment_id=lab, student_id=exactly(student)):
                    heard = self._start(factory.collect, self.config, authenticator=Authenticator(), update=True)
                warned += map(printable, heard)
            except StepFailed as error:
                failed.append(f"{printable(student)}: not collected: {error}")
                if state(folder) != before:  # a copy that broke off would count as collected next time
                    shutil.rmtree(folder, ignore_errors=True)
        return [f"{len(students)} in the exchange", *warned], failed

    def _start(self, converter: Any, config: Config, **attributes: Any) -> list[str]:
        """Run one of nbgrader's steps. Returns its warnings. Raises StepFailed."""
        heard = Heard()
        log = logging.Logger("lockstep.grading", logging.WARNING)
        log.addHandler(heard)
        app = converter(coursedir=self.directory, config=config, log=log)
        for name, value in attributes.items():
            setattr(app, name, value)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SAWarning)  # of nbgrader's own, and harmless
                app.start()
        except (Exception, SystemExit) as error:
            raise StepFailed(describe(heard.error or error)) from error
        return heard.lines


def configuration(root: Path) -> Config:
    """Ours, and over it what nbgrader finds in the course's folder and in Jupyter's configuration folders."""
    config = Config()
    config.CourseDirectory.course_id = "lockstep"
    configure(config, root)
    app = NbGrader()
    with contextlib.chdir(root):
        app.initialize(["--log-level=ERROR"])
    config.merge(app.config)
    return config


def inbound(names: list[str], lab: str) -> tuple[list[str], list[str]]:
    """Students with submissions of `lab` among the exchange's folder names, and a line for each name that is none.

    nbgrader names them STUDENT+LAB+TIME+RANDOM. One name that it cannot read would stop it from collecting any.
    """
    students, unclear = set(), []
    for name in names:
        student, _, rest = name.rpartition(f"+{lab}+")
        if not student:
            continue
        try:
            when, *random = rest.split("+")
            parse_utc(when)
            if len(random) > 1 or ("+" in student and not random):  # nbgrader would take it for another student's
                raise ValueError
        except (ValueError, OverflowError):
            unclear.append(f"{printable(name)}: not collected: no submission's name ends like this")
        else:
            students.add(student)
    return sorted(students), unclear


def state(folder: Path) -> tuple[int, int] | None:
    """Changes when a folder is made anew, or something is put into it. None: there is no folder."""
    return (folder.stat().st_ino, folder.stat().st_ctime_ns) if folder.exists() else None


def exactly(student: str) -> str:
    """A glob pattern for this student id alone. nbgrader strips white space from its ends: there it is in brackets."""
    return re.sub(r"^\s+|\s+$", lambda space: "".join(f"[{char}]" for char in space[0]), glob.escape(student))


def unusable(student: str) -> str | None:
    """Why nbgrader cannot keep a student under this id, if so."""
    try:
        student.encode()
    except UnicodeEncodeError:
        return "the name of the folder is not UTF-8; rename it"
    if not student.isprintable():
        return "the name of the folder has a line break or another control character; rename it"
    return None


def printable(name: str) -> str:
    """A name on one line of a terminal, whatever it is made of."""
    return name if unusable(name) is None else ascii(name)


def describe(error: BaseException) -> str:
    """One line for what stopped a step."""
    if error.__context__ is not None and type(error).__name__ == "NbGraderException":
        error = error.__context__
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}{f': {error.filename}' if error.filename else ''}"
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]


@contextlib.contextmanager
def changed(target: Any, **values: Any) -> Iterator[None]:
    """Set attributes for a while."""
    before = {name: getattr(target, name) for name in values}
    try:
        for name, value in values.items():
            setattr(target, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(target, name, value)
