"""Honest evidence of a TODO fits its schema; what is changed is refused or worth less, and never stops the grader."""

from __future__ import annotations

import copy
import json
import random
import time
from collections.abc import Callable, Iterator

import pytest
from changed_parts import overlooked
from forged_evidence import forged
from labs_under_test import LABS

from autograde.cells.subject import Subject
from autograde.contract.check import Check, draw_cases, gather, judge, one_thread
from autograde.labs.folder import Lab, load_checks
from autograde.making.build import instructor_notebook
from autograde.probes.weighed_part import was_weighed
from autograde.rubric import CallCheck
from autograde.rubric.judge import Call
from autograde.rubric.run import Run
from autograde.sandbox.untrusted import load_evidence, problem
from course.world import World

SEED = 5
FORGERIES = 20  # of each TODO's evidence
FUNCTION = "def {todo}(*args, **options):\n    {does}\n"
CLASS = """
class {todo}:
    def __init__(self, *args, **options):
        pass
    def set_epoch(self, epoch):
        pass
    def __len__(self):
        return 2
    def __iter__(self):
        return iter(self.made())
    def made(self):
        {does}
"""
USELESS = [
    "raise NotImplementedError",
    "return [float('nan')] * 2",
    "raise ValueError('no' * 5000)",
    "return 10 ** 400, 1e305",
]
TODOS = [pytest.param(lab, check, id=f"{lab.name}-{check.todo}") for lab in LABS for check in load_checks(lab.checks)]


@pytest.fixture(scope="module")
def solved(world: World) -> Callable[[Lab, Check], tuple[list[dict], list]]:
    """Gives cases and honest evidence of the right answer to a TODO, which is run once."""
    known: dict[tuple[str, str], tuple[list[dict], list]] = {}

    def cases_and_evidence(lab: Lab, check: Check) -> tuple[list[dict], list]:
        key = lab.name, check.todo
        if key not in known:
            known[key] = seen(world, check, solution(lab, check.todo))
        return copy.deepcopy(known[key])

    return cases_and_evidence


def solution(lab: Lab, todo: str) -> str:
    """The answer in the lab's own source."""
    return next(cell.source for cell in instructor_notebook(lab).cells if cell.id == todo)


def seen(world: World, check: Check, source: str, cases: int | None = None) -> tuple[list[dict], list]:
    """Cases and evidence for a cell, after its way to the grader. cases: only the first so many."""
    cases = draw_cases(check, SEED)[:cases]
    return cases, read(gather(check, world, Subject(check.todo, source), cases))


def read(evidence: object) -> object:
    """What arrives of evidence."""
    return load_evidence(json.dumps(evidence).encode())


def judged_calls(check: CallCheck, cases: list[dict], evidence: list) -> list[Call]:
    """The calls whose numbers are judged: not those on a GPU, nor those in which a part of each sum weighs more."""
    runs = [Run(case, each, check.probe.seen) for case, each in zip(cases, evidence, strict=True)]
    logs = [[rank["events"] for rank in each["ranks"]] for each in evidence]
    judged = [run for run, own in zip(runs, logs, strict=True) if not run.on_gpu and not was_weighed(run.case, own)]
    return [call for run in judged for call in run.calls]


def misfits(check: Check, cases: list[dict], evidence: list) -> list[str]:
    """Where evidence does not fit."""
    found = [problem(check.schema(case), each) for case, each in zip(cases, evidence, strict=False)]
    return [text for text in found if text]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("lab", "check"), TODOS)
def test_evidence_fits_however_useless_the_students_code_is(world, solved, lab, check):
    """That of known answers, right and wrong, is looked at in tests/labs/test_labs.py."""
    hollow = CLASS if f"class {check.todo}" in solution(lab, check.todo) else FUNCTION
    others = [
        *(hollow.format(todo=check.todo, does=does) for does in USELESS),
        "import missing_module",
        "x = 1",
    ]
    for source in others:
        cases, evidence = seen(world, check, source, cases=1)
        assert misfits(check, cases, evidence) == [], source
        assert judge(check, cases, evidence).score < check.points, source
    assert misfits(check, *solved(lab, check)) == []
    assert judge(check, *solved(lab, check)).passed


