"""Honest evidence fits its schema; evidence that is changed is refused or worth less, and never stops the grader."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import random
import time
from collections.abc import Callable, Iterator

import pytest
from changed_parts import overlooked
from forged_evidence import forged
from labs_under_test import LABS

from autograde.cells.subject import Subject
from autograde.contract.check import Check, draw_cases, gather, judge, one_thread, plain
from autograde.contract.schema import array, event, integer, number, optional, outcome, record
from autograde.contract.trouble import MESSAGES
from autograde.labs.folder import Lab, load_checks
from autograde.making.build import instructor_notebook
from autograde.probes.weighed_part import was_weighed
from autograde.rubric import CallCheck
from autograde.rubric.judge import Call
from autograde.rubric.run import Run
from autograde.sandbox.untrusted import load_evidence, problem
from course.world import COMM, World
from course.world.report import RankReport

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


@pytest.mark.parametrize("ending", ["died", "hang", "raised", "not plain data", "well"])
def test_a_run_that_does_not_end_well_fits(world, ending):
    def end(how, comm):
        if comm.rank == 1:
            if how == "died":
                os._exit(3)
            if how == "hang":
                comm.bcast(None, root=0)
            if how == "raised":
                return comm.bcast(1, root=["no", {"rank": 0}])
        return object() if how == "not plain data" else 7.0

    evidence = plain(world.attempt(end, ending, COMM, size=2, deadline=120).plain())
    assert problem(outcome(2, number()), evidence) is None
    assert problem(outcome(3, number()), evidence) == "evidence.ranks must contain at least 3 items"
    lie = {**evidence, "state": "rank-died" if evidence["state"] == "raised" else "raised"}
    assert problem(outcome(2, number()), lie).startswith("evidence.ranks must contain")


def test_the_schema_of_a_run_has_what_runs_have():
    ranks = outcome(2, {})["properties"]["ranks"]["items"]["properties"]
    assert set(ranks) == {field.name for field in dataclasses.fields(RankReport)} - {"cells"}  # files here, no evidence
    assert set(outcome(1, {})["properties"]["state"]["enum"]) == {"ok", *MESSAGES}


def test_an_event_of_every_library_fits(world):
    def talk(how, comm):
        import horovod.torch as hvd
        import torch
        import torch.distributed as dist

        comm.barrier()
        comm.allreduce(True)
        comm.isend("text", dest=comm.rank).cancel()
        if how == "torch":
            dist.all_reduce(torch.ones(2))
            dist.all_reduce(torch.tensor(float("nan")), async_op=True)
        if how == "horovod":
            hvd.allreduce(torch.ones(2, dtype=torch.int64), op=hvd.Sum)
        return 1

    for init in (None, "torch", "horovod"):
        evidence = plain(world.attempt(talk, init, COMM, size=2, init=init, deadline=120).plain())
        events = [each for rank in evidence["ranks"] for each in rank["events"]]
        assert len(events) >= 6 and problem(array(event()), events) is None
        assert all(problem(event(), {**each, "kind": "fine"}) for each in events)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"NaN", "NaN"),
        (b'{"a": [-Infinity]}', "Infinity"),
        (b"[1e999]", "too large"),
        (b"[" + b"7" * 5000 + b"]", "5000 digits"),
        (b'{"state": "hang", "state": "ok"}', "twice"),
        (b"[" * 100_000, "nested"),
        (b"[" * 25 + b"]" * 25, "nested"),
        (b'{"a":' * 25 + b"1" + b"}" * 25, "nested"),
        (b'"\xff"', "UTF-8"),
        ('"ok"'.encode("utf-16"), "UTF-8"),
        (b"", "not JSON"),
        (b"[1] [2]", "not JSON"),
    ],
)
def test_what_evidence_cannot_be_is_refused(line, why):
    with pytest.raises(ValueError, match=why) as raised:
        load_evidence(line)
    assert len(str(raised.value)) < 100


def test_evidence_arrives_as_it_was_sent():
    sent = {"a": [1, -0.5, 1e-7, None, True, "é ∑"], "b": {"c": [[[]]]}, "d": 10**300}
    assert load_evidence(json.dumps(sent).encode()) == sent
    assert load_evidence(b'["\\ud83d\\ude00", "\\ud83d!", "\\\\ud83d"]') == ["\U0001f600", "?!", "\\ud83d"]


@pytest.mark.parametrize(
    ("schema", "evidence", "told"),
    [
        (number(), True, "evidence must be number"),
        (integer(), False, "evidence must be integer"),
        (integer(), 1.5, "evidence must be integer"),
        (number(), 10**301, "evidence must be smaller than or equal to 1e+300"),
        (integer(0), -1, "evidence must be bigger than or equal to 0"),
        (array(optional(number()), 2), [1], "evidence must contain at least 2 items"),
        (
            array(record(a=array(optional(number())))),
            [{"a": []}, {"a": [1, "x"]}],
            "evidence[1].a[1] must be number or null",
        ),
        (record(a=number()), {"a": 1, "b" * 1000: 1}, "evidence must not contain {'bbbb"),
        (record(a=number()), {}, "evidence must contain ['a'] properties"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line_with_its_place(schema, evidence, told):
    assert problem(schema, evidence).startswith(told)
    assert len(problem(schema, evidence)) <= 300


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
