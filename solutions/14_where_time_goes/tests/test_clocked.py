"""A training step on a clock of its own: what waits for what."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ..models.clocked import StepPlan, clocked_step

TWO_RANKS = StepPlan([(1.0, 2.0)] * 2, [(1, 0.5), (0, 0.25)], (1, 1), (0, 0), [[0.0] * 2] * 2, optimizer=1.0)


def ends(plan: StepPlan) -> list[float]:
    """When the step is over, by rank."""
    return [max(span.end for span in spans) for spans in clocked_step(plan)]


def test_only_the_last_all_reduce_is_not_hidden() -> None:
    assert ends(TWO_RANKS) == pytest.approx([6 + 0.25 + 1] * 2)


def test_all_ranks_wait_for_the_one_that_comes_last() -> None:
    assert ends(replace(TWO_RANKS, loading=(0, 3))) == pytest.approx([10.25] * 2)
    assert ends(replace(TWO_RANKS, work=(2, 1))) == pytest.approx([13.25] * 2)
    assert ends(replace(TWO_RANKS, waits=[[0, 0], [1, 1]])) == pytest.approx([9.25] * 2)
    for spans in clocked_step(replace(TWO_RANKS, loading=(0, 3))):
        sent = [span for span in spans if span.kind == "communication"]
        assert [span.end for span in sent] == pytest.approx([7.5, 9.25])


def test_a_layer_is_computed_again_before_its_backward_pass() -> None:
    own = clocked_step(replace(TWO_RANKS, again=[1]))[0]
    names = [span.name for span in own if span.kind == "compute"]
    assert names == ["forward 0", "forward 1", "forward 1", "backward 1", "backward 0", "optimizer"]


def test_the_network_carries_one_bucket_after_another() -> None:
    own = clocked_step(replace(TWO_RANKS, buckets=[(1, 4.0), (1, 1.0), (0, 1.0)]))[0]
    sent = [(span.start, span.end) for span in own if span.kind == "communication"]
    assert sorted(sent) == [(4, 8), (4, 9), (6, 10)]


def test_one_rank_communicates_nothing() -> None:
    alone = replace(TWO_RANKS, buckets=[], work=(1,), loading=(0,), waits=[[0.0] * 2])
    kinds = {span.kind for span in clocked_step(alone)[0]}
    assert kinds == {"step", "part", "compute"}
