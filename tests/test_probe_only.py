"""What goes into the sandbox: a lab's probes without its cases and verdicts, and the modules that they need."""

from __future__ import annotations

import ast
import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograde.build import instructor_notebook
from autograde.check import Check, draw_cases, gather
from autograde.labs import Lab, LabError, find_labs, load_checks, load_ranks, load_variants
from autograde.probe_only import modules_needed, probe_only
from autograde.subject import Subject
from course.world import World

pytestmark = pytest.mark.side_by_side

ROOT = Path(__file__).resolve().parents[1]
LABS = find_labs(ROOT)
# What differs from run to run. "returned" is the file that a rank finds on its return: a wrong answer may not wait.
TIMES = {"seconds", "start", "end", "elapsed", "returned"}
RACING = {"not_waited_for"}  # wrong answers that read what may not be there yet: what they return differs, too
VERDICT_SIDE = {f"autograde/{name}.py" for name in ("build", "collectives", "findings", "results", "schema")}

TEXT = '''
"""Checks."""
from __future__ import annotations
import math
import json as encoder
from os import path, sep
from autograde import check as contract
from autograde.findings import Findings
from autograde.schema import number, record
from pathlib import *

finding = Findings("too-late 1\\nThe secret message.")
SCALE = math.pi
TABLE = {}
TABLE["a"] = SCALE
TABLE.update(b=2)
finding.known.clear()
RANKS, UNUSED = 3, 4
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


class First(Base):
    def probe(self, world, subject, case):
        record = [1]
        number = lambda number: number
        return helper(self.add(number(TABLE["a"]) + sum(record))) if world is None else world.verdict


CHECKS = [First("a")]
CHECKS.append(First("b"))
'''


def test_what_probes_mention_is_kept_and_nothing_else():
    cut = probe_only(TEXT, "checks.py")
    tree = ast.parse(cut)
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
        "judge",
        "schema",
        "costs",
        "finding",
        "unused",
        "__main__",
    ):
        assert gone not in cut
    module: dict = {}
    exec(compile(cut, "checks.py", "exec"), module)
    assert [check.todo for check in module["CHECKS"]] == ["a", "b"]
    assert module["RANKS"] == 3 and module["TABLE"] == {"a": module["SCALE"], "b": 2}
    assert json.loads(module["CHECKS"][0].probe(None, None, {})) == pytest.approx(5 + 1 + 3.14159265)


@pytest.mark.parametrize(("text", "why"), [("def", "SyntaxError"), ("x = 1", "CHECKS"), ("x = '\0'", "does not load")])
def test_a_text_that_is_no_checks_py_is_named(text, why):
    with pytest.raises(LabError, match=f"the_lab.*{why}"):
        probe_only(text, "the_lab")


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_no_case_verdict_or_finding_of_a_lab_is_in_what_is_kept(lab):
    cut, full = probe_only(lab.checks.read_text(), lab.name), lab.checks.read_text()
    for gone in (
        "def verdict",
        "def cases",
        "def schema",
        "HIDDEN",
        "Finding",
        "autograde.schema",
        "autograde.results",
    ):
        assert gone in full or gone == "autograde.results"
        assert gone not in cut
    # Findings of a lab are in its checks.py, and in modules that only its verdicts need.
    sent = {*modules_needed(cut, "autograde.zygote")}  # as `autograde.sandbox` has it
    kept_back = {*modules_needed(full)} - sent
    keys = set().union(keys_in(full), *(keys_in(path.read_text()) for path in kept_back))
    assert len(keys) >= 10
    texts = {"cut": cut} | {path.name: path.read_text() for path in sent if path.name != "check.py"}
    assert [(key, name) for key in sorted(keys) for name, text in texts.items() if mentions(text, key)] == []
    assert [name for name, text in texts.items() if keys_in(text)] == []


def keys_in(text: str) -> set[str]:
    """Keys of the findings that a module makes."""
    return {*re.findall(r'Finding\(\s*"([\w-]+)"', text), *re.findall(r"^([a-z][a-z-]*) [\d.]+$", text, re.MULTILINE)}


