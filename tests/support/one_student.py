"""A student who has fetched the one lab of a course, in a test without a hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import compute_checksum
from traitlets.config import Config

from course.exchange.folders import OF_A_COURSE
from course.exchange.submit import hand_in_privately
from course.jupyterhub.pages.student_exchange import StudentExchange

COURSE, LAB = "hpc", "90_small"
NOTEBOOK = f"{LAB}.ipynb"


def todo(name: str) -> list[NotebookNode]:
    """The cells of a TODO and of its check, as they are released."""
    marks = {"schema_version": 3, "locked": False, "task": False, "points": 2}
    answer = nbformat.v4.new_code_cell(f"def {name}(x):\n    raise NotImplementedError", id=name)
    answer.metadata["nbgrader"] = {**marks, "grade_id": name, "solution": True, "grade": False}
    answer.metadata.nbgrader["checksum"] = compute_checksum(answer)
    check = nbformat.v4.new_code_cell(f'check("{name}")', id=f"{name}-check")
    check.metadata["nbgrader"] = {**marks, "grade_id": f"{name}-check", "solution": False, "grade": True}
    return [answer, check]


def student_with(folder: Path, cells: Sequence[NotebookNode] = ()) -> StudentExchange:
    """The student ada. cells: of the lab, below its heading."""
    for name, mode in OF_A_COURSE.items():
        path = folder / "exchange" / COURSE / name
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(mode)
    released = folder / "exchange" / COURSE / "outbound" / LAB
    released.mkdir()
    heading = nbformat.v4.new_markdown_cell("# Small", id="heading")
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    lab = nbformat.v4.new_notebook(cells=[heading, *cells], metadata={"kernelspec": kernel})
    nbformat.write(lab, released / NOTEBOOK)
    config = Config()
    hand_in_privately(config, folder / "exchange")
    config.Exchange.cache = str(folder / "home" / ".local")
    config.CourseDirectory.student_id = "ada"
    student = StudentExchange(config, folder / "home")
    student.fetch(COURSE, LAB)
    return student
