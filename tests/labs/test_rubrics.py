"""Rubrics of the labs: what a criterion says, the TODO's docstring says, too."""

from __future__ import annotations

import ast

import pytest
from labs_under_test import LABS

from autograde.contract.labs import has_probes, load_checks, solution_cells
from autograde.contract.parsing import parse

WITH_RUBRICS = [lab for lab in LABS if has_probes(lab.checks)]


def docstring(source: str, todo: str) -> str:
    """Of the function or class that the student writes, without line breaks."""
    nodes = [node for node in ast.walk(parse(source)) if getattr(node, "name", None) == todo]
    return " ".join((ast.get_docstring(nodes[0]) or "").split())


@pytest.mark.parametrize("lab", WITH_RUBRICS, ids=lambda lab: lab.name)
def test_a_docstring_says_what_each_criterion_says(lab):
    cells = solution_cells(lab.source)
    for check in load_checks(lab.checks):
        contract = docstring(cells[check.todo], check.todo)
        assert [row.says for row in check.criteria if row.says not in contract] == [], check.todo


@pytest.mark.parametrize("lab", WITH_RUBRICS, ids=lambda lab: lab.name)
def test_a_rubric_has_a_few_criteria_whose_names_and_points_make_sense(lab):
    for check in load_checks(lab.checks):
        names = [row.name for row in check.criteria]
        assert 2 <= len(names) == len({*names}) <= 5, check.todo
        assert all(row.points > 0 for row in check.criteria), check.todo
        for place, row in enumerate(check.criteria):
            assert {*row.after} <= {*names[:place]}, f"{check.todo}: {row.name} comes after what stands before it"
