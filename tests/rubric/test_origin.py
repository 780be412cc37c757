"""Whether a right result can have come of what the ranks put into their reductions."""

from __future__ import annotations

import pytest
from made_events import event

from autograde.rubric.communication.origin import Due, carried, stays
from autograde.rubric.training.means import came_of
from autograde.rubric.training.parts import Part
from autograde.rubric.words import Wrong

PARTS = [2.0, 5.0, 3.0]
COUNTS = [4.0, 6.0, 7.0]


def logs(*numbers: list[float] | None, **about) -> list[list[dict]]:
    """A reduction on each rank, of these numbers."""
    return [[event(**{"values": each, "members": [*range(len(numbers))], **about})] for each in numbers]


def key_of(wrong: Wrong | None) -> str | None:
    """The key of what is wrong, if anything is; a call that is not recorded would refute it."""
    assert wrong is None or wrong.absent
    return wrong and wrong.key


def found(logs: list[list[dict]], *parts: list[float]) -> str | None:
    """The key of what is wrong."""
    return key_of(carried(logs, *(parts or (PARTS,))))


@pytest.mark.parametrize("factor", [1.0, -4.0, 1e-9])
def test_ranks_that_put_in_a_multiple_of_their_parts_are_right(factor):
    assert found(logs(*([factor * part] for part in PARTS))) is None
    assert found(logs(*([7.0, factor * part] for part in PARTS))) is None


@pytest.mark.parametrize("number", [0.0, 10 / 3])
def test_ranks_that_all_put_in_the_same_tell_each_other_nothing(number):
    assert found(logs([number], [number], [number])) == "same-on-every-rank"
    assert found([[*log, *log] for log in logs([number], [number], [number])]) == "same-on-every-rank"


def test_the_rank_that_puts_in_what_is_not_its_own_part_is_named():
    wrong = carried(logs([10.0], [0.0], [0.0]), PARTS)
    assert wrong.key == "not-own-part"
    assert "rank 0 puts into the reductions, 10, is" in wrong.message


def test_a_result_without_any_communication_came_by_no_way_that_was_seen():
    assert found([[], [], []]) == "unseen-communication"
    assert found([[]], [1.0]) is None, "one rank needs none"


def test_parts_may_be_put_in_in_each_of_their_forms():
    misses = [count - part for part, count in zip(PARTS, COUNTS, strict=True)]
    assert found(logs(*([each] for each in misses)), PARTS, misses) is None
    assert found(logs(*([each] for each in misses)), PARTS) == "not-own-part"


@pytest.mark.parametrize(
    "logs_",
    [
        logs(None, None, None),
        logs([None], [None], [None], dtype="complex64"),
        logs([1.0], [1.0], [1.0], kind="allgather"),
        [*logs([1.0], [1.0], [1.0])[:2], []],
        logs([1.0], [0.0], [0.0], members=[0, 1]),
        [log * 30 for log in logs([1.0], [0.0], [0.0])],
        [[event("broadcast", peer=root) for root in range(3)] for _ in range(3)],
        [[event("broadcast", peer=None, members=None)]] * 3,
        [
            [*log, *(event("broadcast", peer=root, members=[0, 1, 2]) for root in range(3))]
            for log in logs(*[[1.0]] * 3)
        ],
    ],
    ids=[
        *("many numbers", "complex numbers", "a gather", "not on all", "of other ranks", "many reductions"),
        *("a broadcast from each", "a broadcast from an unknown rank", "a broadcast from each beside a reduction"),
    ],
)
def test_what_cannot_be_told_is_not_called_wrong(logs_):
    assert found(logs_) is None


def test_ranks_with_equal_parts_may_put_in_the_same():
    assert found(logs([2.0], [2.0], [2.0]), [2.0, 2.0, 2.0]) is None
    assert found(logs([0.0], [0.0], [0.0]), [0.0, 0.0, 0.0]) is None


@pytest.mark.parametrize(
    ("key", "logs_"),
    [
        ("same-on-every-rank", logs([None], [None], [None])),
        ("not-own-part", logs([None], [0.0], [0.0])),
        ("not-own-part", logs([0.0, 1.0, 2.0], [1.0, 1.0, 2.0], [2.0, 1.0, 2.0])),
        ("not-own-part", [log * 4 for log in logs([0.0], [1.0], [2.0])]),
        ("unseen-communication", logs(None, None, None, kind="broadcast", peer=0)),
        ("unseen-communication", logs(None, None, None, kind="allgather", bytes=0)),
    ],
    ids=["no number", "one number", "three", "four reductions", "a broadcast", "a gather of nothing"],
)
def test_calls_that_carry_nothing_of_the_parts_are_told(key, logs_):
    assert found(logs_) == key


