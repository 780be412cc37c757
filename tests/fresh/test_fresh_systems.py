"""Everything that README.md promises first, on systems that have only what it names: set up, doctor, a lab, a class."""

from __future__ import annotations

import csv
import json
import re

import pytest
from example_labs import lab_of_the_story
from fresh_system import FreshSystem

LAB = lab_of_the_story("03_pi_allreduce").name
POINTS = 12

# Writes to the folder of its argument what instructors have: the lab with its solutions.
SOLVED = f"""
import sys
from pathlib import Path
from autograde.labs.folder import find_lab
from autograde.making.solved import write_solved

write_solved(find_lab(Path.cwd(), "{LAB}"), Path(sys.argv[1]))
"""

EXECUTE = ".venv/bin/python -m jupyter nbconvert --to notebook --execute --output executed.ipynb"


def run_lab(fresh: FreshSystem, options: tuple[str, ...] = ()) -> str:
    """Run the solved lab's notebook top to bottom, and return all that its cells show."""
    status, output = fresh.run(".venv/bin/python", "-c", SOLVED, "/home/student/solved")
    assert status == 0, output
    script = f'export PATH="$PWD/.venv/bin:$PATH"; {EXECUTE} /home/student/solved/{LAB}.ipynb'
    status, output = fresh.run("bash", "-c", script, options=options)
    assert status == 0, output
    notebook = json.loads((fresh.root / "home/student/solved/executed.ipynb").read_text())
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    return "\n".join("".join(output.get("data", {}).get("text/plain", "")) for output in outputs)


def test_a_second_start_has_nothing_to_set_up(fresh):
    assert fresh.run("./lockstep", "setup", seconds=10) == (0, "")


@pytest.mark.parametrize("user", [0, 1000], ids=["root", "student"])
def test_the_doctor_finds_all_that_the_labs_and_grading_need(fresh, user):
    status, output = fresh.run("./lockstep", "doctor", user=user)
    assert status == 0, output
    assert "The labs run here." in output
    assert re.search(rf"^Python +yes +{re.escape(fresh.distribution.python)}\.", output, re.MULTILINE), output
    for name in ("Python", "MPI", "ranks", "torch", "Horovod", "ipyparallel", "JupyterLab", "nbgrader", "bubblewrap"):
        assert re.search(rf"^{name} +yes ", output, re.MULTILINE), output


def test_lab_opens_jupyterlab(fresh):
    # Reads until the address is there; the server ends with bash.
    address = "//(localhost|127.0.0.1):[0-9]+/lab"
    script = f"grep --max-count 1 -E '{address}' < <(timeout 180 ./lockstep lab --no-browser 2>&1)"
    status, output = fresh.run("bash", "-c", script)
    assert status == 0, output


def test_a_lab_runs_top_to_bottom_and_its_checks_pass(fresh):
    shown = run_lab(fresh)
    passed = re.findall(r"^(\w+): passed, (\d+) of (\d+) points", shown, re.MULTILINE)
    assert sum(int(points) for _, points, _ in passed) == POINTS, shown


def test_it_runs_with_the_64_mb_of_shared_memory_that_containers_have(fresh):
    small = ("--size", str(64 * 2**20), "--tmpfs", "/dev/shm")
    _, output = fresh.run("df", "--output=size", "/dev/shm", options=small)
    assert "65536" in output
    assert "passed, 3 of 3 points" in run_lab(fresh, options=small)


def test_a_small_class_is_graded(fresh):
    submitted = fresh.kit + "/class/submitted"
    status, output = fresh.run(".venv/bin/python", "-c", SOLVED, f"{submitted}/ada/{LAB}")
    assert status == 0, output
    fresh.run("cp", "-r", f"labs/{LAB}", "/tmp/blank")
    fresh.run("mkdir", "-p", f"{submitted}/bob")
    fresh.run("mv", "/tmp/blank", f"{submitted}/bob/{LAB}")
    status, output = fresh.run("./lockstep", "grade", LAB, "--no-collect")
    assert status == 0, output
    with open(fresh.root / fresh.kit[1:] / "class" / LAB / "grades.csv", newline="") as file:
        scores = {row["student"]: float(row["score"]) for row in csv.DictReader(file)}
    assert scores == {"ada": POINTS, "bob": 0}