def mentions(text: str, key: str) -> bool:
    """Whether a text has the key of a finding; of a single word, which may mean other things, only as a finding's."""
    if "-" in key:
        return re.search(rf"(?<![\w-]){key}(?![\w-])", text) is not None
    return re.search(rf"^{key} [\d.]+$|[Ff]inding\(\s*['\"]{key}['\"]", text, re.MULTILINE) is not None


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_what_a_lab_needs_of_autograde_runs_where_nothing_else_is(lab, tmp_path):
    cut = probe_only(lab.checks.read_text(), lab.name)
    needed = modules_needed(cut, "autograde.labs")
    names = [path.relative_to(ROOT).as_posix() for path in needed]
    assert {"autograde/__init__.py", "autograde/check.py", "autograde/labs.py"} <= set(names)
    assert VERDICT_SIDE & set(names) == set()
    for path in needed:
        (tmp_path / path.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, tmp_path / path.relative_to(ROOT))
    shutil.copytree(ROOT / "course", tmp_path / "course")
    (tmp_path / "checks.py").write_text(cut)
    program = "from autograde.labs import *; print([c.todo for c in load_checks('checks.py', probes_only=True)])"
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.stdout.strip() == str([check.todo for check in load_checks(lab.checks)]), ran.stderr


def test_modules_are_followed_wherever_they_are_imported():
    def needed(text: str, *start: str) -> set[str]:
        return {path.relative_to(ROOT / "autograde").as_posix() for path in modules_needed(text, *start)}

    assert needed("") == {"__init__.py"}
    assert needed("from autograde import subject") == {"__init__.py", "subject.py"}
    assert needed("def f():\n    import autograde.findings as g") == {"__init__.py", "findings.py", "check.py"}
    assert needed("", "autograde.install.kit") >= {"__init__.py", "install/__init__.py", "install/kit.py"}
    assert needed("import autogrades, numpy.random") == {"__init__.py"}
    with pytest.raises(LabError, match="no module autograde"):
        needed("", "autograde.missing")


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """Ranks for all labs."""
    with World(max(load_ranks(lab.checks) for lab in LABS), progress=False) as started:
        yield started


def right_answer(lab: Lab, todo: str) -> str:
    """The lab's own answer to a TODO."""
    return next(cell.source for cell in instructor_notebook(lab).cells if cell.id == todo)


def wrong_answers(lab: Lab, todo: str) -> list[str]:
    """The wrong answers to a TODO, in an order that is drawn, but for those that race."""
    wrong = load_variants(lab.variants)[1][todo]
    answers = [variant.source for name, variant in wrong.items() if name not in RACING]
    return random.Random(todo).sample(answers, len(answers))


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_the_probes_that_are_kept_give_the_evidence_that_the_full_ones_give(world, lab, tmp_path):
    (tmp_path / "checks.py").write_text(probe_only(lab.checks.read_text(), lab.name))
    kept = load_checks(tmp_path / "checks.py", probes_only=True)
    for full, cut in zip(load_checks(lab.checks), kept, strict=True):
        drawn = draw_cases(full, seed=3)
        cases = random.Random(full.todo).sample(drawn, min(3, len(drawn)))
        right = right_answer(lab, full.todo)
        seen = evidence(full, world, right, cases)
        assert ended(seen)
        assert evidence(cut, world, right, cases) == seen
        for wrong in wrong_answers(lab, full.todo):
            if ended(seen := evidence(full, world, wrong, cases[:2])):
                assert evidence(cut, world, wrong, cases[:2]) == seen
                break
        else:
            pytest.fail(f"{full.todo}: no wrong answer comes to its end")


def evidence(check: Check, world: World, source: str, cases: list[dict]) -> list:
    """What the probe gives, without times."""

    def timeless(part: object) -> object:
        if isinstance(part, dict):
            return {key: timeless(value) for key, value in part.items() if key not in TIMES}
        return [timeless(each) for each in part] if isinstance(part, list) else part

    return timeless(gather(check, world, Subject(check.todo, source), cases))


def ended(part: object) -> bool:
    """Whether all runs in an evidence came to their end on every rank.

    Of others it depends on the moment what the ranks were at, and a traceback has the lines of checks.py, which the cut
    one has elsewhere.
    """
    if isinstance(part, dict) and "ranks" in part and "state" in part:
        return part["state"] == "ok"
    values = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return all(map(ended, values))
