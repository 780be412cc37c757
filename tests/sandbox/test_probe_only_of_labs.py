"""What goes into the sandbox of each lab: no case, verdict or finding, and probes that give what the full ones give."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from labs_under_test import LABS as ALL_LABS
from labs_under_test import OURS

from autograde.build import instructor_notebook
from autograde.contract.check import Check, draw_cases, gather
from autograde.contract.labs import Lab, has_probes, load_checks, load_variants, read_package
from autograde.contract.subject import Subject
from autograde.sandbox.probe_only import modules_needed, probe_only
from course.world import World

LABS = [lab for lab in ALL_LABS if not has_probes(lab.checks)]  # the others need no cutting
ROOT = Path(__file__).resolve().parents[2]
# What differs from run to run. "returned" is the file that a rank finds on its return: a wrong answer may not wait.
TIMES = {"seconds", "start", "waited", "end", "elapsed", "returned"}
RACING = {"not_waited_for"}  # wrong answers that read what may not be there yet: what they return differs, too
VERDICT_SIDE = {
    *("autograde/build.py", "autograde/contract/findings.py", "autograde/contract/schema.py"),
    *(f"autograde/verdicts/{name}.py" for name in ("collectives", "numbers")),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_no_case_verdict_or_finding_of_a_lab_is_in_what_is_kept(lab):
    modules = read_package(lab.checks)
    cut_modules = probe_only(modules, lab.name)
    cut, full = "\n".join(cut_modules.values()), "\n".join(modules.values())
    for gone in ("def cases", "def judge", "def shape", "HIDDEN CASES", "Finding", "autograde.contract.schema"):
        assert gone in full or lab not in OURS, gone
        assert gone not in cut
    for gone in ("def verdict", "def schema", "def unfinished", "autograde.verdicts"):
        assert gone not in cut
    # Findings of a lab are in its checks, and in modules that only its verdicts need.
    sent = {*modules_needed(cut_modules.values(), "autograde.sandbox.fork_server")}  # as in `sandbox.bubblewrap`
    kept_back = {*modules_needed(modules.values())} - sent
    keys = set().union(keys_in(full), *(keys_in(path.read_text()) for path in kept_back))
    assert len(keys) >= (10 if lab in OURS else 1)
    texts = {"cut": cut} | {path.name: path.read_text() for path in sent if path.name not in ("check.py", "trouble.py")}
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


@pytest.mark.sample(1)
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_what_a_lab_needs_of_autograde_runs_where_nothing_else_is(lab, tmp_path):
    cut = probe_only(read_package(lab.checks), lab.name)
    needed = modules_needed(cut.values(), "autograde.contract.labs")
    names = [path.relative_to(ROOT).as_posix() for path in needed]
    assert {"autograde/__init__.py", "autograde/contract/check.py", "autograde/contract/labs.py"} <= set(names)
    assert VERDICT_SIDE & set(names) == set()
    for path in needed:
        (tmp_path / path.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, tmp_path / path.relative_to(ROOT))
    shutil.copytree(ROOT / "course", tmp_path / "course")
    (tmp_path / "checks").mkdir()
    for name, text in cut.items():
        (tmp_path / "checks" / name).write_text(text)
    program = "from autograde.contract.labs import *; print([c.todo for c in load_checks('checks', probes_only=True)])"
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert ran.stdout.strip() == str(sorted(check.todo for check in load_checks(lab.checks))), ran.stderr


def right_answer(lab: Lab, todo: str) -> str:
    """The lab's own answer to a TODO."""
    return next(cell.source for cell in instructor_notebook(lab).cells if cell.id == todo)


def wrong_answers(lab: Lab, todo: str) -> list[str]:
    """The wrong answers to a TODO, in an order that is drawn, but for those that race."""
    wrong = load_variants(lab.variants)[1][todo]
    answers = [variant.source for name, variant in wrong.items() if name not in RACING]
    return random.Random(todo).sample(answers, len(answers))


@pytest.mark.sample(1)
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_the_probes_that_are_kept_give_the_evidence_that_the_full_ones_give(worlds, lab, tmp_path):
    for name, text in probe_only(read_package(lab.checks), lab.name).items():
        (tmp_path / name).write_text(text)
    world = worlds.of(lab)
    kept = {check.todo: check for check in load_checks(tmp_path, probes_only=True)}
    for full in load_checks(lab.checks):
        cut = kept[full.todo]
        drawn = draw_cases(full, seed=3)
        cases = random.Random(full.todo).sample(drawn, min(3, len(drawn)))
        seen = same_evidence(full, cut, world, right_answer(lab, full.todo), cases)
        assert ended(seen)
        for wrong in wrong_answers(lab, full.todo):
            if ended(evidence(full, world, wrong, cases[:2])):
                same_evidence(full, cut, world, wrong, cases[:2])
                break
        else:
            pytest.fail(f"{full.todo}: no wrong answer comes to its end")


def same_evidence(full: Check, cut: Check, world: World, source: str, cases: list[dict]) -> list:
    """The evidence that both checks' probes give. Where ranks receive from whoever comes first, two runs of one probe
    differ, too: then both have to give the same kinds of things."""
    seen, other = evidence(full, world, source, cases), evidence(cut, world, source, cases)
    if other != seen and evidence(full, world, source, cases) != seen:
        assert kinds(other) == kinds(seen)
    else:
        assert other == seen
    return seen


def kinds(part: object, path: str = "") -> set[str]:
    """What there is in an evidence, as paths of keys: without values, and without how many or which rank has it."""
    if isinstance(part, dict):
        return {path}.union(*(kinds(value, f"{path}.{key}") for key, value in part.items()))
    return {path}.union(*(kinds(each, path) for each in part)) if isinstance(part, list) else {path}


def evidence(check: Check, world: World, source: str, cases: list[dict]) -> list:
    """What the probe gives, without times."""

    def timeless(part: object) -> object:
        if isinstance(part, dict):
            return {key: timeless(value) for key, value in part.items() if key not in TIMES}
        return [timeless(each) for each in part] if isinstance(part, list) else part

    return timeless(gather(check, world, Subject(check.todo, source), cases))


def ended(part: object) -> bool:
    """Whether all runs in an evidence came to their end on every rank.

    Of others it depends on the moment what the ranks were at, and a traceback has the lines of a check, which the cut
    one has elsewhere.
    """
    if isinstance(part, dict) and "ranks" in part and "state" in part:
        return part["state"] == "ok"
    values = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return all(map(ended, values))
