"""Steps that replace those of nbgrader's Autograde, so that no submission is executed as a notebook.

nbgrader converts each submission twice: it sanitises what was handed in, then grades the sanitised notebook.

    sanitise:  SubmissionExporter -> Rebuild      what was handed in -> released notebook with the student's text in it
    grade:     SubmissionExporter -> Judge        probes in a sandbox, verdicts here, results as outputs of check cells
               -> SaveGrades -> AssignLatePenalties      as in nbgrader

`nbgrader autograde`, the formgrader's button and `lockstep grade` all use these steps; the last has already read and
examined the submission, and takes all steps in one conversion.
"""

from __future__ import annotations

import copy
import glob
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbformat.v4 import new_notebook, new_output
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades
from traitlets import Bool, Dict, Integer, TraitError, Unicode, validate

from autograde.classroom.gradebook.graded import KEY, Graded
from autograde.classroom.measure import measure_of, same
from autograde.classroom.submissions.elsewhere import MOST_COPIED, how_many
from autograde.classroom.submissions.rebuild import PROBLEMS, Rebuilt
from autograde.classroom.submissions.submission import Submission, read_submission, to_grade
from autograde.contract import show
from autograde.labs.folder import Lab, LabError, LoadedLab, find_lab, load_lab
from autograde.labs.places import SOURCE
from autograde.labs.questions import read_questions
from autograde.making.build import release
from autograde.sandbox.examine import Examined, Marked, examine
from autograde.sandbox.pool import Sandboxes
from autograde.sandbox.resources.limits import Limits, Settings
from autograde.slurm.record_policy import Policy, RecordResult, with_record
from course.exchange.limits import MAX_FOLDER
from course.exchange.names import TIMESTAMP
from course.files import refusal
from course.notebook_file import new_cell


@dataclass
class Grading:
    """What is known of the submission that is graded.

    examined: None if it is still to be examined. unknown: check cells without a score.
    """

    lab: LoadedLab
    submission: Submission
    examined: Examined | None = None
    unknown: list[str] = field(default_factory=list)


class SubmissionExporter(NotebookExporter):
    """Leaves reading what was handed in to `Rebuild`, as it may be missing, or no notebook.

    grading: of the submission that is converted; `Rebuild` sets it, and the steps after it use it, also in the second
    conversion.
    """

    grading: Grading

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(*args, **kw)
        for folder in map(Path, self.parent.assignments):
            self.leave_out(folder)

    def leave_out(self, folder: Path) -> None:
        """Make nbgrader ignore notebooks, and what it must not open, such as links out of the submission.

        Else it would copy what a link leads to (the gradebook, the solution) into the autograded folder, and from there
        into the student's feedback. nbgrader ignores patterns; here each pattern matches one path.
        """
        here, refused = glob.escape(str(folder)), []
        if folder.is_symlink() or folder.parent.is_symlink():
            self.log.warning("%s: nothing is copied: it is a symbolic link", folder)
            refused.append(folder)
        elif how_many(folder) > MOST_COPIED:  # the problem is told with the submission's others
            self.log.warning("%s: nothing is copied: there are too many files", folder)
            refused.append(folder)
        for path in folder.rglob("*") if not refused else []:
            if path.suffix == ".ipynb":
                if glob.escape(str(path.parent)) != str(path.parent):  # there nbgrader's own "*.ipynb" matches nothing
                    refused.append(path)
            elif not path.is_dir() and (reason := left_out(path)):
                self.log.warning("%s is left out: %s", show.quoted(str(path.relative_to(folder))), reason)
                refused.append(path)
        others = [pattern for pattern in self.parent.coursedir.ignore if not pattern.startswith(here)]
        self.parent.coursedir.ignore = [*others, *(glob.escape(str(path)) for path in refused)]

    def from_filename(self, filename: str, resources: dict | None = None, **kw: Any) -> tuple[str, dict]:
        """Convert the file called `filename`; to sanitise, whatever it contains."""
        if not self.parent._sanitizing:
            return super().from_filename(filename, resources, **kw)
        path = Path(filename)
        resources = {} if resources is None else resources
        resources["metadata"] = {"name": path.stem, "path": str(path.parent)}
        self.copy_time(path.parent, resources["nbgrader"])
        return self.from_notebook_node(new_notebook(), resources=resources, **kw)

    def copy_time(self, folder: Path, about: dict) -> None:
        """Copy when it was handed in, if nothing of its folder was."""
        time, copied = (
            Path(place, TIMESTAMP)
            for place in (folder, self.parent._format_dest(about["assignment"], about["student"]))
        )
        if time != copied and not copied.exists() and time.exists() and left_out(time) is None:
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(time, copied)

    @property
    def handed_over(self) -> Grading | None:
        """What `lockstep grade` knows of the submission; None for nbgrader's own commands."""
        return getattr(self.parent, "grading", None)


