"""Judges of numbers by name, and of the collectives of a call."""

from __future__ import annotations

import numpy as np
import pytest
from made_events import event

from autograde.contract.evidence import NumbersByName
from autograde.rubric.communication.collectives import Collectives, in_step
from autograde.rubric.judge import Call
from autograde.rubric.values.named_numbers import HasNumbers
from course.watch.events import kind_of

NUMBERS = HasNumbers(lambda call: {"a": 2 * call.arguments["x"], "b": 1}, told=("x",))
GATHER = Collectives("torch", "allgather", "all-gather", nbytes=lambda call: 24)


def returning(value) -> Call:
    return Call({}, 0, {"x": 3}, [NumbersByName.of(value, ["a", "b"])])


def calling(*logs) -> Call:
    return Call({}, 0, {}, [None] * len(logs), events=[*logs])


@pytest.mark.parametrize(
    ("value", "key", "told"),
    [
        (None, "not-all-numbers", "None"),
        ({"a": 6}, "not-all-numbers", "without 'b'"),
        ({"a": "6", "b": 1}, "entry-is-no-number", '"a" is of type str'),
        ({"a": 7, "b": 1}, "other-number", 'With x = 3, "a" is 7, where 6 is expected'),
    ],
)
def test_the_first_number_that_is_wrong_is_told_by_name(value, key, told):
    wrong = NUMBERS(returning(value))
    assert wrong.key == key and told in wrong.message


def test_numbers_may_be_of_any_type_and_a_mistake_is_known_by_some_of_them():
    assert NUMBERS(returning({"a": np.float32(6), "b": 1.0, "more": None})) is None
    assert NUMBERS.gives(returning({"a": 7, "b": 1}), {"a": 7.0})
    assert not NUMBERS.gives(returning({"b": 1}), {"a": 7.0})


def test_one_of_several_numbers_is_judged_where_all_have_to_be_there():
    first = HasNumbers(lambda call: {"a": 6, "b": 1}, told=("x",), of=("a",))
    assert first(returning({"a": 6, "b": 2})) is None
    assert first(returning({"a": 7, "b": 2})).key == "other-number"
    assert first(returning({"a": 6})).key == "not-all-numbers"


def own(op: str, nbytes: int = 24) -> dict:
    return event(kind_of(op), op=op, library="torch", bytes=nbytes)


@pytest.mark.parametrize(
    ("log", "key"),
    [
        ([own("all_gather")] * 2, "one-row-would-do"),
        ([own("all_reduce")], "other-collectives"),
        ([own("all_gather"), own("barrier")], "other-collectives"),
        ([], "other-collectives"),
        ([own("all_gather", 8)], "other-bytes-in-the-row"),
    ],
)
def test_anything_but_the_one_collective_is_told(log, key):
    assert GATHER(calling([own("all_gather")], log)).key == key


def test_the_one_collective_holds_and_one_rank_needs_none():
    assert GATHER(calling([own("all_gather")], [own("all_gather_into_tensor")])) is None
    assert GATHER(calling([])) is None


@pytest.mark.parametrize(
    ("log", "key"),
    [
        ([own("all_gather")] * 2, None),
        ([own("all_gather")] * 3, "many-collectives"),
        ([own("send")], "messages-for-a-collective"),
        ([own("all_gather", 99)], "too-many-bytes-in-a-call"),
        ([], "other-collectives"),
    ],
)
def test_so_many_collectives_of_any_kind_may_be_made(log, key):
    wrong = Collectives("torch", most=2, most_bytes=lambda call: 24)(calling([own("all_gather")], log))
    assert (wrong and wrong.key) == key


def test_calls_that_came_to_their_end_are_in_step_only_if_they_belong_together_and_were_waited_for():
    one = own("broadcast") | {"dtype": "float32", "peer": 0, "room": 24, "reduction": None}
    assert in_step(calling([one], [one])) is None
    wrong = in_step(calling([one], [one | {"bytes": 8, "room": 8}]))
    assert wrong.key == "size-differs" and "rank 0: 6 numbers of float32, rank 1: 2 numbers" in wrong.message
    assert wrong.message.endswith(".") and "let it pass" not in wrong.message
    left = one | {"state": "under way", "end": None, "waited": None}
    wrong = in_step(calling([one], [left]))
    assert (wrong.key, wrong.absent) == ("never-waited", True) and wrong.message.startswith("Rank 1 never waits for")


def test_a_record_that_says_that_a_call_ended_before_it_began_ends_no_grading():
    forged = own("send") | {"peer": 1, "start": 1.0, "waited": 1.2, "end": 0.5}
    assert in_step(calling([forged], [own("allreduce")])) is not None
