"""The base of checks on ranks: meetings between calls, what they leave in reports, arguments, one rank late."""

from __future__ import annotations

import numpy as np
import pytest

from autograde.contract.calls import described
from autograde.contract.check import draw_cases, gather, judge
from autograde.contract.rank_check import CallCheck, RankCheck
from autograde.contract.schema import described_value
from autograde.contract.subject import Subject
from autograde.contract.verdict import Finding
from autograde.sandbox.untrusted import problem
from autograde.verdicts.judged import JudgedCalls


class Total(CallCheck, JudgedCalls):
    """The sum of a vector over all ranks, in two calls."""

    todo, points, needs = "total", 3, "torch"

    def cases(self, rng):
        return [{"ranks": [2, 0, 1], "late": 1, "calls": [{"x": 1}, {"x": 2}]}]

    @staticmethod
    def call(total, rank, call):
        vector = rank.argument("vector", rank.tensor([float(call["x"] + rank.rank)]))
        return {"value": described(total(rank.comm, vector))}

    def shape(self, case, call):
        return {"value": described_value()}

    def judge(self, case, call):
        expected = sum(call.plan["x"] + rank for rank in range(call.size))
        if {each["value"] for each in call.of("value")} != {expected}:
            yield Finding("wrong-total", "It is not the sum.", 3)


def checked(world, source):
    """What the check finds, and the evidence that it is found in."""
    check = Total()
    cases = draw_cases(check, 1)
    gathered = gather(check, world, Subject("total", source), cases)
    assert problem(check.schema(cases[0]), gathered[0]) is None
    return judge(check, cases, gathered).findings, gathered[0]


def test_a_right_answer_passes_and_each_call_has_a_communicator_of_its_own(world):
    found, evidence = checked(world, "def total(comm, vector):\n    return comm.allreduce(vector.item())")
    assert found == []
    assert [len(rank["result"]["calls"]) for rank in evidence["ranks"]] == [2, 2, 2]


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
    assert (found.key, evidence["state"]) == ("hang", "hang")
    assert "Barrier" not in found.message + found.report
    assert found.report.splitlines()[1] == ("ranks 1, 2  returned without communicating, and wait for rank 0")
    assert "rank 0 waits in comm.recv, cell line 2" in found.message


def test_a_collective_that_a_rank_leaves_out_is_told_by_its_call(world):
    (found,), _ = checked(world, "def total(comm, vector):\n    return comm.allreduce(1) if comm.rank else 0")
    assert found.key == "collective-skipped" and "rank 0 never made the call" in found.message
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


class Kept(CallCheck, JudgedCalls):
    """Whether a function leaves an array as it is; and what it returns."""

    todo, points = "kept", 3

    def cases(self, rng):
        return [{"size": 2, "calls": [{}]}]

    @staticmethod
    def call(kept, rank, call):
        return {"value": described(kept(rank.argument("array", np.array([1.0, np.nan]))))}

    def judge(self, case, call):
        yield from ()


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("float(array[0])", []),
        ("array.sort()", []),
        ("array.__setitem__(1, 2.0)", ["argument-changed"]),
        ("setattr(array, 'shape', (2, 1))", ["argument-changed"]),
    ],
)
def test_an_array_may_be_an_argument_too(world, body, found):
    check = Kept()
    cases = draw_cases(check, 1)
    source = f"def kept(array):\n    return {body}"
    judged = judge(check, cases, gather(check, world, Subject("kept", source), cases))
    assert [each.key for each in judged.findings] == found


def test_a_cell_has_a_hash_of_its_rank_for_text_and_of_no_rank_for_numbers(world):
    source = """
def kept(array):
    return float(sum(hash(each) % 2**40 * 3**place for place, each in enumerate({})))
"""
    check = Kept()
    for values, apart in (("['a', b'b', ('c', 1), frozenset('d')]", True), ("[5, 2.5, (1, 2)]", False)):
        gathered = gather(check, world, Subject("kept", source.replace("{}", values)), draw_cases(check, 1))
        first, second = (rank["result"]["calls"][0]["shown"]["value"]["value"] for rank in gathered[0]["ranks"])
        assert (first != second) == apart


class Hashes(RankCheck):
    """What the hash of a text is, in a run."""

    todo, points = "hashes", 1

    @staticmethod
    def run(rank, subject, case):
        return [subject.load()(), subject.load_all()()]


def test_a_cell_that_is_run_by_itself_has_a_hash_of_its_rank_too(world):
    subject = Subject("hashes", "def hashes():\n    return [hash('a'), other()]", {"b": "other = lambda: hash('b')"})
    alone = Subject("hashes", "def hashes():\n    return [hash('a'), hash(5)]")
    evidence = Hashes().probe(world, alone, {"size": 2})
    first, second = (rank["result"] for rank in evidence["ranks"])
    assert first[0] == first[1] and second[0] == second[1], "each time the same"
    assert first[0][0] != second[0][0] and first[0][1] == second[0][1] == 5
    assert Hashes().probe(world, alone, {"size": 2})["ranks"][0]["result"] == first
    with pytest.raises(NameError):
        subject.salted(0).load()()
    assert subject.salted(0).load_all()() != subject.salted(1).load_all()()
