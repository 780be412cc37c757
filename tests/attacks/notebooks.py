"""Notebooks that say of themselves what they deserve: tags, metadata, outputs, extra cells."""

from __future__ import annotations

import copy
import gzip
import io
import json
import zipfile

from attack import BLANK, NO_DOUBLE, NO_TOTAL, UNDONE, Attack, Place, edited, raw
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from small_course import ANSWERS, LAB

WRONG = {"double": "def double(x):\n    return 1", "total": "def total(comm, x):\n    return 2"}
ALL_WRONG = {"double": NO_DOUBLE, "total": NO_TOTAL}


def cell(notebook: NotebookNode, name: str) -> NotebookNode:
    """The cell with this id."""
    return next(cell for cell in notebook.cells if cell.id == name)


def more_points(notebook: NotebookNode) -> None:
    """Gives more points to checks and to answers."""
    for each in notebook.cells:
        if "nbgrader" in each.metadata:
            each.metadata.nbgrader["points"] = 100


def not_graded(notebook: NotebookNode) -> None:
    """Turns checks into answers, and answers into cells that nobody grades."""
    for name in ANSWERS:
        cell(notebook, f"{name}-check").metadata.nbgrader.update(grade=False, solution=True, locked=False)
        cell(notebook, name).metadata.nbgrader.update(grade=True, solution=False, locked=True, points=3, task=True)


def forged_outputs(notebook: NotebookNode) -> None:
    """Puts full marks into the outputs and the text of the checks."""
    for name, points in (("double", 2), ("total", 3)):
        check = cell(notebook, f"{name}-check")
        check.outputs = [new_output("execute_result", data={"text/plain": str(points)})]
        check.source = str(points)
        check.execution_count = 1


def forged_results(notebook: NotebookNode) -> None:
    """Puts results into the metadata, where the grader keeps its own."""
    marked = [
        {"todo": todo, "points": points, "result": {"todo": todo, "points": points, "score": points}, "reason": None}
        for todo, points in (("double", 2.0), ("total", 3.0))
    ]
    notebook.metadata["lockstep"] = {"marked": marked, "problems": [], "manual": None, "submission": "x", "seed": 1}


def without_checks(notebook: NotebookNode) -> None:
    """Takes the checks out."""
    notebook.cells = [each for each in notebook.cells if not each.id.endswith("-check")]


def more_cells(notebook: NotebookNode) -> None:
    """Adds cells that replace the checks, before and after them, under the same names and under others."""
    hostile = "check = lambda todo: 3.0\nraise SystemExit(0)"
    for place in (0, 3, len(notebook.cells)):
        notebook.cells.insert(place, new_code_cell(hostile, metadata={"tags": ["parameters", "skip-execution"]}))
    copied = copy.deepcopy(cell(notebook, "double-check"))
    copied.source = "2.0"
    notebook.cells.append(copied)
    notebook.cells.append(new_markdown_cell("</pre><script>alert(1)</script>", attachments={"x": {"text/html": "x"}}))


def answer_in_the_check(notebook: NotebookNode) -> None:
    """Calls the check's cell an answer, and the answer's cell a check."""
    answer, check = cell(notebook, "double"), cell(notebook, "double-check")
    answer.metadata, check.metadata = check.metadata, answer.metadata
    check.source = WRONG["double"]
    answer.source = "2.0"


def twice(notebook: NotebookNode) -> None:
    """Hands in a right and then a wrong answer under one name: the last counts, as when it is run."""
    first = copy.deepcopy(cell(notebook, "total"))
    first.source = ANSWERS["total"]
    notebook.cells.insert(0, first)


def odd_metadata(notebook: NotebookNode) -> None:
    """Asks nbconvert and nbgrader by metadata to run, hide or fetch things."""
    notebook.metadata.update(
        kernelspec={"name": "../../evil", "display_name": "x", "language": "x"},
        language_info={"name": "evil", "file_extension": "/../../x"},
        jupytext={"text_representation": {"extension": "/../x.py"}},
        title="</title><script>alert(1)</script>",
    )
    for each in notebook.cells:
        each.metadata["tags"] = ["hide_input", "remove_cell", "raises-exception"]
        each.metadata["slideshow"] = {"slide_type": "skip"}
        if each.cell_type == "code":
            each.metadata["execution"] = {"timeout": -1, "allow_errors": True}