def came(logs: list[list[dict]], returned: float = 10.0, factors: tuple[float, ...] = (1.0, 3.0), **due) -> str | None:
    """The key of what is wrong with how `returned` came out."""
    return key_of(carried(logs, due=Due(returned, factors, **due)))


@pytest.mark.parametrize(
    ("numbers", "about"),
    [
        ([2.0, 5.0, 3.0], {}),
        ([2.0, 5.0, 3.0], {"reduction": "AVERAGE"}),
        ([2.0, 5.0, 3.0], {"reduction": "custom", "results": [10.0]}),
        ([2.0, 5.0, 3.0], {"reduction": "custom"}),
        ([-2.0, -5.0, -3.0], {}),
        ([1.0, 10.0, 3.0], {"reduction": "MAX"}),
        ([2.0, 5.0, 3.0], {"kind": "allgather"}),
    ],
    ids=[
        *("a sum", "an average, undone", "its own way to add", "its own way, not waited for", "another sign"),
        *("a maximum", "a gather"),
    ],
)
def test_what_follows_from_what_came_out_or_may_is_right(numbers, about):
    assert came(logs(*([number] for number in numbers), **about)) is None


def test_a_result_may_be_added_up_in_several_reductions():
    assert came([[*log, *log] for log in logs([1.0], [2.0], [2.0])]) is None


@pytest.mark.parametrize(
    ("numbers", "about"),
    [
        ([0.0, 1.0, 2.0], {}),
        ([4.0, 10.0, 6.0], {}),
        ([2.0, 5.0, 3.0], {"reduction": "MAX"}),
        ([2.0, 5.0, 3.0], {"reduction": "custom", "results": [5.0]}),
        ([2.0, None, 3.0], {"results": [None]}),
        ([2.0, None, 3.0], {}),
    ],
    ids=["its number", "twice its part", "the largest", "what came out is told", "nan", "nan, not waited for"],
)
def test_what_does_not_follow_from_what_came_out_was_found_elsewhere(numbers, about):
    assert came(logs(*([number] for number in numbers), **about)) == "not-what-came-out"


def test_slots_and_pieces_of_a_sum_are_added_up():
    assert came(logs([2.0, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 3.0])) is None
    assert came(logs([2.0, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 3.0], reduction="MAX")) is None


def test_numbers_may_be_in_fixed_point():
    assert came(logs(*([int(part * 10**13)] for part in PARTS), dtype="int")) is None


def test_what_comes_out_is_looked_at_on_each_rank():
    right, wrong = logs([2.0], [5.0], [3.0], results=[10.0])[:2], logs([2.0], [5.0], [3.0], results=[7.0])[2:]
    assert came([*right, *wrong]) == "not-what-came-out"


def test_an_operation_of_ones_own_has_to_add():
    wrong = carried(logs([2.0], [5.0], [3.0], reduction="custom", results=[31.0]), due=Due(31.0))
    assert wrong.key == "not-the-sum" and "put in 2, 5 and 3, and what comes out is 31." in wrong.message


def test_late_digits_tell_what_was_found_alone_and_nothing_else():
    out, parts = 10.0 * (1 + 5e-13), logs([2.0], [5.0], [3.0], results=[10.0 * (1 + 5e-13)])
    assert came(parts, 10.0, alone=10.0) == "result-dropped"
    assert came(parts, out, alone=10.0) is None
    assert came(parts, out * (1 + 5e-13), alone=10.0) is None, "it may have been rounded"
    assert came(logs([2.0], [5.0], [3.0], results=[10.0]), 10.0, alone=10.0) is None, "both ways give the same"


@pytest.mark.parametrize("little", [0.0, 1e-300, -1e-9])
def test_ranks_that_bring_nothing_to_the_sum_are_named_where_all_have_work(little):
    wrong = carried(logs([little], [10.0], [little]), due=Due(10.0, least=0.01))
    assert wrong.key == "idle-ranks" and ": ranks 0 and 2 brought hardly anything" in wrong.message
    assert came(logs([little], [10.0], [little])) is None, "there may be work for one only"


HITS, SAMPLES = [2, 5, 3, 0], [4, 6, 7, 9]
EACH = [*zip(HITS, SAMPLES, strict=True)]