@pytest.mark.sample(2)
@pytest.mark.parametrize(("lab", "check"), TODOS)
def test_whatever_is_changed_in_what_a_call_shows_a_criterion_sees(solved, lab, check):
    """But for what the class of evidence declares, with the reason, as not judged."""
    calls = judged_calls(check, *solved(lab, check))
    assert one_thread()(overlooked)(check, calls, random.Random(f"{lab.name} {check.todo}")) == []


@pytest.mark.sample(2)
@pytest.mark.parametrize(("lab", "check"), TODOS)
def test_forged_evidence_is_refused_or_gets_a_verdict(solved, lab, check):
    cases, honest = solved(lab, check)
    points = []
    for attempt in range(FORGERIES):
        chance = random.Random(f"{lab.name} {check.todo} {attempt}")
        chosen = chance.randrange(len(cases))
        case, model = cases[chosen], honest[chosen]
        try:
            evidence = read(forged([model], chance))
            points.append(None if misfits(check, [case], evidence) else judge(check, [case], evidence).score)
        except ValueError:
            points.append(None)
    assert {*points} - {check.points}, "all forgeries keep their points: they try nothing"


@pytest.mark.sample(2)
@pytest.mark.parametrize(("lab", "check"), TODOS)
def test_evidence_without_what_the_case_asks_for_is_refused(solved, lab, check):
    for case, honest in zip(*solved(lab, check), strict=True):
        state, rank = {**honest, "ranks": []}, honest["ranks"][0]
        lies = [
            *({}, [], None, "ok", {"state": "ok"}, {"state": "ok", "ranks": []}, {**honest, "state": "fine"}),
            *(state, {**state, "ranks": [rank] * 9}, {**honest, "passed": True}, [honest]),
            *({**honest, "ranks": [{**rank, "result": result}, *honest["ranks"][1:]]} for result in (None, [], {}, 1)),
        ]
        for lie in lies:
            assert problem(check.schema(case), lie), f"this fits: {str(lie)[:200]}"


@pytest.fixture
def usual(solved) -> tuple[dict, dict]:
    """A schema, and evidence of usual size, with a list of numbers, that fits it."""
    for lab, check in (todo.values for todo in TODOS):
        cases, honest = solved(lab, check)
        if next(lists_of_numbers(honest[0]), None):
            return check.schema(cases[0]), honest[0]
    pytest.skip("no TODO has a list of numbers in its evidence")


def lists_of_numbers(evidence: object) -> Iterator[list[float]]:
    """Those in evidence, at whatever depth."""
    if isinstance(evidence, list) and evidence and all(isinstance(each, float) for each in evidence):
        yield evidence
    parts = evidence.values() if isinstance(evidence, dict) else evidence if isinstance(evidence, list) else ()
    for part in parts:
        yield from lists_of_numbers(part)


def hostile(honest: dict) -> Iterator[tuple[bytes, bool]]:
    """Evidence of as many bytes as a sandbox lets out, in many forms, and whether it fits."""
    one, large = json.dumps(honest), json.loads(json.dumps(honest))
    next(lists_of_numbers(large))[:] = [0.123456789] * 600_000
    for start, part, end in [
        ("[", "[],", "1]"),
        ("[", '{"a":0},', "1]"),
        ("[" * 19, "1,", "1" + "]" * 19),
        ("{" + '"x":1,', '"\\ud800' + "y" * 50 + '":1,', '"z":1}'),
        ("[", one + ",", one + "]"),
        (one[:-1] + ', "more": "', "a" * 1000, '"}'),
        (json.dumps(large), "", ""),
    ]:
        yield (start + part * ((2**23 - len(start)) // max(1, len(part))) + end).encode(), part == ""


def fits(schema: dict, line: bytes) -> bool:
    """Whether what arrives is evidence that fits."""
    try:
        return problem(schema, load_evidence(line)) is None
    except ValueError:
        return False


@pytest.mark.thorough
def test_large_hostile_evidence_of_any_form_does_not_fit(usual):
    schema, honest = usual
    for line, due in hostile(honest):
        assert fits(schema, line) == due


@pytest.mark.thorough
def test_evidence_of_usual_size_takes_milliseconds_and_hostile_evidence_of_any_form_seconds(usual):
    schema, honest = usual
    problem(schema, honest)
    began = time.process_time()
    for _ in range(100):
        problem(schema, honest)
    assert time.process_time() - began < 1
    for line, _ in hostile(honest):
        began = time.process_time()
        fits(schema, line)
        assert time.process_time() - began < 10
