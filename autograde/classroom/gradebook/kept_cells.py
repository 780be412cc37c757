"""A lab's cells go into the gradebook, also where its TODOs are others than when somebody was graded.

nbgrader refuses to add or remove cells of a notebook that has submissions, and an extension alone is one. Here the
cells of the gradebook become those of the lab, and all that was given for a cell that stays is kept: scores, comments,
extensions. What was given by hand for a cell that goes is named, and the gradebook as it was is kept beside it.

A score for a cell that has other points now, and a cell that is new to a graded submission, wait for a person until
the submission is graded again.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.api import (
    BaseCell,
    Comment,
    Grade,
    GradeCell,
    MissingEntry,
    Notebook,
    SolutionCell,
    SourceCell,
    SubmittedNotebook,
    TaskCell,
)
from nbgrader.preprocessors import SaveCells
from sqlalchemy.engine import make_url

SCORED, COMMENTED = (GradeCell, TaskCell), (SolutionCell, TaskCell)


class KeepCells(SaveCells):
    """nbgrader's step, but it adds and removes cells of a notebook that has submissions."""

    def _create_notebook(self, nb: NotebookNode) -> None:
        try:
            notebook = self.gradebook.find_notebook(self.notebook_id, self.assignment_id)
        except MissingEntry:
            notebook = None
        if notebook is not None and notebook.submissions:
            self.adapt(notebook)
        super()._create_notebook(nb)

    def adapt(self, notebook: Notebook) -> None:
        """Give a notebook in the gradebook the lab's cells, and its submissions a place for scores and comments."""
        wanted = {
            GradeCell: self.new_grade_cells,
            SolutionCell: self.new_solution_cells,
            TaskCell: self.new_task_cells,
            SourceCell: self.new_source_cells,
        }
        cells = {kind: [*self.gradebook.db.query(kind).filter(kind.notebook_id == notebook.id)] for kind in wanted}
        gone = [cell for kind, known in cells.items() for cell in known if cell.name not in wanted[kind]]
        if given := sorted(line for cell in gone for line in given_by_hand(cell)):
            copy = copied(self.db_url, self.assignment_id)
            kept = f"; the gradebook as it was is kept in {copy}" if copy else ""
            self.log.warning(
                "%s has cells no more for which something was given by hand: %s%s",
                self.assignment_id,
                "; ".join(given),
                kept,
            )
        scored = {each.id: any(map(has_score, each.grades)) for each in notebook.submissions}
        for cell in gone:
            self.remove(cell)
        for kind, known in cells.items():
            there = {cell.name: cell for cell in known}
            for name, about in wanted[kind].items():
                if name not in there:
                    self.add(kind(name=name, notebook=notebook, **about), notebook.submissions, scored)
                elif kind in SCORED and there[name].max_score != about["max_score"]:
                    for grade in filter(has_score, there[name].grades):
                        grade.needs_manual_grade = True
        self.gradebook.db.commit()

    def remove(self, cell: BaseCell) -> None:
        """Take a cell out of the gradebook, with what was given for it."""
        for given in given_for(cell):
            self.gradebook.db.delete(given)
        self.gradebook.db.delete(cell)

    def add(self, cell: BaseCell, submissions: list[SubmittedNotebook], scored: dict[str, bool]) -> None:
        """Put a cell into the gradebook. scored: which submissions have scores, by their ids."""
        self.gradebook.db.add(cell)
        self.gradebook.db.flush()  # gives it an id
        for submission in submissions:
            about = {"cell_id": cell.id, "notebook_id": submission.id}
            if isinstance(cell, SCORED):
                self.gradebook.db.add(Grade(**about, needs_manual_grade=scored[submission.id]))
            if isinstance(cell, COMMENTED):
                self.gradebook.db.add(Comment(**about))


def has_score(grade: Grade) -> bool:
    """Whether somebody has given a score, or a grading has."""
    return (grade.auto_score, grade.manual_score) != (None, None)


def given_for(cell: BaseCell) -> list[Grade | Comment]:
    """The scores and comments for a cell."""
    grades = [*cell.grades] if isinstance(cell, SCORED) else []
    return grades + ([*cell.comments] if isinstance(cell, COMMENTED) else [])


def given_by_hand(cell: BaseCell) -> list[str]:
    """What a person gave for a cell, in words."""
    said = []
    for given in given_for(cell):
        who = f"{cell.name} of {given.notebook.assignment.student_id}"
        if isinstance(given, Comment):
            said += [f"{who}: a comment"] if given.manual_comment else []
        elif given.manual_score is not None or given.extra_credit:
            said.append(f"{who}: {(given.manual_score or 0) + (given.extra_credit or 0):g} points")
    return said


def copied(url: str, lab: str) -> Path | None:
    """Copy the gradebook at `url` into its folder, and return the copy; None if it is no file."""
    known = make_url(url)
    if known.get_backend_name() != "sqlite" or not known.database:
        return None
    path = Path(known.database)
    copy = path.with_name(f"{path.stem}-before-{lab}-{datetime.now(UTC):%Y-%m-%d-%H%M%S-%f}{path.suffix}")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    return copy
