"""Whether a right result can have come of what the ranks put into their reductions."""

from __future__ import annotations

import pytest
from made_events import event

from autograde.verdicts.reductions import came_out, carried

PARTS = [2.0, 5.0, 3.0]
COUNTS = [4.0, 6.0, 7.0]


def logs(*numbers: list[float] | None, **about) -> list[list[dict]]:
    """A reduction on each rank, of these numbers."""
    return [[event(values=each, **about)] for each in numbers]


def found(logs: list[list[dict]], *parts: list[float]) -> list[str]:
    """The keys of what is wrong."""
    return [finding.key for finding in carried(logs, *(parts or (PARTS,)))]


@pytest.mark.parametrize("factor", [1.0, -4.0, 1e-9])
def test_ranks_that_put_in_a_multiple_of_their_parts_are_right(factor):
    assert found(logs(*([factor * part] for part in PARTS))) == []
    assert found(logs(*([7.0, factor * part] for part in PARTS))) == []


@pytest.mark.parametrize("number", [0.0, 10 / 3])
def test_ranks_that_all_put_in_the_same_tell_each_other_nothing(number):
    assert found(logs([number], [number], [number])) == ["same-on-every-rank"]
    assert found([[*log, *log] for log in logs([number], [number], [number])]) == ["same-on-every-rank"]


def test_the_rank_that_puts_in_what_is_not_its_own_part_is_named():
    (finding,) = carried(logs([10.0], [0.0], [0.0]), PARTS)
    assert finding.key == "not-own-part"
    assert "rank 0 puts into the reductions, 10, is" in finding.message


def test_a_result_without_any_communication_came_by_no_way_that_was_seen():
    assert found([[], [], []]) == ["unseen-communication"]
    assert found([[]], [1.0]) == [], "one rank needs none"


def test_parts_may_be_put_in_in_each_of_their_forms():
    misses = [count - part for part, count in zip(PARTS, COUNTS, strict=True)]
    assert found(logs(*([each] for each in misses)), PARTS, misses) == []
    assert found(logs(*([each] for each in misses)), PARTS) == ["not-own-part"]


@pytest.mark.parametrize(
    "logs_",
    [
        logs(None, None, None),
        logs([None], [None], [None]),
        logs([1.0], [1.0], [1.0], kind="allgather"),
        [*logs([1.0], [1.0]), []],
        logs([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [0.0, 2.0, 3.0]),
    ],
    ids=["many numbers", "no number", "a gather", "not on all", "a small vector"],
)
def test_what_cannot_be_told_is_not_called_wrong(logs_):
    assert found(logs_) == []


def test_ranks_with_equal_parts_may_put_in_the_same():
    assert found(logs([2.0], [2.0], [2.0]), [2.0, 2.0, 2.0]) == []
    assert found(logs([0.0], [0.0], [0.0]), [0.0, 0.0, 0.0]) == []


def came(logs: list[list[dict]], returned: float = 10.0, factors: tuple[float, ...] = (1.0, 3.0)) -> list[str]:
    """The keys of what is wrong with how `returned` came out."""
    return [finding.key for finding in came_out(logs, returned, factors, all_work=True)]


@pytest.mark.parametrize(
    ("numbers", "about"),
    [
        ([2.0, 5.0, 3.0], {}),
        ([2.0, 5.0, 3.0], {"reduction": "AVERAGE"}),
        ([2.0, 5.0, 3.0], {"reduction": "custom", "results": [10.0]}),
        ([2.0, 5.0, 3.0], {"reduction": "custom"}),
        ([1.0, 10.0, 3.0], {"reduction": "MAX"}),
        ([2.0, 5.0, 3.0], {"kind": "allgather"}),
    ],
    ids=["a sum", "an average, undone", "its own way to add", "its own way, not waited for", "a maximum", "a gather"],
)
def test_what_follows_from_what_came_out_or_may_is_right(numbers, about):
    assert came(logs(*([number] for number in numbers), **about)) == []


def test_a_result_may_be_added_up_in_several_reductions():
    assert came([[*log, *log] for log in logs([1.0], [2.0], [2.0])]) == []


@pytest.mark.parametrize(
    ("numbers", "about"),
    [
        ([0.0, 1.0, 2.0], {}),
        ([4.0, 10.0, 6.0], {}),
        ([2.0, 5.0, 3.0], {"reduction": "MAX"}),
        ([2.0, 5.0, 3.0], {"reduction": "custom", "results": [5.0]}),
        ([None, None, None], {"results": [None]}),
        ([2.0, None, 3.0], {}),
    ],
    ids=["its number", "twice its part", "the largest", "what came out is told", "nan", "nan on one rank"],
)
def test_what_does_not_follow_from_what_came_out_was_found_elsewhere(numbers, about):
    assert came(logs(*([number] for number in numbers), **about)) == ["not-what-came-out"]


def test_one_rank_that_does_all_the_work_is_named():
    (finding,) = came_out(logs([0.0], [10.0], [0.0]), 10.0, [1.0], all_work=True)
    assert finding.key == "one-rank-works" and "Only rank 1 puts in anything but 0: 0, 10 and 0." in finding.message
    assert came_out(logs([0.0], [10.0], [0.0]), 10.0, [1.0], all_work=False) == [], "there may be work for one only"
