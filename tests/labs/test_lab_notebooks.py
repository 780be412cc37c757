"""Every lab's notebook, top to bottom in a real kernel: with its solution, and blank as students get it.

A solved notebook takes a minute of two cores, so each time only those run in which most was done of late; `--all` runs
all, and `--lab` that of the lab. What the others consist of is run each time in pieces: right and wrong answers to each
TODO in test_labs.py, and each figure in tests/figures/.
"""

from __future__ import annotations

import base64
import re
import subprocess
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import pytest
from labs_under_test import COURSE, LABS, OURS
from nbclient import NotebookClient
from seeds import SEED

from autograde.labs.folder import Lab, load_checks
from autograde.making.build import File, build
from course.processes.kernels import over_files

IMAGE = re.compile(r"data:image/\w+;base64,([^\"]+)")
CHECKER = "Checker("
EACH_TIME = 4  # notebooks that are run each time


def last_changed_first(labs: list[Lab]) -> list[Lab]:
    """The labs, those first whose folders differ from the newest commit, or were changed by the newest commits.

    Where git knows none, they stay in their order.
    """
    folders = ["--", *(f"solutions/{lab.name}" for lab in labs)]
    newest = {}
    for listing in (["diff", "--name-only", "HEAD"], ["log", "--name-only", "--format="]):
        said = subprocess.run(["git", *listing, *folders], cwd=COURSE, capture_output=True, text=True, check=False)
        changed = [Path(path).parts for path in said.stdout.splitlines() if path.startswith("solutions/")]
        for _, name, *_ in changed:
            newest.setdefault(name, len(newest))
    return sorted(labs, key=lambda lab: newest.get(lab.name, len(newest)))


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


@pytest.mark.sample(EACH_TIME)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("lab", last_changed_first(LABS), ids=lambda lab: lab.name)
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