def left_out(path: Path) -> str | None:
    """Why a file beside the notebook is not copied; None if it is."""
    try:
        return refusal(path, MAX_FOLDER)
    except OSError as error:
        return error.strerror


class Rebuild(NbGraderPreprocessor):
    """Sanitises: builds the notebook to grade from the released one and what was handed in."""

    root = Unicode(help="The course's folder").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Replace `nb`, which is empty. The submission's problems go into a cell at the top. Raises LabError if the
        assignment is no lab."""
        self.parent.grading = grading = self.parent.handed_over or self.read(resources)
        for problem in grading.submission.rebuilt.problems:
            self.log.warning("%s: %s", resources["nbgrader"]["student"], problem)
        return with_problems(grading.submission.rebuilt), resources

    def read(self, resources: dict) -> Grading:
        """Read the submission. Raises LabError."""
        root, folder = Path(self.root), Path(resources["metadata"]["path"])
        lab = load_lab(find_lab(root, resources["nbgrader"]["assignment"]))
        handed_in = read_submission(folder / lab.notebook)
        return Grading(lab, to_grade(lab, folder, handed_in, released_notebook(root, lab)))


def released_notebook(root: Path, lab: Lab) -> NotebookNode:
    """The notebook of `lab` as students got it, from the instructor's. Raises LabError if that is not built."""
    path = root / SOURCE / lab.name / lab.notebook
    try:
        return release(nbformat.read(path, as_version=4))
    except OSError as error:
        raise LabError(f"{path} is not there; run `lockstep build {lab.name}`") from error


def with_problems(rebuilt: Rebuilt) -> NotebookNode:
    """The rebuilt notebook, with its problems in a cell at the top."""
    notebook, problems = copy.deepcopy(rebuilt.notebook), rebuilt.problems
    if problems:
        listed = "\n".join(f"* {problem}" for problem in problems)
        text = f"**What was not as it should be in the submission**\n\n{listed}"
        notebook.cells.insert(0, new_cell("markdown", text, PROBLEMS, {}))
    return notebook