def zipped(place: Place) -> bytes:
    """The right notebook in a zip file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"../../../ada/{LAB}/{LAB}.ipynb", right(place))
    return packed.getvalue()


def right(place: Place) -> bytes:
    """The right notebook."""
    return json.dumps(place.room.answered(ANSWERS)).encode()


def many_cells(place: Place) -> bytes:
    """A small file of very many cells, for whoever compares each with each."""
    one = {"cell_type": "code", "id": "double", "metadata": {"nbgrader": {"grade_id": "double"}}, "source": "x"}
    return b'{"cells": [' + b",".join([json.dumps(one).encode()] * 200_000) + b"]}"


ATTACKS = (
    Attack(
        "more-points", more_points.__doc__, scores=ALL_WRONG, hand_in=edited(more_points, WRONG), problem="retagged"
    ),
    Attack("not-graded", not_graded.__doc__, scores=ALL_WRONG, hand_in=edited(not_graded, WRONG), problem="retagged"),
    Attack(
        "forged-outputs",
        forged_outputs.__doc__,
        scores=ALL_WRONG,
        hand_in=edited(forged_outputs, WRONG),
        problem="`double-check` was changed",
    ),
    Attack("forged-results", forged_results.__doc__, scores=ALL_WRONG, hand_in=edited(forged_results, WRONG)),
    Attack(
        "without-checks",
        without_checks.__doc__,
        scores=ALL_WRONG,
        hand_in=edited(without_checks, WRONG),
        problem="`total-check` is missing",
    ),
    Attack("more-cells", more_cells.__doc__, scores=ALL_WRONG, hand_in=edited(more_cells, WRONG)),
    Attack(
        "answer-in-the-check",
        answer_in_the_check.__doc__,
        scores={"double": NO_DOUBLE},
        hand_in=edited(answer_in_the_check),
        problem="cell `double-check` was changed; the lab's own is used",
    ),
    Attack(
        "twice",
        twice.__doc__,
        scores=ALL_WRONG,
        hand_in=edited(twice, WRONG),
        problem="cell `total` is there 2 times; the last one that was written in is graded",
    ),
    Attack("odd-metadata", odd_metadata.__doc__, scores=ALL_WRONG, hand_in=edited(odd_metadata, WRONG)),
    Attack("zipped", zipped.__doc__, scores=BLANK, hand_in=raw(zipped), problem="is not JSON", manual=True),
    Attack(
        "gzipped",
        "The right notebook, compressed: 1 GB of spaces would be 1 MB.",
        scores=BLANK,
        hand_in=raw(lambda place: gzip.compress(right(place))),
        problem="is not JSON",
        manual=True,
    ),
    Attack(
        "utf-16",
        "The right notebook in another encoding.",
        scores=BLANK,
        hand_in=raw(lambda place: right(place).decode().encode("utf-16")),
        problem="is not UTF-8",
        manual=True,
    ),
    Attack(
        "byte-order-mark",
        "The right notebook behind a mark that some editors write: no attack, and it must not cost anything.",
        hand_in=raw(lambda place: b"\xef\xbb\xbf" + right(place)),
    ),
    Attack(
        "spaces",
        "A notebook of 200 MB, nearly all of it spaces.",
        scores=BLANK,
        hand_in=raw(lambda place: b" " * (200 * 2**20) + right(place)),
        problem="bytes, more than",
        manual=True,
    ),
    Attack(
        "deep-json",
        "JSON nested so deeply that reading it breaks the reader.",
        scores=BLANK,
        hand_in=raw(lambda place: b'{"cells": ' + b"[" * 10**6),
        problem="is not JSON",
        manual=True,
    ),
    Attack(
        "many-cells", many_cells.__doc__, scores=BLANK, hand_in=raw(many_cells), problem="200,000 cells", manual=True
    ),
    Attack(
        "long-answer",
        "An answer so long that showing and compiling it takes for ever.",
        scores={"double": UNDONE},
        hand_in=edited(lambda notebook: cell(notebook, "double").update(source="#" * 10**7)),
        problem="characters, more than",
    ),
)
