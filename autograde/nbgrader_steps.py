"""What nbgrader's Autograde is given in place of its own steps, so that no submission is executed as a notebook.

nbgrader converts each submission twice: it sanitises what was handed in, then grades the sanitised notebook.

    sanitise:  SubmissionExporter -> Rebuild      bytes -> released notebook with the student's text in it
    grade:     SubmissionExporter -> Judge        probes apart, verdicts here, results as outputs of the check cells
               -> SaveGrades -> AssignLatePenalties      as in nbgrader

`nbgrader autograde`, the formgrader's button and `lockstep grade` all come through here.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook, new_output
from nbgrader.preprocessors import AssignLatePenalties, CheckCellMetadata, NbGraderPreprocessor, SaveAutoGrades
from nbgrader.utils import compute_checksum
from traitlets import Bool, Dict, Integer, TraitError, Unicode, validate
from traitlets.config import Config

from autograde import show
from autograde.batch_records import Policy, Seen, to_run_again, with_record
from autograde.build import release
from autograde.collecting import PlainCollect
from autograde.evidence import Examined, Marked, examine
from autograde.labs import Lab, LabError, find_lab, load_checks
from autograde.limits import Limits
from autograde.rebuild import Rebuilt, rebuild
from autograde.sandboxes import Sandboxes
from autograde.submitted import MAX_FILE, fingerprint, read_submission, refusal
from course.jupyterhub.deadlines import PrivateRelease

# Where a class lives in the course's folder. It is not below build/, which people delete.
CLASS = "class"
SOURCE = "build/solutions"


def configure(c: Config, root: Path | str) -> None:
    """Set `c` so that nbgrader works on the course at `root`, in its `labs/` and `class/`, and grades our way."""
    root = Path(root).resolve()
    c.CourseDirectory.root = str(root)
    c.CourseDirectory.source_directory = SOURCE
    c.CourseDirectory.release_directory = "labs"
    c.CourseDirectory.submitted_directory = f"{CLASS}/submitted"
    c.CourseDirectory.autograded_directory = f"{CLASS}/autograded"
    c.CourseDirectory.feedback_directory = f"{CLASS}/feedback"
    c.CourseDirectory.db_url = f"sqlite:///{root}/{CLASS}/gradebook.db"
    c.Autograde.exporter_class = SubmissionExporter
    c.Autograde.sanitize_preprocessors = [Rebuild, CheckCellMetadata]
    c.Autograde.autograde_preprocessors = [Judge, SaveGrades, AssignLatePenalties, CheckCellMetadata]
    c.LabPreprocessor.root = str(root)
    c.ExchangeFactory.collect = PlainCollect
    c.ExchangeFactory.release_assignment = PrivateRelease
    with contextlib.suppress(OSError):  # one may look at a course without being allowed to write to it
        make_class_folder(root)
    if shutil.which("alembic") is None:  # nbgrader starts it by name, also where nobody activated our environment
        os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def make_class_folder(root: Path) -> None:
    """Make the folder of the gradebook, which keeps itself out of git, in a course that has labs to grade."""
    if (root / "solutions").is_dir() and not (root / CLASS / ".gitignore").exists():
        (root / CLASS).mkdir(mode=0o700, exist_ok=True)
        (root / CLASS / ".gitignore").write_text("*\n")


def released_notebook(root: Path, lab: Lab) -> NotebookNode:
    """The notebook of `lab` as students got it, from the built instructor's notebook. Raises LabError without that."""
    path = root / SOURCE / lab.name / lab.notebook
    try:
        return release(nbformat.read(path, as_version=4))
    except OSError as error:
        raise LabError(f"{path} is not there; run `lockstep build {lab.name}`") from error


def answers(notebook: NotebookNode) -> tuple[dict[str, str], frozenset[str]]:
    """Source text by TODO, and the TODOs that are as released: nbgrader's checksum of their cell still holds."""
    cells = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("solution")]
    blank = frozenset(cell.id for cell in cells if compute_checksum(cell) == cell.metadata.nbgrader.checksum)
    return {cell.id: cell.source for cell in cells}, blank


