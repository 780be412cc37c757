"""`nbgrader validate` for notebooks in which a TODO has several cells, as after JupyterLab's "Split Cell".

As it comes, it ends in an error there, and says nothing of the work; grading takes such notebooks.
"""

from __future__ import annotations

import copy

from nbformat import NotebookNode
from nbgrader.preprocessors import CheckCellMetadata
from nbgrader.validator import Validator


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


def accept_several_cells() -> None:
    """Have nbgrader validate with `CheckFirstMetadata`. Its list of steps is no option of its configuration."""
    steps = Validator.preprocessors
    (known,) = steps.default_args
    steps.default_args = ([CheckFirstMetadata if step is CheckCellMetadata else step for step in known],)
