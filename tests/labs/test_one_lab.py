"""`./lockstep test --lab NAME` runs what that lab has to pass, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from labs_under_test import LABS

ROOT = Path(__file__).parents[2]


def collected(name: str, *folders: str) -> subprocess.CompletedProcess:
    """What pytest would run for a lab."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "--lab", name]
    return subprocess.run([*command, *folders], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.thorough
def test_the_tests_of_one_lab_are_of_each_kind_and_of_no_other_lab():
    lab, *others = (lab.name for lab in LABS)
    tests = [line for line in collected(lab).stdout.splitlines() if "::" in line]
    assert all(f"[{lab}" in test or test.startswith(f"solutions/{lab}/tests/") for test in tests)
    assert not [test for test in tests if any(other in test for other in others)]
    for kind in (
        f"solutions/{lab}/tests/",
        "labs/test_build",
        "labs/test_labs",
        "labs/test_lab_notebooks",
        "checks/test_evidence_of_todos",
        "test_beside_students",
    ):
        assert any(kind in test for test in tests), kind


def test_a_lab_that_is_not_there_is_named_in_one_line_with_those_that_are():
    done = collected("99_nothing", "tests/labs")
    assert done.returncode != 0
    (line,) = (done.stdout + done.stderr).split("\n\n")[0].strip().splitlines()
    assert line.startswith("ERROR: no lab `99_nothing` in ") and LABS[0].name in line
