"""What goes into the sandbox: a lab's probes without its cases and verdicts, and the modules that they need."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from autograde.contract.labs import LabError, load_checks, load_package
from autograde.sandbox.probe_only import modules_needed, probe_only

ROOT = Path(__file__).resolve().parents[2]

# Two checks, as the modules of one lab; the base of the second is in a module beside it.
TEXT = '''
"""Checks."""
from __future__ import annotations
import math
import json as encoder
from os import path, sep
from autograde.contract import check as contract
from autograde.contract.findings import Findings
from autograde.contract.schema import number, record
from pathlib import *

finding = Findings("too-late 1\\nThe secret message.")
SCALE = math.pi
TABLE = {}
TABLE["a"] = SCALE
TABLE.update(b=2)
finding.known.clear()
RANKS = 3
if RANKS > 2:
    def helper(value):
        return encoder.dumps(value)
else:
    helper = None
if __name__ == "__main__":
    main()


def hidden_cases(rng):
    """BEGIN HIDDEN"""


def unused():
    return finding("too-late")


class Root:
    offset = 5

    def schema(self, case):
        return number()


class Mixin(Root):
    def cases(self, rng):
        return hidden_cases(rng)

    def add(self, value):
        return value + self.offset


class Base(Mixin, contract.Check):
    costs = {"secret": 1}
    points = 2

    def __init__(self, todo):
        self.todo = todo

    def verdict(self, case, evidence):
        return self.judge(evidence)

    def judge(self, evidence):
        return [finding("too-late")]

    def shape(self, case):
        return number()


class First(Base):
    def probe(self, world, subject, case):
        record = [1]
        number = lambda number: number
        return helper(self.add(number(TABLE["a"]) + sum(record))) if world is None else world.verdict or world.shape


CHECK = First("a")
'''
SECOND = """
from autograde.verdicts.numbers import compared

from . import RANKS
from .a import First, Judged, unused


class Second(First, compared.Judged):
    def verdict(self, case, evidence):
        return unused()

    def probe(self, world, subject, case):
        return RANKS


CHECK = Second("b")
"""
BOTH = {"__init__.py": "RANKS, UNUSED = 3, 4", "a.py": TEXT, "b.py": SECOND, "later.py": "unused = 1"}


def test_what_probes_mention_is_kept_and_nothing_else(tmp_path):
    modules = probe_only(BOTH, "the_lab")
    assert [*modules] == ["__init__.py", "a.py", "b.py"]
    cut = "\n".join(modules.values())
    tree = ast.parse(modules["a.py"])
    names = {
        alias.name for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names
    }
    assert names == {"annotations", "math", "json", "check", "*"}
    assert [node.name for node in tree.body if isinstance(node, ast.ClassDef)] == ["Root", "Mixin", "Base", "First"]
    for gone in (
        "secret",
        "HIDDEN",
        "cases",
        "def verdict",
        "def shape",
        "judge",
        "schema",
        "costs",
        "finding",
        "unused",
        "__main__",
    ):
        assert gone not in cut
    for name, text in modules.items():
        (tmp_path / name).write_text(text)
    loaded, first, second = load_package(tmp_path), *load_checks(tmp_path, probes_only=True)
    assert [first.todo, second.todo] == ["a", "b"] and second.probe(None, None, {}) == 3
    module = loaded["a"]
    assert module.RANKS == 3 and module.TABLE == {"a": module.SCALE, "b": 2}
    assert json.loads(first.probe(None, None, {})) == pytest.approx(5 + 1 + 3.14159265)
    assert [base.__name__ for base in type(second).__bases__] == ["First"]


@pytest.mark.parametrize(("text", "why"), [("def", "SyntaxError"), ("x = 1", "CHECK"), ("x = '\0'", "does not load")])
def test_a_text_that_is_no_check_is_named(text, why):
    with pytest.raises(LabError, match=f"the_lab.*{why}"):
        probe_only({"a.py": text}, "the_lab")


def test_modules_are_followed_wherever_they_are_imported():
    def needed(text: str, *start: str) -> set[str]:
        return {path.relative_to(ROOT / "autograde").as_posix() for path in modules_needed([text], *start)}

    assert needed("") == {"__init__.py"}
    assert needed("from autograde.contract import subject") == {
        "__init__.py",
        "contract/__init__.py",
        *(f"contract/{name}.py" for name in ("cell_code", "parsing", "salted_hash", "subject")),
    }
    assert needed("def f():\n    import autograde.contract.findings as g") == {
        "__init__.py",
        *(f"contract/{name}.py" for name in ("__init__", "cell_code", "findings", "parsing", "verdict")),
    }
    assert needed("", "autograde.install.kit") >= {"__init__.py", "install/__init__.py", "install/kit.py"}
    assert needed("import autogrades, numpy.random") == {"__init__.py"}
    with pytest.raises(LabError, match="no module autograde"):
        needed("", "autograde.missing")
