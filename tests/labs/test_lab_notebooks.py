"""Every lab's notebook, top to bottom in a real kernel: with its solution, and blank as students get it."""

from __future__ import annotations

import base64
import re
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import pytest
from labs_under_test import LABS, OURS
from nbclient import NotebookClient
from seeds import SEED

from autograde.labs.folder import Lab, load_checks
from autograde.making.build import File, build
from course.processes.kernels import over_files

IMAGE = re.compile(r"data:image/\w+;base64,([^\"]+)")
CHECKER = "Checker("


def executed(lab: Lab, files: dict[str, File], folder: Path) -> nbformat.NotebookNode:
    """The lab's notebook, run in `folder` as "Restart and run all" would, but for its checks' cases, which are drawn
    from the seed of the tests. Raises CellExecutionError."""
    for name, file in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(file.content)
    notebook = nbformat.read(folder / lab.notebook, as_version=4)
    (start,) = (cell for cell in notebook.cells if cell.cell_type == "code" and CHECKER in cell.source)
    start.source = start.source.replace(CHECKER, f"{CHECKER}seed={SEED}, world=")
    with TemporaryDirectory(prefix="kernel-") as short:
        settings = {"resources": {"metadata": {"path": str(folder)}}, "config": over_files(Path(short))}
        NotebookClient(notebook, timeout=600, kernel_name="python3", **settings).execute()
    return notebook


def images(notebook: nbformat.NotebookNode) -> list[str]:
    """All images that the notebook stores, in base64: each picture for a light and for a dark ground."""
    stored = []
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        for kind, data in output.get("data", {}).items():
            stored += [data] if kind.startswith("image/") else IMAGE.findall(data)
    return stored


def shown(notebook: nbformat.NotebookNode, todo: str) -> str:
    """What the check of a TODO shows."""
    cell = next(cell for cell in notebook.cells if cell.id == f"{todo}-check")
    return "\n".join(output.data["text/plain"] for output in cell.outputs if output.output_type == "display_data")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_with_its_solution_a_lab_runs_top_to_bottom_and_all_checks_pass(lab, tmp_path):
    notebook = executed(lab, build(lab).instructor, tmp_path)
    for check in load_checks(lab.checks):
        assert f"{check.todo}: passed, {check.points:g} of {check.points:g} points" in shown(notebook, check.todo)
    stored = images(notebook)
    assert len(stored) >= 6 or lab not in OURS
    assert all(len(base64.b64decode(image)) > 5_000 for image in stored), "no picture is empty"
    assert len({*stored}) == len(stored), "no picture is stored twice"
    errors = [o.text for c in notebook.cells for o in c.get("outputs", []) if o.get("name") == "stderr"]
    assert errors == [], "nothing is written to stderr"


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_a_lab_has_one_title_and_no_level_of_headings_is_left_out(lab):
    notebook = nbformat.reads(build(lab).student[lab.notebook].content.decode(), as_version=4)
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    levels = [len(marks) for marks in re.findall(r"^(#+) ", prose, re.MULTILINE)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(below <= above + 1 for above, below in pairwise(levels))


@pytest.mark.sample(1)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_a_blank_lab_runs_top_to_bottom_and_says_what_to_do(lab, tmp_path):
    notebook = executed(lab, build(lab).student, tmp_path)
    for check in load_checks(lab.checks):
        assert f"{check.todo}: not started, " in shown(notebook, check.todo)
