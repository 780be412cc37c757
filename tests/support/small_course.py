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
check = Checker(world)


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
from autograde.rubric import CallCheck, Criterion, Words

from ..probes import double

words = Words("""
not-double: {actual} is not twice {x}.

sign-lost: A negative number comes out wrong.
""")


def doubled(call):
    x, actual = call.arguments["x"], call.seen[0].value.value
    return None if actual == 2 * x else words("sign-lost" if x < 0 else "not-double", x=x, actual=actual)


CHECK = CallCheck.of(
    "double",
    double.PROBE,
    lambda rng: [(None, {"x": rng.randrange(1, 100)}), (None, {"x": -rng.randrange(1, 100)})],
    Criterion("twice", 1.5, "it returns twice the number", doubled, on=lambda call: call["x"] > 0),
    Criterion("negative", 0.5, "of a negative number, too", doubled, on=lambda call: call["x"] < 0),
    repeats=False,
)
# == total.py
from autograde.rubric import CallCheck, Criterion, Words

from ..probes import total
from . import RANKS

words = Words("not-total: The ranks' numbers are not summed.")


def summed(call):
    due = RANKS * call.arguments["x"] + sum(range(RANKS))
    return None if all(each.value.value == due for each in call.seen) else words("not-total")


CHECK = CallCheck.of(
    "total",
    total.PROBE,
    lambda rng: [(RANKS, {"x": rng.randrange(1, 100)})],
    Criterion("sum", 3, "each rank returns the sum of the ranks' numbers", summed),
    repeats=False,
)
'''

PROBES_PY = """
# == __init__.py
# == double.py
from autograde.contract.call_probe import CallProbe
from autograde.contract.evidence import Evidence, Number


class Seen(Evidence):
    value: Number


def call(double, rank, call):
    return Seen(Number.of(double(call["x"])))


PROBE = CallProbe(Seen, call, deadline=10)
# == total.py
from autograde.contract.call_probe import CallProbe
from autograde.contract.evidence import Evidence, Number


class Seen(Evidence):
    value: Number


def call(total, rank, call):
    return Seen(Number.of(total(rank.comm, call["x"] + rank.rank)))


PROBE = CallProbe(Seen, call, deadline=10)
"""

VARIANTS_PY = "# == __init__.py\n# == double.py\nANSWERS = ''\n# == total.py\nANSWERS = ''\n"

ANSWERS = {
    "double": "def double(x):\n    return 2 * x",
    "total": "def total(comm, x):\n    return comm.allreduce(x)",
}


def make_course(root: Path, lab: str = LAB_PY, checks: str = CHECKS_PY, probes: str = PROBES_PY) -> Path:
    """Write a course with one lab to `root`, and return that."""
    folder = root / "solutions" / LAB
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lab.py").write_text(lab.lstrip("\n"))
    for name, text in (("checks", checks), ("probes", probes)):
        shutil.rmtree(folder / name, ignore_errors=True)
        write_package(folder / name, text)
    write_package(folder / "variants", VARIANTS_PY)
    (folder / "data.txt").write_text("1 2 3\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / ".hidden").write_text("left by an editor\n")
    return root
