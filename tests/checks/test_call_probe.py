"""Probes that call a student's function: where its cell is run and how often, meetings between calls, arguments."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_packages import probe_of, write_package
from mpi4py import MPI

from autograde.cells.subject import Subject
from autograde.contract.call_probe import make_calls
from autograde.contract.check import draw_cases, gather, judge
from autograde.labs.folder import lab_package
from autograde.rubric import (
    CallCheck,
    Criterion,
    Words,
    argument_unchanged,
    nothing_starts_or_ends,
)
from autograde.sandbox.untrusted import problem

PROBES = """# == __init__.py
# == twice.py
import os
from unittest import mock

from autograde.contract.call_probe import CallProbe
from autograde.contract.evidence import Evidence


class Seen(Evidence):
    values: list[str]
    surroundings: dict[str, str]


def names(rank, case):
    return {"number": lambda number=rank.number: number}


def around(rank, call):
    return mock.patch.dict(os.environ, PLACE=call["place"])


def call(function, rank, call):
    return Seen(function(), {"PLACE": (rank.surroundings or {}).get("PLACE", "none")})


PROBE = CallProbe(Seen, call, names, around=AROUND)
"""
CELL = """
import os
at_load, calls = os.environ.get("PLACE", "none"), []
def twice():
    calls.append(1)
    return [at_load, os.environ.get("PLACE", "none"), str(number()), str(len(calls))]
"""


def called(folder: Path, around: str) -> list[dict]:
    """What two calls show, at the places A and B."""
    write_package(folder / "probes", PROBES.replace("AROUND", around))
    case = {"calls": [{"place": "A"}, {"place": "B"}]}
    found = make_calls(lab_package(folder, "probes"), Subject("twice", CELL), case, "", MPI.COMM_SELF)
    return [each["seen"] for each in found["calls"]]


def test_a_cell_is_run_once_for_all_calls_of_a_case(tmp_path):
    one, other = called(tmp_path, "None")
    assert one == {"values": ["none", "none", "0", "1"], "surroundings": {"PLACE": "none"}}
    assert other["values"] == ["none", "none", "0", "2"]


def test_where_calls_have_surroundings_the_cell_is_run_in_them_for_each_call(tmp_path):
    one, other = called(tmp_path, "around")
    assert one == {"values": ["A", "A", "0", "1"], "surroundings": {"PLACE": "A"}}
    assert other == {"values": ["B", "B", "1", "1"], "surroundings": {"PLACE": "B"}}


# The sum of a vector over all ranks, in two calls.
TOTAL = probe_of(
    "total",
    """
from autograde.contract.call_probe import CallProbe
from autograde.contract.evidence import Evidence, Number


class Seen(Evidence):
    value: Number


def call(total, rank, call):
    vector = rank.argument("vector", rank.tensor([float(call["x"] + rank.rank)]))
    return Seen(Number.of(total(rank.comm, vector)))


