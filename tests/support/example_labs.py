"""Labs that tests take for an example: some lab of this repository, by what it has and not by its name.

Whichever labs are there, such a test has one, or is skipped and says what it misses.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from labs_under_test import OURS

from autograde.labs.folder import Lab, load_checks


def labs_with(count: int, what: str, has: Callable[[Lab], bool] = lambda lab: True) -> list[Lab]:
    """The first `count` of our labs that have it. what: the same in words. Skips the tests of a module without them."""
    found = [lab for lab in OURS if has(lab)][:count]
    if len(found) < count:
        pytest.skip(f"there are no {count} labs {what}", allow_module_level=True)
    return found


def lab_of_the_story(name: str) -> Lab:
    """The lab whose words and answers a module of tests knows. Skips the tests of the module where it is not there."""
    [lab] = labs_with(1, f"called {name}", lambda lab: lab.name == name)
    return lab


def begins_with_a_picture(lab: Lab) -> bool:
    """Whether the first cell of its notebook that is code draws one."""
    cells = lab.source.read_text(encoding="utf-8").split("\n# %%")
    return "_picture(" in next(cell for cell in cells[1:] if not cell.startswith(" [markdown]"))


def has_world(lab: Lab) -> bool:
    """Whether its notebook starts ranks by the name `world`, before the first check."""
    return "world = World(" in lab.source.read_text(encoding="utf-8").partition("# %% check=")[0]


def todos_of(lab: Lab) -> list[str]:
    """The names of its TODOs, in order."""
    return [check.todo for check in load_checks(lab.checks)]


def title_of(lab: Lab) -> str:
    """The heading of its notebook, such as "03 Pi on several ranks"."""
    lines = lab.source.read_text(encoding="utf-8").splitlines()
    return next(line.removeprefix("# # ") for line in lines if line.startswith("# # "))
