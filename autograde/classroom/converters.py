"""nbgrader's converters, each for one student at a time, and what they log."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from functools import cache, cached_property

from jinja2.bccache import Bucket, BytecodeCache
from nbconvert.exporters import Exporter
from nbconvert.writers import FilesWriter
from nbgrader.converters import Autograde, GenerateFeedback

from autograde.classroom.nbgrader_steps import Grading


class CapturedLog(logging.Handler):
    """Captures what nbgrader logs: warnings, and the exception behind the first error.

    nbgrader logs tracebacks as text, but while it handles the exception, so `sys.exc_info` has the exception itself.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.error: BaseException | None = None
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Capture one message."""
        if record.levelno >= logging.ERROR and self.error is None:
            self.error = sys.exc_info()[1]
        self.lines.append(" ".join(record.getMessage().split()))


class OneStudent:
    """Mixed into a converter: restricts it to the folder of `student`, where the notebook may be missing."""

    student: str

    def init_notebooks(self) -> None:
        """Set what nbgrader would find by glob."""
        assignment = self.coursedir.assignment_id
        folder = self._format_source(assignment, self.student)
        self.assignments = {folder: [os.path.join(folder, f"{assignment}.ipynb")]}


class AutogradeOne(OneStudent, Autograde):
    """Grades one submission that has been read and examined, in one conversion where nbgrader has two."""

    grading: Grading

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """Take the steps of both conversions, one after another."""
        self.exporter._preprocessors = []
        for step in [*self.sanitize_preprocessors, *self.autograde_preprocessors]:
            self.exporter.register_preprocessor(step)
        super(Autograde, self).convert_single_notebook(notebook_filename)


class CompiledTemplates(BytecodeCache):
    """Keeps what templates are compiled to in memory. Jinja compiles a template again whose text has changed."""

    def __init__(self) -> None:
        self._compiled: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket, if its template was compiled before."""
        if compiled := self._compiled.get(bucket.key):
            bucket.bytecode_from_string(compiled)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what is in the bucket."""
        self._compiled[bucket.key] = bucket.bytecode_to_string()


@cache
def compiled_templates() -> CompiledTemplates:
    """Those of this process: compiling the templates of feedback takes half a second."""
    return CompiledTemplates()


class FeedbackOne(OneStudent, GenerateFeedback):
    """Writes one student's feedback, and then another's: it reads the templates once."""

    @cached_property
    def ready(self) -> Exporter:
        """The exporter, with its steps."""
        exporter = self.exporter_class(parent=self, config=self.config)
        exporter.environment.bytecode_cache = compiled_templates()
        for step in self.preprocessors:
            exporter.register_preprocessor(step)
        return exporter

    def start(self) -> None:
        """What nbgrader's does, with the exporter that there is."""
        self.init_notebooks()
        self.writer = FilesWriter(parent=self, config=self.config)
        self.exporter = self.ready
        with contextlib.chdir(self.coursedir.root):
            self.convert_notebooks()


def new_log() -> logging.Logger:
    """A log of a step's own, for warnings."""
    return logging.Logger("lockstep.grading", logging.WARNING)
