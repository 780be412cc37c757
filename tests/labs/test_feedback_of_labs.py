"""Every TODO of every lab has hints that do not give it away, and a sentence for who has passed."""

from __future__ import annotations

import ast
import re

import pytest
from labs_under_test import LABS
from seeds import SEED

from autograde.cells.cell_code import bound_names
from autograde.cells.subject import Subject
from autograde.contract import check as contract
from autograde.contract.check import Check
from autograde.hints import load_hints
from autograde.labs.folder import Lab, load_checks, solution_cells

TODOS = [pytest.param(lab, check, id=f"{lab.name}-{check.todo}") for lab in LABS for check in load_checks(lab.checks)]


def skeleton(lab: Lab, check: Check) -> str:
    """The third hint of a TODO."""
    return load_hints(lab.folder, list(solution_cells(lab.source)))[check.todo].skeleton


@pytest.mark.parametrize(("lab", "check"), TODOS)
def test_who_has_passed_reads_one_or_two_sentences(lab, check):
    assert check.consolidation, f"{lab.name}: {check.todo} has no consolidation"
    sentences = re.findall(r"[.!?](?= |$)", check.consolidation)
    assert 1 <= len(sentences) <= 2 and check.consolidation[-1] in ".!?"
    others = [other.todo for other in load_checks(lab.checks) if "_" in other.todo]
    assert [todo for todo in others if todo in check.consolidation] == []


@pytest.mark.parametrize(("lab", "check"), TODOS)
def test_a_skeleton_is_code_with_gaps(lab, check):
    source = skeleton(lab, check)
    gaps = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant) and node.value is ...]
    assert len(gaps) >= 1
    assert check.todo in bound_names(source)
    assert all(len(line) <= 88 for line in source.splitlines())


@pytest.mark.parametrize(("lab", "check"), TODOS)
def test_a_skeleton_leaves_a_third_of_the_solution_to_write(lab, check):
    regions = re.findall(r"BEGIN SOLUTION(.*?)### END SOLUTION", solution_cells(lab.source)[check.todo], re.DOTALL)
    lines = [line.strip() for region in regions for line in region.splitlines() if line.strip()]
    given = [line for line in lines if line in skeleton(lab, check)]
    assert len(given) <= 2 / 3 * len(lines), given


@pytest.mark.sample(4)
@pytest.mark.parametrize(("lab", "check"), TODOS)
def test_a_skeleton_does_not_pass(worlds, lab, check):
    world = worlds.of(lab)
    cases, seen = contract.draw_cases(check, SEED), []
    for number, case in enumerate(cases, 1):
        seen += contract.gather(check, world, Subject(check.todo, skeleton(lab, check)), [case])
        if not contract.judge(check, cases[:number], seen, SEED).passed:
            return
    pytest.fail(f"{lab.name}: the skeleton of {check.todo} is an answer (seed {SEED})")
