"""Verdicts on what ranks communicated and returned, on events and results made by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from made_events import event

from autograde.contract.calls import calls_apart, described, nothing_starts_or_ends
from autograde.contract.findings import Findings
from autograde.contract.verdict import settle
from autograde.rubric.communication import reductions
from autograde.rubric.communication.collectives import Collectives
from autograde.rubric.judge import Call
from autograde.verdicts.collectives import (
    deadlock,
    group_sizes,
    left_running,
    one_allreduce,
    unequal_sizes,
    wrong_group,
)
from autograde.verdicts.diagnosis import agree
from autograde.verdicts.numbers import on_all


def keys(findings: list) -> list[str]:
    """The keys of findings."""
    return [finding.key for finding in findings]


def test_one_reduction_on_each_rank_is_what_is_due():
    assert one_allreduce("mpi4py", [[event()], [event()]]) == []
    assert one_allreduce("mpi4py", [[]]) == [], "a single rank may leave it out"


def test_that_nobody_communicates_is_not_said_where_all_ranks_know_the_result():
    assert keys(one_allreduce("mpi4py", [[], []], right=True)) == ["unseen-communication"]


@pytest.mark.parametrize(
    ("key", "events"),
    [
        ("no-reduction", []),
        ("allreduce-in-the-loop", [event()] * 3),
        ("reduce-not-allreduce", [event("reduce")]),
        ("other-communication", [event("reduce"), event("broadcast")]),
        ("other-communication", [event("barrier"), event()]),
        ("other-library", [event(library="torch")]),
        ("not-waited-for", [event(end=None)]),
        ("float32", [event(dtype="float32", bytes=4)]),
        ("lost-in-16-bits", [event(dtype="float16", bytes=2)]),
        ("lost-in-16-bits", [event(dtype="bfloat16", bytes=2)]),
        ("too-many-bytes", [event(bytes=80, values=None)]),
    ],
)
def test_another_way_to_communicate_has_its_finding(key, events):
    assert keys(one_allreduce("mpi4py", [events, events])) == [key]


def test_where_a_float_is_due_no_integer_and_no_group_of_ones_own_will_do():
    def key(judge, **about):
        wrong = judge(Call({}, 0, {}, [None, None], [[event(library="torch", **about)]] * 2))
        return wrong and wrong.key

    floats, numbers = (reductions.one_allreduce("torch", lambda call: True, floats=each) for each in (True, False))
    assert key(floats, dtype="float64") is None and key(numbers, dtype="int64") is None
    assert key(floats, dtype="int64") == "whole-numbers-reduced"
    assert key(floats, context=1) == "another-group"


def test_a_call_on_more_ranks_than_take_part_is_the_wrong_group():
    assert keys(wrong_group(2, group_sizes([[event(members=[0, None, 1, None])], []]))) == ["world-not-comm"]
    assert wrong_group(2, group_sizes([[event()], [event(members=None)]])) == []


def test_ranks_that_leave_a_collective_out_are_named():
    (finding,) = deadlock([[event(end=None)], [], []], "report")
    assert finding.key == "collective-skipped"
    assert "ranks 1 and 2 never made the call in which rank 0 waits." in finding.message
    assert finding.report == "report"
    (finding,) = deadlock([[event(end=None)], [], [event(end=None)], [event()]], "report")
    assert "rank 1 never made the call in which ranks 0 and 2 wait." in finding.message, "rank 3 does not wait any more"
    assert keys(deadlock([[event()] * 3, [event()] * 2], "")) == ["uneven-collectives"]
    assert deadlock([[event()], [event()]], "") == [], "equally many calls: another reason"


def test_tensors_of_different_sizes_in_one_collective_are_told():
    sizes = [[event(library="torch", op="all_gather", bytes=size)] for size in (16, 24)]
    assert keys(unequal_sizes(sizes)) == ["unequal-sizes"]
    assert unequal_sizes([sizes[0], sizes[0]]) == []
    assert unequal_sizes([[event(library="torch", op="all_gather_object", bytes=size)] for size in (16, 24)]) == []


def test_events_are_cut_where_the_ranks_met():
    meeting = event("barrier", line=None)
    assert calls_apart([event(), meeting, meeting, event(), event("barrier")]) == [
        [event()],
        [],
        [event(), event("barrier")],
    ]


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (1.5, {"float": True, "type": "float", "value": 1.5}),
        (np.float64(1.5), {"float": True, "type": "float64", "value": 1.5}),
        (np.float32(1.5), {"float": False, "type": "float32", "value": 1.5}),
        (torch.tensor([1.5]), {"float": False, "type": "Tensor of torch.float32", "value": 1.5}),
        (np.ones(2), {"float": False, "type": "ndarray of float64", "value": None}),
        (float("nan"), {"float": True, "type": "float", "value": None}),
        (None, {"float": False, "type": "NoneType", "value": None}),
    ],
    ids=str,
)
def test_a_result_is_described_in_plain_data(value, seen):
    assert described(value) == seen


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (2.0, []),
        (np.float64(2) + 1e-15, []),
        (2, ["not-a-float"]),
        ("2", ["not-a-float"]),
        (torch.tensor(2.0, dtype=torch.float64), ["not-a-float"]),
        (np.float32(2), ["float32"]),
        (2 + 1e-8, ["float32"]),
        (2.1, ["wrong-value"]),
        (np.array(2.1), ["wrong-value", "not-a-float"]),
        (None, ["no-number"]),
    ],
    ids=str,
)
def test_a_result_is_compared_with_what_is_due(value, found):
    assert keys(settle([on_all([described(value)] * 4, 2.0)])) == found


def test_two_numbers_agree_but_for_rounding():
    assert agree(1 / 3, 1 - 2 / 3)
    assert not agree(None, 1.0)
    assert not agree(True, 1.0)
    assert not agree("1.0", 1.0)
    assert not agree(1.0, 1 + 1e-9)


def test_libraries_cannot_be_started_or_ended_but_it_is_noted():
    import torch.distributed as dist

    end = dist.destroy_process_group
    tried: list[str] = []
    with nothing_starts_or_ends(tried):
        dist.init_process_group("gloo")
        dist.destroy_process_group()
    assert tried == ["dist.init_process_group", "dist.destroy_process_group"]
    assert dist.destroy_process_group is end
    assert keys(left_running([[], tried])) == ["starts-or-ends"]
    assert left_running([[], []]) == []


def test_results_of_all_ranks_are_judged_together():
    def found(*values: float | None, **how) -> list[str]:
        candidates = {"own-part-only": [0.5, 1.5], "average-for-sum": 1.0}
        return keys(settle([on_all([described(value) for value in values], 2.0, candidates, **how)]))

    assert found(2.0, 2.0) == []
    assert found(2.0, 2.0 + 1e-15) == ["last-digits-differ"]
    assert found(2.0, 2.0 + 1e-15, tolerance=1e-5) == []
    assert found(0.5, 1.5) == ["own-part-only"]
    assert found(1.0, 1.0) == ["average-for-sum"]
    assert found(2.0, 1.0) == found(2.0, None) == ["not-on-all-ranks"]
    assert found(None, None, empty=[1]) == found(2.0, None, empty=[1]) == ["empty-rank"]
    assert found(None, 2.0, empty=[1]) == ["empty-rank"], "what a rank without a part brings may spoil all"


def test_ranks_may_have_results_of_their_own():
    results = [described(value) for value in (1.0, 4.0)]
    assert settle([on_all(results, [1.0, 4.0])]) == []
    assert keys(settle([on_all(results, [1.0, 3.0])])) == ["wrong-value"]
    assert keys(settle([on_all(results, [2.0, 8.0], {"average-for-sum": [1.0, 4.0]})])) == ["average-for-sum"]


def test_to_make_a_communicator_counts_as_a_collective_where_that_is_said():
    log = [event("allgather"), event("communicator", op="Split"), event("allgather")]
    call = Call({}, 0, {}, [None, None], [log, log])
    assert Collectives("mpi4py", least=0, most=2)(call) is None
    wrong = Collectives("mpi4py", least=0, most=2, splits=True)(call)
    assert wrong.key == "many-collectives" and "3 collective calls on rank 0" in wrong.message


def test_findings_come_from_one_text():
    finding = Findings("""
    too-late 1.5
    Rank {rank} comes
    too late.

    gone 2
    Nobody is there.
    """)
    made = finding("too-late", "report", rank=3)
    assert (made.key, made.message, made.report) == ("too-late", "Rank 3 comes too late.", "report")
    for text in ("key 1", "key one\nmessage", "key 1\nmessage\n\nkey 2\nagain"):
        with pytest.raises(ValueError):
            Findings(text)