class Judge(NbGraderPreprocessor):
    """Grades: each check cell gets its result as output, and its score as value, for partial credit."""

    seed = Integer(None, allow_none=True, help="Seed of the cases; None: a fresh one for each submission").tag(
        config=True
    )
    limits = Dict(help="Limits of a submission that are not to be those of autograde.sandbox.resources.limits").tag(
        config=True
    )
    sandboxed = Bool(True, help="Whether student code runs in a sandbox. False: as you, unprotected").tag(config=True)
    records = Bool(
        None, allow_none=True, help="Whether a record of a run in batch must be there; None: where there is Slurm"
    ).tag(config=True)
    accounts = Dict(help="Account on the cluster by student's id, of those whose account has another name").tag(
        config=True
    )

    @validate("limits")
    def _known_and_possible(self, proposal: dict) -> dict:
        try:
            Limits(**proposal["value"])
        except (TypeError, ValueError) as error:
            raise TraitError(f"c.Judge.limits in nbgrader_config.py: {error}") from error
        return proposal["value"]

    @property
    def settings(self) -> Settings:
        """How submissions are examined, as configured."""
        return Settings(Limits(**self.limits), self.sandboxed, self.seed)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Put the results into the sanitised notebook."""
        grading: Grading = self.parent.grading
        lab, submission = grading.lab, grading.submission
        examined = grading.examined or examine_alone(lab, submission, self.settings)
        found = self.with_records(lab, submission, examined, resources["nbgrader"]["student"])
        by_cell = {f"{mark.todo}-check": (mark, record.remarks) for mark, record in found}
        numbers = read_questions(lab.folder)
        for cell in nb.cells:
            if cell.id in by_cell:
                cell.outputs = outputs(*by_cell[cell.id])
            elif cell.id in numbers and cell.cell_type == "code":
                said = numbers[cell.id].answer_to(cell.source)
                cell.outputs = [new_output("display_data", data=show.remark(said))]
        notes = Graded(
            problems=[*submission.rebuilt.problems, *(remark for _, record in found for remark in record.remarks)],
            manual=submission.rebuilt.manual,
            submission=submission.fingerprint,
            seed=examined.seed,
            seconds=examined.seconds,
            marked=[mark for mark, _ in found],
            jobs=sorted({record.job for _, record in found if record.job}),
            measured=measure_of(lab).value,
        )
        nb.metadata[KEY] = notes.plain()
        grading.unknown = [name for name, (mark, _) in by_cell.items() if mark.score is None]
        return nb, resources

    def with_records(
        self, lab: LoadedLab, submission: Submission, examined: Examined, student: str
    ) -> list[tuple[Marked, RecordResult]]:
        """The marks with the records of batch runs taken into account, and the results of checking these."""
        about = (lab.name, submission.record, submission.answers.sources, student, Policy(self.records, self.accounts))
        return [
            with_record(check, marked, *about) for check, marked in zip(lab.todo_checks, examined.marked, strict=True)
        ]


def examine_alone(lab: LoadedLab, submission: Submission, settings: Settings) -> Examined:
    """Examine one submission, in sandboxes of its own."""
    with Sandboxes(lab, settings.limits, sandboxed=settings.sandboxed) as sandboxes:
        return examine(lab, submission.answers, settings.draw_seed(), sandboxes)


def outputs(marked: Marked, remarks: tuple[str, ...] = ()) -> list[NotebookNode]:
    """The outputs of a check cell. Its value is the score, or 0 if that is not known; see SaveGrades."""
    if marked.result is not None:
        shown = {"text/html": show.html(marked.result), "text/plain": show.text(marked.result)}
    else:
        text = f"{marked.todo}: this could not be graded automatically, and waits for your instructor. {marked.reason}"
        shown = {"text/plain": text}
    score = {"text/plain": f"{marked.score or 0.0:g}"}
    notes = [new_output("display_data", data={"text/plain": remark}) for remark in remarks]
    return [new_output("display_data", data=shown), *notes, new_output("execute_result", data=score)]


class SaveGrades(SaveAutoGrades):
    """nbgrader's step, but it saves no 0 for an unknown score, and flags what a person must look at.

    A score by hand needs no other look where the same work has the same result again.
    """

    def _add_score(self, cell: NotebookNode, resources: dict) -> None:
        name, grading = cell.metadata.nbgrader["grade_id"], self.parent.grading
        grade = self.gradebook.find_grade(name, self.notebook_id, self.assignment_id, self.student_id)
        waited, before = grade.needs_manual_grade, grade.auto_score
        super()._add_score(cell, resources)
        if grading.submission.again and grade.manual_score is not None and same(grade.auto_score, before):
            grade.needs_manual_grade = waited  # a person has seen this very work, with this very result
            self.gradebook.db.commit()
        if not grading.submission.rebuilt.manual and name not in grading.unknown:
            return
        grade.needs_manual_grade = True
        if name in grading.unknown:
            grade.auto_score = None
        self.gradebook.db.commit()
