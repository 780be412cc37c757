"""The judge of a single reduction, and what holds of any calls, on events made by hand."""

from __future__ import annotations

import pytest
from made_events import event

from autograde.rubric import finished, of_library, of_the_group, one_allreduce, wrong_group
from autograde.rubric.judge import Call

ONE = one_allreduce("mpi4py", lambda call: False)


def call(*logs: list[dict]) -> Call:
    """A call in which the ranks made these calls."""
    return Call({}, 0, {}, [None] * len(logs), [*logs])


def test_one_reduction_on_each_rank_is_what_is_due():
    assert ONE(call([event()], [event()])) is None
    assert ONE(call([])) is None, "a single rank may leave it out"
    assert ONE(call([event(), event(members=[0])], [event(), event(members=[1])])) is None, "nobody else is in a group"


def test_that_nobody_communicates_is_not_said_where_all_ranks_know_the_result():
    wrong = one_allreduce("mpi4py", lambda call: True)(call([], []))
    assert wrong.key == "unseen-communication" and wrong.absent


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
        ("world-not-comm", [event(members=[0, None, 1])]),
    ],
)
def test_another_way_to_communicate_has_its_words(key, events):
    wrong = ONE(call(events, events))
    assert wrong.key == key and wrong.absent == (key in ("no-reduction", "not-waited-for"))


def test_where_a_float_is_due_no_integer_and_no_group_of_ones_own_will_do():
    def key(judge, **about):
        wrong = judge(call(*[[event(library="torch", **about)]] * 2))
        return wrong and wrong.key

    floats, numbers = (one_allreduce("torch", lambda call: True, floats=each) for each in (True, False))
    assert key(floats, dtype="float64") is None and key(numbers, dtype="int64") is None
    assert key(floats, dtype="int64") == "whole-numbers-reduced"
    assert key(floats, context=1) == "another-group"


def test_a_call_on_more_ranks_than_take_part_is_the_wrong_group():
    logs = [[event(members=[0, None, 1, None])], []]
    assert of_the_group(call(*logs)).key == "world-not-comm"
    assert "on 2 of the world's ranks, but your code works with 4." in wrong_group(logs).message
    assert wrong_group([[event()], [event(members=None)]]) is None


def test_what_belongs_to_another_library_and_what_is_not_waited_for_is_told_by_name():
    mixed = call([event(), event("broadcast", library="torch")], [])
    message = "communicate by Horovod, but your code calls mpi4py's allreduce and torch's broadcast."
    assert of_library("horovod")(mixed).message.endswith(message)
    assert of_library("mpi4py")(call([event()], [])) is None
    assert finished(mixed) is None
    wrong = finished(call([event("send", end=None)], []))
    assert wrong.absent and wrong.message.endswith("an error would go unseen.")
    assert finished(call([event(end=None)], [])).message.endswith("is not the result yet.")
