"""What `./lockstep test` runs each time has every kind of test in it, and `--all` has the rest, in parts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from catalogue import GROUPS
from labs_under_test import LABS

from autograde.labs.folder import load_checks

ROOT = Path(__file__).parents[1]
# What each kind is called in the names of tests; all with the real parts.
KINDS = {
    "a hub in the browser": "browser/test_hub_story.py",
    "a world on two nodes of Slurm": "slurm/test_world_slurm.py::test_the_job_is_cancelled_when_the_world_stops",
    "a batch run on two nodes of Slurm": r"slurm/test_batch.py::test_a_job_leaves_\w+\[2-4\]",
    "worlds of ranks": "world/test_world.py",
    "the watch": "world/test_watch_sees.py",
    "a grading": "grading/test_grading.py",
    "a grading by nbgrader": "grading/test_nbgrader.py",
    "a class report": "grading/test_class_report.py",
    "the exchange": "hub/test_exchange.py",
    "a set-up": "install/test_setup.py",
    "the sandbox": "sandbox/test_sandbox.py",
    "a new lab": "labs/test_new_lab.py",
    "what is built": "labs/test_build.py::test_labs_is_what_build_makes_of_solutions",
    "a schema": "checks/test_evidence_of_todos.py::test_forged_evidence",
    "probes alone": "sandbox/test_beside_students.py",
    "figures": "figures/test_figures_are_legible.py",
    "a solved notebook": "labs/test_lab_notebooks.py::test_with_its_solution_a_lab_runs_top_to_bottom",
    "a blank notebook": "labs/test_lab_notebooks.py::test_a_blank_lab_runs_top_to_bottom",
    "several verdicts at once": "labs/test_labs.py::test_the_solution_earns_all_points_in_several_verdicts",
    "a graded notebook": "labs/test_labs.py::test_in_a_graded_notebook_blank_todos",
    "the same code, the same verdict": "grading/test_same_verdict.py",
}


def collected(*options: str) -> list[str]:
    """The tests that pytest would run."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return [line for line in done.stdout.splitlines() if "::" in line]


@pytest.fixture(scope="module")
def chosen(request: pytest.FixtureRequest) -> list[str]:
    """The tests that are run each time: those of this very run, where it is such a one."""
    config = request.config
    everywhere = {Path(each).resolve() for each in config.args} == {ROOT / "tests", *ROOT.glob("solutions/*/tests")}
    if everywhere and config.getoption("chosen") and config.getoption("markexpr") == "not alone":
        return [item.nodeid for item in request.session.items]
    return collected("--chosen", "-m", "not alone")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_among_the_chosen(chosen, kind):
    assert any(re.search(KINDS[kind], test) for test in chosen)


def test_one_attack_of_each_group_is_among_the_chosen(chosen):
    for group in GROUPS:
        attacks = [test for test in chosen if f"test_an_attack_gets_exactly_what_it_deserves[{group}-" in test]
        assert 1 <= len(attacks) < len(GROUPS[group]) or len(GROUPS[group]) == 1, group


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_of_each_lab_a_solution_and_of_each_todo_right_and_wrong_answers_are_among_the_chosen(chosen, lab):
    text = "\n".join(chosen)
    assert f"::test_the_solution_earns_all_points_in_several_verdicts_at_once[{lab.name}-" in text
    for check in load_checks(lab.checks):
        todo = re.escape(f"{lab.name}-{check.todo}")
        assert len(re.findall(rf"::test_a_blank_todo_loses_its_own_points\[{todo}\]", text)) == 1
        assert len(re.findall(rf"::test_another_right_answer_earns_all_points\[{todo}-", text)) == 1
        assert len(re.findall(rf"::test_a_known_mistake_gets_its_finding_and_loses_points\[{todo}-", text)) == 2


@pytest.mark.thorough
def test_the_parts_of_all_have_each_test_once_and_none_has_most():
    everything = collected()
    parts = [collected(f"--part={number}/6") for number in range(1, 7)]
    assert sorted(test for part in parts for test in part) == sorted(everything)
    assert max(map(len, parts)) < len(everything) / 2
