"""Grading tries more cases than the notebook, and no kind of case that the notebook does not show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from labs_under_test import COURSE, LABS

from autograde.contract import check as contract
from autograde.contract.labs import Lab, load_checks
from autograde.contract.places import LABS as RELEASED

SEEDS = range(40)
TYPES = ("float", "bfloat", "int")  # names with digits that are not drawn
NODES = {"nodelist", "job_nodelist"}  # all of Slurm's forms are shown; how many nodes are in each is drawn
SIZES = {"size", "local_size", "gpus"}  # where 0 and 1 are other kinds than more


def kinds(value: Any, path: str = "", key: str = "") -> Iterator[tuple]:
    """What kind of case it is: by path, each flag and word, no ranks or one, fewer GPUs than ranks or more.

    A list of flags counts as the first and the others. Names and numbers that are drawn count by their form.
    """
    if isinstance(value, dict):
        for name, each in value.items():
            yield from kinds(each, f"{path}.{name}", name)
        if "gpus" in value and "local_size" in value:
            yield path, "GPUs beyond ranks", max(-1, min(value["gpus"] - value["local_size"], 1))
    elif isinstance(value, list):
        if key == "ranks":
            yield path, "ranks", min(len(value), 2)
        if value and all(isinstance(each, bool) for each in value):
            yield path, "first", value[0], "others", *sorted({*value[1:]})
        for each in value:
            yield from kinds(each, f"{path}[]")
    elif isinstance(value, str) and key not in NODES:
        yield path, value if value.startswith(TYPES) else re.sub("[a-z]+(?=[0-9-])", "a", re.sub("[0-9]+", "1", value))
    elif isinstance(value, bool) or value is None or (key in SIZES and isinstance(value, int)):
        yield path, min(value, 2) if key in SIZES and value is not None else value


@cache
def kinds_by_todo(checks: Path) -> dict[str, set[tuple]]:
    """The kinds of all cases that the checks in a folder draw."""
    return {
        check.todo: {kind for seed in SEEDS for case in contract.draw_cases(check, seed) for kind in kinds(case)}
        for check in load_checks(checks)
    }


@pytest.mark.parametrize(
    "lab", [lab for lab in LABS if (COURSE / RELEASED / lab.name).is_dir()], ids=lambda lab: lab.name
)
def test_no_hidden_case_is_of_a_kind_that_the_notebook_does_not_show(lab: Lab):
    shown = kinds_by_todo(COURSE / RELEASED / lab.name / "checks")
    new = {todo: sorted(map(str, every - shown[todo])) for todo, every in kinds_by_todo(lab.checks).items()}
    assert {todo: found for todo, found in new.items() if found} == {}