PROBE = CallProbe(Seen, call, needs="torch")
""",
)
words = Words("wrong-total: It is not the sum.")


def summed(call):
    """Judge of the sum."""
    expected = sum(call.arguments["x"] + rank for rank in range(call.size))
    return None if {each.value.value for each in call.seen} == {expected} else words("wrong-total")


CHECK = CallCheck.of(
    "total",
    TOTAL,
    lambda rng: [{"ranks": [2, 0, 1], "late": 1, "calls": [{"x": 1}, {"x": 2}]}],
    Criterion("sum", 1, "each rank returns the sum", summed),
    Criterion("argument", 1, "the vector stays", argument_unchanged),
    Criterion("library", 1, "torch stays as it is", nothing_starts_or_ends),
)


def checked(world, source):
    """What the check finds, and the evidence that it is found in."""
    cases = draw_cases(CHECK, 1)
    gathered = gather(CHECK, world, Subject("total", source), cases)
    assert problem(CHECK.schema(cases[0]), gathered[0]) is None
    return judge(CHECK, cases, gathered).findings, gathered[0]


def test_a_right_answer_passes_and_each_call_has_a_communicator_of_its_own(world):
    found, evidence = checked(world, "def total(comm, vector):\n    return comm.allreduce(vector.item())")
    assert found == []
    assert [len(rank["result"]["calls"]) for rank in evidence["ranks"]] == [2, 2, 2]
    for rank in evidence["ranks"]:
        assert len({event["context"] for event in rank["events"] if event["kind"] == "allreduce"}) == 2


def test_what_an_answer_switches_in_torch_is_switched_back_after_its_check(world):
    def settings() -> tuple[bool, str]:
        import torch

        return torch.is_grad_enabled(), str(torch.get_default_dtype())

    switches = "    import torch\n    torch.set_grad_enabled(False)\n    torch.set_default_dtype(torch.float64)\n"
    found, _ = checked(world, f"def total(comm, vector):\n{switches}    return comm.allreduce(vector.item())")
    assert found == []
    assert world.run(settings) == [(True, "torch.float32")] * 4


def test_a_rank_that_returned_does_not_wait_in_a_call_that_the_student_never_wrote(world):
    source = "def total(comm, vector):\n    return comm.recv(source=1) if comm.rank == 0 else vector.item()"
    (found,), evidence = checked(world, source)
    assert evidence["state"] == "hang"
    assert "Barrier" not in evidence["report"] + found.message + found.report
    assert evidence["report"].splitlines()[1] == "ranks 1, 2  returned without communicating, and wait for rank 0"
    assert "rank 0 waits in comm.recv, cell line 2" in evidence["detail"]


def test_a_collective_that_a_rank_leaves_out_is_told_by_its_call(world):
    (found,), _ = checked(world, "def total(comm, vector):\n    return comm.allreduce(1) if comm.rank else 0")
    assert found.key == "call-missing" and "comm.allreduce" in found.message and "Rank 0" in found.message
    assert "Barrier" not in found.message + found.report


def test_an_argument_that_is_changed_and_what_would_end_a_library_are_found(world):
    source = """
import torch.distributed as dist
def total(comm, vector):
    dist.all_reduce(vector)
    dist.destroy_process_group()
    return vector.item()
"""
    found, _ = checked(world, source)
    assert [each.key for each in found] == ["argument-changed", "starts-or-ends"]
    assert "`vector`" in found[0].message


# Whether a function leaves an array as it is, and what it returns; and what a cell that is run by itself returns.
KEPT = probe_of(
    "kept",
    """
import numpy as np

from autograde.contract.call_probe import CallProbe
from autograde.contract.evidence import Evidence


class Seen(Evidence):
    value: float
    anew: float


def call(kept, rank, call):
    def given():
        return rank.argument("array", np.array([1.0, np.nan]))

    return Seen(float(kept(given()) or 0), float(rank.subject.salted(rank.rank).load()(given()) or 0))


PROBE = CallProbe(Seen, call)
""",
)
CASE = {"size": 2, "calls": [{}]}


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ("float(array[0])", []),
        ("array.sort()", []),
        ("array.__setitem__(1, 2.0)", ["array"]),
        ("setattr(array, 'shape', (2, 1))", ["array"]),
    ],
)
def test_an_array_may_be_an_argument_too(world, body, changed):
    evidence = KEPT(world, Subject("kept", f"def kept(array):\n    return {body}"), CASE)
    assert [rank["result"]["calls"][0]["changed"] for rank in evidence["ranks"]] == [changed] * 2


def test_a_cell_has_a_hash_of_its_rank_for_text_and_of_no_rank_for_numbers(world):
    source = """
def kept(array):
    return float(sum(hash(each) % 2**40 * 3**place for place, each in enumerate({})))
"""
    for values, apart in (("['a', b'b', ('c', 1), frozenset('d')]", True), ("[5, 2.5, (1, 2)]", False)):
        evidence = KEPT(world, Subject("kept", source.replace("{}", values)), CASE)
        first, second = (rank["result"]["calls"][0]["seen"] for rank in evidence["ranks"])
        assert (first["value"] != second["value"]) == apart
        assert first["value"] == first["anew"] and second["value"] == second["anew"], "each time the same"


def test_a_notebook_that_is_run_whole_has_a_hash_of_its_rank_too():
    subject = Subject("hashes", "def hashes():\n    return [hash('a'), other()]", {"b": "other = lambda: hash('b')"})
    with pytest.raises(NameError):
        subject.salted(0).load()()
    assert subject.salted(0).load_all()() != subject.salted(1).load_all()()
