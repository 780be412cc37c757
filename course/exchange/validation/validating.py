"""`nbgrader validate`, for students and for instructors the same: patient, and as forgiving as grading.

As it comes, it ends in an error where a TODO has several cells, as after JupyterLab's "Split Cell", and says nothing of
the work; grading takes such notebooks.
"""

from __future__ import annotations

import copy

from nbformat import NotebookNode
from nbgrader.apps import validateapp
from nbgrader.preprocessors import CheckCellMetadata
from nbgrader.utils import determine_grade, is_grade
from nbgrader.validator import Validator
from traitlets.config import Config

CELL = 600  # seconds: a cell may train, on a machine that is crowded with a class


class CheckFirstMetadata(CheckCellMetadata):
    """Of cells with one tag, the first keeps it, as far as validation goes."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Validate the metadata of a copy, without tags that were there before."""
        nb, seen = copy.deepcopy(nb), set()
        for cell in nb.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            if name is not None and name in seen:
                self.log.warning("There are several cells `%s`; they are taken as they are when it is graded", name)
                del cell.metadata["nbgrader"]
            seen.add(name)
        return super().preprocess(nb, resources)


class CountingValidator(Validator):
    """nbgrader's validator, which also says how many checks pass, and what that makes in points."""

    said = ""

    def validate(self, filename: str) -> dict:
        """What fails, as nbgrader tells it, and `said`: a sentence, empty where the notebook was not run."""
        return super().validate(filename) | {"said": self.said}

    def _print_num_failed(self, num_failed: int) -> None:
        self.stream.write(f"{self.said}\n")  # where nbgrader writes "Success!" though a text is still to be read
        if num_failed:
            super()._print_num_failed(num_failed)

    def _get_failed_cells(self, nb: NotebookNode) -> list[NotebookNode]:
        graded = [(cell.cell_type, *determine_grade(cell, self.log)) for cell in nb.cells if is_grade(cell)]
        self.said = in_points([(score if kind == "code" else None, points) for kind, score, points in graded])
        return super()._get_failed_cells(nb)


def in_points(grades: list[tuple[float | None, float]]) -> str:
    """What the checks of a notebook make: score and points of each, where the score of a text is not known."""
    checks = [(score, points) for score, points in grades if score is not None]
    read = sum(points for score, points in grades if score is None)
    scored, most = (sum(each[number] for each in checks) for number in (0, 1))
    passed = f"{sum(score == points for score, points in checks)} of {len(checks)} "
    passed += "check passes" if len(checks) == 1 else "checks pass"
    said = f"{passed}, {scored:g} of {most:g} points."
    return said + (f" Your instructor gives up to {read:g} more for what you wrote." if read else "")


def validate_as_graded(c: Config) -> None:
    """Give each cell the time that it needs, and have nbgrader validate with `CheckFirstMetadata`, and count.

    Neither nbgrader's list of steps nor its validator is an option of its configuration.
    """
    c.Execute.timeout = CELL
    validateapp.Validator = CountingValidator
    steps = Validator.preprocessors
    (known,) = steps.default_args
    steps.default_args = ([CheckFirstMetadata if step is CheckCellMetadata else step for step in known],)
