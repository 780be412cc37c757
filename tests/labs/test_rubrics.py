"""Rubrics of the labs: each criterion is said once, and students read it in the docstring of its TODO."""

from __future__ import annotations

import ast

import pytest
from labs_under_test import LABS

from autograde.cells.parsing import parse
from autograde.labs.folder import Lab, load_checks, solution_cells
from autograde.making.build import instructor_notebook, release
from autograde.rubric import CallCheck

each_lab = pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)


def rubrics(lab: Lab) -> list[CallCheck]:
    """The checks of a lab, which are all of this form."""
    checks = load_checks(lab.checks)
    assert all(isinstance(check, CallCheck) for check in checks)
    return checks


def docstring(source: str, todo: str) -> str:
    """Of the function or class that the student writes, without line breaks."""
    nodes = [node for node in ast.walk(parse(source)) if getattr(node, "name", None) == todo]
    return " ".join((ast.get_docstring(nodes[0]) or "").split())


def released(lab: Lab) -> dict[str, str]:
    """The cells that students get, by name."""
    return {cell.id: cell.source for cell in release(instructor_notebook(lab)).cells}


@each_lab
def test_a_built_docstring_has_each_criterion_with_its_points_once(lab):
    cells = released(lab)
    for check in rubrics(lab):
        contract = docstring(cells[check.todo], check.todo)
        assert contract.count("What is checked:") == 1, check.todo
        listed = contract.partition("What is checked:")[2]
        rows = [f"- {row.points:g} point{'s' * (row.points != 1)}: {row.says}" for row in check.criteria]
        assert listed.split() == " ".join(rows).split(), check.todo


@each_lab
def test_what_a_criterion_says_is_not_said_again_in_the_labs_source(lab):
    cells = solution_cells(lab.source)
    for check in rubrics(lab):
        contract = docstring(cells[check.todo], check.todo)
        assert [row.says for row in check.criteria if row.says in contract] == [], check.todo


@each_lab
def test_a_rubric_has_a_few_criteria_whose_names_and_points_make_sense(lab):
    for check in rubrics(lab):
        names = [row.name for row in check.criteria]
        assert 2 <= len(names) == len({*names}) <= 5, check.todo
        assert all(row.points > 0 for row in check.criteria), check.todo
        for place, row in enumerate(check.criteria):
            assert {*row.after} <= {*names[:place]}, f"{check.todo}: {row.name} comes after what stands before it"