class SubmissionExporter(NotebookExporter):
    """Hands the file to the preprocessors as bytes, in ``resources["lockstep"]``: it may be no notebook, or missing."""

    def from_filename(self, filename: str, resources: dict | None = None, **kw: Any) -> tuple[str, dict]:
        """Convert the file called `filename`, whatever is in it."""
        path = Path(filename)
        resources = {} if resources is None else resources
        resources["metadata"] = {"name": path.stem, "path": str(path.parent)}
        self.take_back_copies(path.parent)
        raw, others = read_submission(path)
        resources["lockstep"] = {"raw": raw, "others": others}
        return self.from_notebook_node(new_notebook(), resources=resources, **kw)

    def take_back_copies(self, source: Path) -> None:
        """Delete from the graded folder what nbgrader copied there through links that lead out of the submission.

        `lockstep grade` copies nothing of the kind; this is for nbgrader's own Autograde, which follows links.
        """
        for path in source.rglob("*"):
            if path.is_symlink() and refusal(path, MAX_FILE):
                about = self.parent.coursedir
                copied = about.format_path(about.autograded_directory, source.parent.name, source.name)
                target = Path(copied) / path.relative_to(source)
                if target != path and target.exists():
                    shutil.rmtree(target) if target.is_dir() else target.unlink()
                    self.log.warning("%s is left out: it is a link out of the submission", path)


class LabPreprocessor(NbGraderPreprocessor):
    """A step that knows the course's folder."""

    root = Unicode(help="The course's folder").tag(config=True)

    def lab(self, resources: dict) -> Lab:
        """The lab that is being graded. Raises LabError if the assignment is none."""
        return find_lab(Path(self.root), resources["nbgrader"]["assignment"])


class Rebuild(LabPreprocessor):
    """Sanitises: makes the notebook that is graded from the released one and the submission's bytes."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Replace `nb` (which is empty). The submission's problems go to the top, and into the metadata."""
        lab, given = self.lab(resources), resources["lockstep"]
        rebuilt = rebuild(released_notebook(Path(self.root), lab), given["raw"], lab.name, given["others"])
        for problem in rebuilt.problems:
            self.log.warning("%s: %s", resources["nbgrader"]["student"], problem)
        return with_problems(rebuilt, fingerprint(given["raw"])), resources


def with_problems(rebuilt: Rebuilt, submission: str) -> NotebookNode:
    """The rebuilt notebook, with its problems in a cell at the top."""
    notebook = rebuilt.notebook
    notebook.metadata["lockstep"] = {"problems": rebuilt.problems, "manual": rebuilt.manual, "submission": submission}
    if rebuilt.problems:
        listed = "\n".join(f"* {problem}" for problem in rebuilt.problems)
        text = f"**What was not as it should be in the submission**\n\n{listed}"
        notebook.cells.insert(0, new_markdown_cell(text, id="submission-problems"))
    return notebook


