"""Imports go down only, in the order that design.md gives and without a circle, and no verdict goes where student code
runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from itertools import combinations

import pytest

from autograde.labs.folder import Lab, find_labs
from autograde.labs.places import REPOSITORY
from autograde.sandbox.needed_modules import imported, modules_needed
from autograde.sandbox.pool import Sandboxes
from autograde.sandbox.resources.limits import Limits

# Folders and single modules, each after all that it may import.
CHAINS = {
    "autograde": (
        "cells contract labs fixtures probes rubric",
        "labs sandbox slurm classroom term class_pages class_commands cli __main__",
        "classroom one_line class_commands",
        "labs hints making classroom",
        "rubric making",
        "rubric slurm",
        "making lectures cli",
        "labs trying cli",
        "sandbox mutants rewritings cli",
        "slurm notebook",
        "hints notebook",
        "labs validating notebook",
        "sandbox doctor_world doctor cli",
        "asking doctor",
        "install",
    ),
    "course": (
        "files data models figures",
        "files ports processes calls world batch figures",
        "watch world",
        "watch exchange",
        "watch simulated",
        "watch profiles figures",
        "files exchange corrections jupyterhub figures",
        "processes jupyterhub",
        "processes jupyterlab",
        "lab_choice jupyterhub",
        "lab_archive lab",
        "lab_archive exchange",
        "lectures",
        "lab",
        "homes processes",
        "files homes overview exchange jupyterhub",
        "notebook_file corrections",
        "notebook_file batch",
    ),
}


def below(package: str) -> set[tuple[str, str]]:
    """All pairs of a lower room and a higher one that may import it."""
    pairs = {pair for chain in CHAINS[package] for pair in combinations(chain.split(), 2)}
    while more := {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs:
        pairs |= more
    return pairs


def imports(package: str) -> Iterator[tuple[str, str]]:
    """The module that imports, and the module or name that it imports, also inside of functions."""
    for path in sorted((REPOSITORY / package).rglob("*.py")):
        parts = path.relative_to(REPOSITORY).with_suffix("").parts
        for name in sorted(imported(ast.parse(path.read_text(encoding="utf-8")), ".".join(parts[:-1]))):
            yield ".".join(parts), name


def room(module: str) -> str:
    """The folder of a package that a module is in, or its own name if it is in none."""
    return [*module.split("."), ""][1]


@pytest.mark.parametrize("package", CHAINS)
def test_imports_go_down_only(package):
    ordered = {name for chain in CHAINS[package] for name in chain.split()}
    folders = {path.name for path in (REPOSITORY / package).iterdir() if path.is_dir() and list(path.rglob("*.py"))}
    assert folders <= ordered, "a folder that the order does not know"
    wrong = [
        f"{module} imports {name}"
        for module, name in imports(package)
        if room(module) in ordered  # single modules that the order does not name belong to one lab each, and go there
        and name.startswith(f"{package}.")
        and room(name) != room(module)
        and (room(name), room(module)) not in below(package)
    ]
    assert wrong == []


def test_no_file_imports_itself_by_way_of_others():
    arrows = [arrow for package in CHAINS for arrow in imports(package)]
    files = {module for module, _ in arrows}
    graph = TopologicalSorter()
    for module, name in arrows:
        graph.add(module, *{name} & files)
    graph.prepare()  # raises CycleError, which names the circle


def test_what_students_have_imports_nothing_of_the_grader():
    wrong = [
        f"{module} imports {name}"
        for module, name in imports("course")
        if name.partition(".")[0] == "autograde" and (REPOSITORY / "course" / room(module)).is_dir()
    ]
    assert wrong == []


@pytest.mark.parametrize("lab", find_labs(REPOSITORY), ids=lambda lab: lab.name)
def test_no_verdict_is_shown_to_student_code(lab: Lab):
    shown = modules_needed(Sandboxes(lab, Limits(), sandboxed=False).checks.values(), "autograde.sandbox.fork_server")
    assert [path for path in shown if path.is_relative_to(REPOSITORY / "autograde" / "rubric")] == []