def came_of_mean(logs: list[list[dict]], hits: list[float] = HITS, samples: list[int] = SAMPLES) -> str | None:
    """The key of what is wrong with how the mean over `samples` on four ranks came about."""
    parts = [Part(rank, *both) for rank, both in enumerate(zip(hits, samples, strict=True))]
    expected = sum(hits) / sum(samples)
    return key_of(came_of(logs, parts, len(hits), expected, sum(samples)))


@pytest.mark.parametrize(
    "logs_",
    [
        logs(*([hit, count] for hit, count in EACH)),
        [log + other for log, other in zip(logs(*([h] for h in HITS)), logs(*([n] for n in SAMPLES)), strict=True)],
        logs(*([hit] for hit in HITS), reduction="AVERAGE"),
        logs(*([count - hit] for hit, count in EACH)),
        logs(*([hit, count - hit, count] for hit, count in EACH), reduction="AVG"),
        logs(*([hit / 26] for hit in HITS)),
        logs(*([100 * hit / 26] for hit in HITS)),
        logs(*([-float(hit), count, 1.0] for hit, count in EACH)),
        logs(*([2 * hit - count] for hit, count in EACH)),
        logs(*([64 * hit + count] for hit, count in EACH), dtype="int64"),
        logs(*([2**rank] for rank in range(4)), reduction="BOR", results=[15]),
        logs(*([4**9 * (rank == 0) + rank] for rank in range(4)), dtype="int64"),
        logs(*([hit if rank == slot else -1.0 for slot in range(4)] for rank, hit in enumerate(HITS)), reduction="MAX"),
        logs(*([hit if rank == slot else None for slot in range(4)] for rank, hit in enumerate(HITS)), reduction="MAX"),
        [*zip(*(logs(*([hit * (rank == r)] for r, hit in enumerate(HITS)))[rank] for rank in range(4)), strict=True)],
        logs(*([float(hit)] for hit in HITS), kind="reduce"),
        logs(*([part * hit, part * count, 0.0] for part in [0.5] for hit, count in EACH)),
        [
            log + b
            for log, b in zip(
                logs(*([float(h)] for h in HITS), kind="reduce"),
                logs(*[[1.0]] * 4, kind="broadcast", peer=0),
                strict=True,
            )
        ],
    ],
)
def test_a_mean_may_come_in_many_ways(logs_):
    assert came_of_mean(logs_) is None


@pytest.mark.parametrize(
    ("key", "logs_"),
    [
        ("not-own-part", logs([0.0], [1.0], [2.0], [3.0])),
        ("not-own-part", logs(*([float(rank), 1.0, 2.0] for rank in range(4)))),
        ("not-own-part", [log * 4 for log in logs([0.0], [1.0], [2.0], [3.0])]),
        ("same-on-every-rank", logs([None], [None], [None], [None])),
        ("not-what-came-out", logs(*([2.0 * hit] for hit in HITS))),
        ("not-what-came-out", logs(*([float(hit)] for hit in HITS), reduction="MAX")),
    ],
    ids=["its number", "three numbers", "four reductions", "nan", "twice its part", "the largest part"],
)
def test_a_mean_that_comes_of_nothing_that_was_communicated_is_told(key, logs_):
    assert came_of_mean(logs_) == key


def test_samples_that_are_few_may_each_have_a_number():
    assert came_of_mean(logs([1.0], [4.0], [0.0], [0.0]), [1, 1, 0, 0], [1, 1, 1, 1]) is None


def test_a_result_that_stays_where_a_part_weighs_more_was_found_elsewhere():
    weighed = logs([2.0], [5.0], [3.0], results=[15.0])
    wrong = stays(weighed, Due(10.0))
    assert wrong.key == "result-stays" and "so that 15 came out of the reduction" in " ".join(wrong.message.split())
    assert stays(weighed, Due(10.0, factors=(2 / 3,))) is None, "it may be made of what came out"
    assert stays(logs([2.0], [5.0], [3.0], results=None), Due(10.0)) is None, "nothing is known to have changed"
    assert stays([[], [], []], Due(10.0)) is None


def test_what_else_the_ranks_may_put_in_is_no_reason_to_say_nothing():
    other = [1.0, 3.0, 1.0, 2.0]
    logs_ = [one + two for one, two in zip(logs(*([2.0 * h] for h in HITS)), logs(*([o] for o in other)), strict=True)]
    parts = [Part(rank, hit, count) for rank, (hit, count) in enumerate(EACH)]
    about = (logs_, parts, 4, sum(HITS) / sum(SAMPLES), sum(SAMPLES))
    assert came_of(*about) is None
    assert came_of(*about, [other]).key == "not-what-came-out"