class Judge(LabPreprocessor):
    """Grades: each check cell gets its result as output, and the score as its value, which is partial credit."""

    seed = Integer(None, allow_none=True, help="Seed of the cases; None: a fresh one for each submission").tag(
        config=True
    )
    limits = Dict(help="Limits of a submission that are not to be those of autograde.limits").tag(config=True)
    sandboxed = Bool(True, help="Whether student code runs in a sandbox. False: as you, unprotected").tag(config=True)
    records = Bool(
        None, allow_none=True, help="Whether a record of a run in batch must be there; None: where there is Slurm"
    ).tag(config=True)
    accounts = Dict(help="Account on the cluster by student's id, of those whose account has another name").tag(
        config=True
    )
    prepared = Dict(help="Sources, seed and results of this submission, if it was examined before").tag(config=True)

    @validate("limits")
    def _known_and_possible(self, proposal: dict) -> dict:
        try:
            Limits(**proposal["value"])
        except (TypeError, ValueError) as error:
            raise TraitError(f"c.Judge.limits in nbgrader_config.py: {error}") from error
        return proposal["value"]

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Replace `nb` (which is empty) by the sanitised notebook with results in it."""
        nb = nbformat.reads(resources["lockstep"]["raw"].decode(), as_version=4)
        sources, blank = answers(nb)
        if not self.prepared or self.prepared["sources"] != sources:
            with Sandboxes(self.lab(resources), Limits(**self.limits), sandboxed=self.sandboxed) as sandboxes:
                again = to_run_again(self.lab(resources), self.folder(resources), sources)
                self.prepared = prepare(self.lab(resources), sources, blank, again, self.seed, sandboxes)
        marked, seen = self.with_records([Marked.from_plain(plain) for plain in self.prepared["marked"]], resources)
        by_cell = {f"{one.todo}-check": one for one in marked}
        for cell in nb.cells:
            if cell.metadata.get("nbgrader", {}).get("grade"):
                cell.outputs = outputs(by_cell[cell.id], seen[cell.id].remarks)
        nb.metadata.lockstep |= {name: self.prepared[name] for name in ("seed", "seconds")}
        nb.metadata.lockstep.marked = [one.plain() for one in marked]
        nb.metadata.lockstep.problems += [remark for one in seen.values() for remark in one.remarks]
        nb.metadata.lockstep.jobs = sorted({one.job for one in seen.values() if one.job})
        resources["lockstep"] = {
            "manual": nb.metadata.lockstep.manual,
            "unknown": [f"{one.todo}-check" for one in marked if one.score is None],
        }
        return nb, resources

    def folder(self, resources: dict) -> Path:
        """Where the submission was copied to, with what was handed in beside the notebook."""
        return Path(resources["metadata"]["path"])

    def with_records(self, marked: list[Marked], resources: dict) -> tuple[list[Marked], dict[str, Seen]]:
        """The marks once records of runs in batch are looked at, and what came of these, by check cell."""
        lab, policy = self.lab(resources), Policy(self.records, self.accounts)
        place = (lab.name, self.folder(resources), self.prepared["sources"], resources["nbgrader"]["student"])
        found = [with_record(*pair, *place, policy) for pair in zip(load_checks(lab.checks), marked, strict=True)]
        return [one for one, _ in found], {f"{one.todo}-check": seen for one, seen in found}


def prepare(
    lab: Lab,
    sources: dict[str, str],
    blank: frozenset[str],
    again: dict[str, dict],
    seed: int | None,
    sandboxes: Sandboxes,
) -> dict[str, Any]:
    """Examine a submission. Returns what `Judge` takes as `prepared`: plain data. again: see `evidence.gather`."""
    seed = fresh_seed() if seed is None else seed
    return prepared(sources, seed, examine(lab, sources, blank, seed, sandboxes, again))


def fresh_seed() -> int:
    """A seed that nobody can foresee."""
    return secrets.randbits(32)


def prepared(sources: dict[str, str], seed: int, found: Examined) -> dict[str, Any]:
    """What `Judge` takes as `prepared`: plain data."""
    marked = [one.plain() for one in found.marked]
    return {"sources": sources, "seed": seed, "seconds": found.seconds, "marked": marked}


def outputs(marked: Marked, remarks: tuple[str, ...] = ()) -> list[NotebookNode]:
    """What a check cell of the feedback shows. Its value is the score; 0 where that is not known, see SaveGrades."""
    if marked.result is not None:
        shown = {"text/html": show.html(marked.result), "text/plain": show.text(marked.result)}
    else:
        said = f"{marked.todo}: this could not be graded automatically, and waits for your instructor. {marked.reason}"
        shown = {"text/plain": said}
    score = {"text/plain": f"{marked.score or 0.0:g}"}
    said = [new_output("display_data", data={"text/plain": remark}) for remark in remarks]
    return [new_output("display_data", data=shown), *said, new_output("execute_result", data=score)]


class SaveGrades(SaveAutoGrades):
    """nbgrader's, but a score that is not known is not saved as 0, and what a person must look at says so."""

    def _add_score(self, cell: NotebookNode, resources: dict) -> None:
        super()._add_score(cell, resources)
        name, notes = cell.metadata.nbgrader["grade_id"], resources["lockstep"]
        if not notes["manual"] and name not in notes["unknown"]:
            return
        grade = self.gradebook.find_grade(name, self.notebook_id, self.assignment_id, self.student_id)
        grade.needs_manual_grade = True
        if name in notes["unknown"]:
            grade.auto_score = None
        self.gradebook.db.commit()
