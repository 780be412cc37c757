"""The judge of a mean over what all ranks hold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_events import event

from autograde.contract.evidence import Evidence, Number
from autograde.probes.weighed_part import WEIGHED
from autograde.rubric import Criterion, MeanOnAll, Part, accuracy_parts, apart, evaluated, loss_parts
from autograde.rubric.judge import Call

PARTS = [Part(0, 3.0, 3), Part(0, 4.0, 1), Part(1, 6.0, 3), Part(1, 16.1, 2)]  # batches: means 1, 4, 2 and 8.05
MEAN = 29.1 / 9
JUDGE = MeanOnAll(lambda call: PARTS)
CRITERION = Criterion("mean", 1, "the mean", JUDGE, JUDGE.mistakes("samples"))


class Seen(Evidence):
    value: Number


def reduction(own: float, out: float) -> dict:
    """A sum of Horovod's of one number. own: the rank's; out: what comes out."""
    about = {"library": "horovod", "reduction": "SUM", "dtype": "float64", "bytes": 8}
    return event("allreduce", op="allreduce", values=[own], results=[out], end=1.0, **about)


def call(*values: object, sums: tuple[float, ...] = (7.0, 22.1), weighed: bool = False) -> Call:
    logs = [[reduction(own, sum(sums))] for own in sums]
    notes = [[event("note", op=WEIGHED)] if weighed else [] for _ in sums]
    return Call({WEIGHED: weighed}, 0, {}, [Seen(Number.of(value)) for value in values], events=logs, notes=notes)


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ([7 / 4, 22.1 / 5], "own-part-only"),
        ([2.5, 5.025], "own-part-only"),
        ([7 / 4] * 2, "one-ranks-part"),
        ([(7 / 4 + 22.1 / 5) / 2] * 2, "mean-of-means"),
        ([3.7625] * 2, "mean-of-means"),
        ([29.1] * 2, "sum-for-mean"),
        ([29.1 / 12] * 2, "wrong-divisor"),
        ([3.0] * 2, "fraction-lost"),
        ([MEAN / 2] * 2, "average-for-sum"),
        ([MEAN, 3.02], "not-on-all-ranks"),
        ([3.02] * 2, "wrong-value"),
        ([None, MEAN], "no-number"),
    ],
)
def test_a_mean_is_known_by_the_mistake_that_made_it(values, key):
    assert CRITERION.wrong([call(*values)]).key == key


def test_copies_and_padding_that_count_are_told():
    held = MeanOnAll(
        lambda call: accuracy_parts([True, False, True, True], [[0, 1, 2], [3, 0]]), lambda call: 0.75, lambda call: 4
    )
    criterion = Criterion("mean", 1, "the mean", held, held.mistakes("samples"))
    wrong = criterion.wrong([call(0.8, 0.8)])
    assert wrong.key == "counted-twice" and "There are 4 samples, and the ranks hold 3, 2" in wrong.message
    padded = MeanOnAll(lambda call: [Part(0, 7.5, 4, 5), Part(1, 22.25, 5, 8)])
    criterion = Criterion("mean", 1, "the mean", padded, padded.mistakes("tokens"))
    assert criterion.wrong([call(29.75 / 13, 29.75 / 13)]).key == "mean-with-padding"


def test_a_drawn_call_tells_mistakes_apart():
    parts = loss_parts([[1.0, 4.0], [2.0, 8.05]], [[3, 1], [3, 2]])
    assert [(part.rank, part.count) for part in parts] == [(0, 3), (0, 1), (1, 3), (1, 2)]
    assert apart(parts, 2, ["mean-of-means/batches", "own-part-only"], 1e-3)
    assert not apart(loss_parts([[2.0], [2.0]], [[3], [1]]), 2, ["mean-of-means/ranks"], 1e-3)


def test_a_right_mean_comes_of_what_the_ranks_put_in():
    assert CRITERION.wrong([call(MEAN, MEAN)]) is None
    silent = replace(call(MEAN, MEAN), events=[[], []])
    assert CRITERION.wrong([silent]).key == "unseen-communication"


def test_where_a_part_weighs_more_a_mean_that_stays_is_wrong_and_one_that_moves_says_nothing_of_mistakes():
    weighed = {"sums": (18 * 7.0, 22.1), "weighed": True}
    assert CRITERION.wrong([call(MEAN, MEAN, **weighed)]).key == "result-stays"
    assert CRITERION.wrong([call(3.7625, 3.7625), call(9.0, 9.0, **weighed)]).key == "mean-of-means"


def test_values_of_mistakes_are_made_where_a_result_is_wrong_alone():
    made = []
    judge = MeanOnAll(lambda call: made.append(call) or PARTS, of_record=False)
    criterion = Criterion("mean", 1, "the mean", judge, judge.mistakes("samples"))
    signs = criterion.mistakes.signs_in(call(7 / 4, 22.1 / 5))
    assert made == [] and not criterion.of_record
    assert signs["own-part-only"]().values[0] == [7 / 4, 22.1 / 5] and made


def test_a_model_is_evaluated_in_eval_mode_and_left_as_it_came():
    assert evaluated([False, False], True, [True, True]) is None
    assert evaluated([False, True], True, [True, True]).key == "not-eval-mode"
    assert "on rank 1, it is in the other one" in evaluated([False], True, [True, False]).message
