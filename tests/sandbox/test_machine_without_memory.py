"""A grader in a container with less memory than a submission may take: that costs no student points."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from classroom import REPOSITORY
from control_groups import limited

from autograde.sandbox import bubblewrap
from autograde.sandbox.resources import out_of_memory
from autograde.sandbox.resources.limits import GIB, Limits, default_jobs
from course.processes.surroundings import machine

GRADES = """
import sys
from pathlib import Path
from small_course import ANSWERS, LAB, make_course
from autograde.labs.folder import find_lab, load_lab
from autograde.sandbox.examine import Answers, examine
from autograde.sandbox.resources.limits import Limits, default_jobs
from autograde.sandbox.pool import Sandboxes

fills = "def double(x):\\n    kept = [bytearray(2**20) for _ in range(3 * 2**10)]\\n    return 2 * x"
lab = load_lab(find_lab(make_course(Path(sys.argv[1])), LAB))
print(default_jobs(Limits()))
with Sandboxes(lab, Limits()) as sandboxes:
    for one in examine(lab, Answers(ANSWERS | {"double": fills}, frozenset()), 3, sandboxes).marked:
        print(one.score, one.reason)
"""


@pytest.mark.thorough
def test_a_rank_that_is_killed_for_the_machines_want_of_memory_is_no_students_fault(tmp_path):
    path = os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "tests" / "support")))
    with limited(memory=GIB) as prefix:
        command = [*prefix, sys.executable, "-c", GRADES, str(tmp_path)]
        done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    jobs, double, total = done.stdout.splitlines() or [done.stderr] * 3
    assert (jobs, total) == ("1", "3 None")
    assert double.startswith("None ") and "no memory was left of the 1.0 GiB that all in its container" in double
    assert "one submission may take 4.0 GiB" in double and "--force --jobs 1" in double


def test_a_kill_is_looked_for_in_outcomes_and_nowhere_in_a_students_data():
    killed = {"state": "rank-died", "ranks": [{"code": None}, {"code": -9}]}
    assert out_of_memory.was_killed({"runs": [{"state": "ok", "ranks": []}, killed]})
    for harmless in ({"state": "ok", "ranks": [{"code": 3, "result": killed}]}, {"state": "x", "ranks": 3}, [3], None):
        assert not out_of_memory.was_killed(harmless)
    assert out_of_memory.why_ungraded(machine.out_of_memory(), Limits()) == ""


def test_as_many_are_examined_at_once_as_there_may_be_processes_for(monkeypatch):
    monkeypatch.setattr(machine, "processes", lambda: machine.Processes(1000, 300, Path("/g")))
    assert default_jobs(Limits(), memory=400 * GIB, cpus=8) == 2
    monkeypatch.setattr(machine, "processes", lambda: None)
    assert default_jobs(Limits(), memory=400 * GIB, cpus=8) == 9


def test_a_sandbox_which_sees_no_groups_is_told_the_cores(monkeypatch):
    monkeypatch.setattr(machine, "cores", lambda: 3)
    assert bubblewrap.environment()[machine.CORES] == "3"
