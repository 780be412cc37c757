"""A small course with one lab, for tests of building and grading that need no lab of the course's own."""

from __future__ import annotations

import shutil
from pathlib import Path

from lab_packages import write_package

LAB = "90_small"

LAB_PY = '''
# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # A small lab

# %% folded=true
# Starts the ranks.
from autograde.notebook import Checker
from course.world import World

world = World(2)
check = Checker("checks", world)


# %% todo="double"
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    return x + x  # nobody has thought of this before
    ### END SOLUTION


# %% check="double"
check("double")

# %% [markdown] tags=["aside"]
# Now with ranks.


# %% todo="total"
def total(comm, x):
    """The sum of x over the ranks of comm."""
    ### BEGIN SOLUTION
    return comm.allreduce(x)  # nor has anybody thought of that
    ### END SOLUTION


# %% check="total"
check("total")
'''

CHECKS_PY = '''
# == __init__.py
"""Checks of a small lab."""

RANKS = 2
# == double.py
from autograde.contract.check import Check
from autograde.contract.verdict import Finding
from autograde.contract.trouble import trouble
from autograde.contract.schema import outcome


def call_double(subject, case):
    return subject.load()(case["x"])


class Double(Check):
    todo = "double"
    points = 2

    def cases(self, rng):
        drawn = [{"x": rng.randrange(1, 100)}]
        ### BEGIN HIDDEN CASES
        drawn.append({"x": -rng.randrange(1, 100)})
        ### END HIDDEN CASES
        return drawn

    def probe(self, world, subject, case):
        return world.attempt(call_double, subject, case, size=1, deadline=10).plain()

    def schema(self, case):
        return outcome(1, {})

    def verdict(self, case, evidence):
        if found := trouble(evidence, self.points):
            return found
        got = evidence["ranks"][0]["result"]
        if got == 2 * case["x"]:
            return []
        if case["x"] < 0:
            return [Finding("sign-lost", "A negative number comes out wrong.", 0.5)]
        return [Finding("not-double", f"{got} is not twice {case['x']}.", 2)]


CHECK = Double()
# == total.py
from autograde.contract.check import Check
from autograde.contract.schema import outcome
from autograde.contract.trouble import trouble
from autograde.contract.verdict import Finding
from course.world import COMM

from . import RANKS


def call_total(subject, case, comm):
    return subject.load()(comm, case["x"] + comm.rank)


class Total(Check):
    todo = "total"
    points = 3

    def cases(self, rng):
        return [{"x": rng.randrange(1, 100)}]

    def probe(self, world, subject, case):
        return world.attempt(call_total, subject, case, COMM, deadline=10).plain()

    def schema(self, case):
        return outcome(RANKS, {})

    def verdict(self, case, evidence):
        if found := trouble(evidence, self.points):
            return found
        if all(rank["result"] == 2 * case["x"] + 1 for rank in evidence["ranks"]):
            return []
        return [Finding("not-total", "The ranks' numbers are not summed.", 3)]


CHECK = Total()
'''

VARIANTS_PY = "# == __init__.py\n# == double.py\nANSWERS = ''\n# == total.py\nANSWERS = ''\n"

ANSWERS = {
    "double": "def double(x):\n    return 2 * x",
    "total": "def total(comm, x):\n    return comm.allreduce(x)",
}


def make_course(root: Path, lab: str = LAB_PY, checks: str = CHECKS_PY) -> Path:
    """Write a course with one lab to `root`, and return that."""
    folder = root / "solutions" / LAB
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lab.py").write_text(lab.lstrip("\n"))
    shutil.rmtree(folder / "checks", ignore_errors=True)
    write_package(folder / "checks", checks)
    write_package(folder / "variants", VARIANTS_PY)
    (folder / "data.txt").write_text("1 2 3\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / ".hidden").write_text("left by an editor\n")
    return root
