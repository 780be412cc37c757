"""What the schemas of runs, events and values let pass, and what they and the reading of evidence refuse."""

from __future__ import annotations

import dataclasses
import json
import os

import pytest

from autograde.contract.check import plain
from autograde.contract.schema import array, event, integer, number, optional, outcome, record
from autograde.contract.trouble import MESSAGES
from autograde.sandbox.untrusted import load_evidence, problem
from course.world import COMM
from course.world.rank_report import RankReport


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
