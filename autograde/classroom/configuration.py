"""Configures nbgrader to grade with our steps. A course's nbgrader_config.py calls `configure`."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path

from nbgrader.apps.baseapp import NbGrader
from nbgrader.converters import GenerateAssignment
from nbgrader.preprocessors import AssignLatePenalties, CheckCellMetadata, SaveCells
from traitlets.config import Config

from autograde.classroom.gradebook.engine import keep_engines
from autograde.classroom.gradebook.kept_cells import KeepCells
from autograde.classroom.nbgrader_steps import Judge, Rebuild, SaveGrades, SubmissionExporter
from autograde.classroom.release.from_source import ReleaseFromSource
from autograde.classroom.submissions.collecting import PlainCollect
from autograde.classroom.texts.formulas import code_to_html, markdown_to_html, without_mathjax
from autograde.labs.places import CLASS, LABS, SOURCE
from course.exchange.submit import use_receipts
from course.exchange.validation.validating import validate_as_graded
from course.lab_choice import FILE

# By its path: its module reads a configuration.
RELEASE_FEEDBACK = "autograde.classroom.feedback_release.ReleaseFeedback"


def configure(c: Config, root: Path | str) -> None:
    """Set `c` so that nbgrader works on the course at `root`, in its `labs/` and `class/`, and uses our steps."""
    keep_engines()
    root = Path(root).resolve()
    c.CourseDirectory.root = str(root)
    c.CourseDirectory.source_directory = SOURCE
    c.CourseDirectory.release_directory = LABS
    c.CourseDirectory.submitted_directory = f"{CLASS}/submitted"
    c.CourseDirectory.autograded_directory = f"{CLASS}/autograded"
    c.CourseDirectory.feedback_directory = f"{CLASS}/feedback"
    c.CourseDirectory.db_url = f"sqlite:///{root}/{CLASS}/gradebook.db"
    c.Autograde.exporter_class = SubmissionExporter
    c.Autograde.sanitize_preprocessors = [Rebuild]
    c.Autograde.autograde_preprocessors = [Judge, SaveGrades, AssignLatePenalties, CheckCellMetadata]
    steps = GenerateAssignment.preprocessors.default_args[0]
    c.GenerateAssignment.preprocessors = [KeepCells if step is SaveCells else step for step in steps]
    c.Rebuild.root = str(root)
    validate_as_graded(c)
    # Feedback and the formgrader ask no other host.
    c.HTMLExporter.template_file = str(Path(__file__).parent / "templates" / "offline.html.j2")
    c.HTMLExporter.filters = {
        "markdown2html": markdown_to_html,
        "highlight_code": code_to_html,
        "without_mathjax": without_mathjax,
    }
    use_receipts(c)
    c.ExchangeFactory.collect = PlainCollect
    c.ExchangeFactory.release_assignment = ReleaseFromSource
    c.ExchangeFactory.release_feedback = RELEASE_FEEDBACK
    with contextlib.suppress(OSError):  # people without write access may look at a course
        make_class_folder(root)
    if shutil.which("alembic") is None:  # nbgrader starts it by name, even if our environment is not activated
        os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def make_class_folder(root: Path) -> None:
    """Create the gradebook's folder, ignored by git, in a course that has labs to grade."""
    if ((root / "solutions").is_dir() or (root / FILE).is_file()) and not (root / CLASS / ".gitignore").exists():
        (root / CLASS).mkdir(mode=0o700, exist_ok=True)
        (root / CLASS / ".gitignore").write_text("*\n")


def configuration(root: Path) -> Config:
    """Our configuration, overridden by what nbgrader finds in the course's folder and in Jupyter's."""
    config = Config()
    config.CourseDirectory.course_id = "lockstep"
    configure(config, root)
    app = NbGrader()
    with contextlib.chdir(root):
        app.initialize(["--log-level=ERROR"])
    config.merge(app.config)
    return config


def is_ours(config: Config) -> bool:
    """Whether submissions are rebuilt and judged, not executed; a course's own configuration may undo that."""
    steps = config.Autograde
    return Rebuild in steps.sanitize_preprocessors and Judge in steps.autograde_preprocessors
