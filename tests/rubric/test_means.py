"""The judge of a mean over what all ranks hold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_events import event

from autograde.contract.evidence import Evidence, Number
from autograde.probes.weighed_part import WEIGHED
from autograde.rubric import Criterion, MeanOnAll, Part, evaluated
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
        ([7 / 4] * 2, "one-ranks-part"),
        ([(7 / 4 + 22.1 / 5) / 2] * 2, "mean-of-means"),
        ([3.7625] * 2, "mean-of-means"),
        ([29.1] * 2, "sum-for-mean"),
        ([29.1 / 12] * 2, "wrong-divisor"),
        ([3.0] * 2, "fraction-lost"),
        ([MEAN, 3.02], "not-on-all-ranks"),
        ([3.02] * 2, "wrong-value"),
        ([None, MEAN], "no-number"),
    ],
)
def test_a_mean_is_known_by_the_mistake_that_made_it(values, key):
    assert CRITERION.wrong([call(*values)]).key == key


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
