"""What lab 07 says of run.sh is said of the lines that are there; and its run on record, once more."""

from __future__ import annotations

import re

import pytest

from autograde.cells.subject import Subject
from autograde.labs.folder import find_lab, load_checks, solution_cells
from autograde.labs.places import REPOSITORY
from autograde.making.build import run_script
from autograde.sandbox.untrusted import problem

RERUN = {"again": True, "deadline": 60}


def test_each_sbatch_line_of_run_sh_is_in_the_notebooks_table_and_no_other():
    lab = find_lab(REPOSITORY, "07_horovod_mnist")
    script = run_script(lab).content.decode()
    table = re.findall(r"^# \| `(#SBATCH [^`]*)`", lab.source.read_text(encoding="utf-8"), re.MULTILINE)
    assert table == re.findall(r"^#SBATCH .*$", script, re.MULTILINE)


@pytest.mark.thorough
def test_a_run_on_record_is_repeated_by_the_cells_of_the_notebook(world):
    lab = find_lab(REPOSITORY, "07_horovod_mnist")
    cells = solution_cells(lab.source)
    [check] = [check for check in load_checks(lab.checks) if check.todo == "batch_run"]
    assert check.again({"ranks": 8, "epochs": [1] * 9}, most=4) == {**RERUN, "size": 4, "epochs": 3}
    assert check.again({"ranks": 6, "epochs": [1]}, most=4) is None, "63 images of 64 are another training"
    case = {**RERUN, "size": 2, "epochs": 1}
    outcome = check.probe(world, Subject("batch_run", cells["batch_run"], cells), case)
    assert problem(check.schema(case), outcome) is None
    losses = [rank["result"]["losses"] for rank in outcome["ranks"]]
    assert outcome["state"] == "ok" and losses[0] == losses[1] and len(losses[0]) == 1
