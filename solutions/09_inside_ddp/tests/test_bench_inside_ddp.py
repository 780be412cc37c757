"""The bench of the lab's ways: how it counts turns, that it would see wrong gradients, and a short run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from run_bench import run_bench

from ..bench.inside_ddp import NOTHING, TORCHS, WAYS, agree, of_least, ratios, slowest

BENCH = Path(__file__).resolve().parents[1] / "bench"


def model(gradient: float) -> torch.nn.Module:
    """A model with these gradients."""
    linear = torch.nn.Linear(2, 1)
    for parameter in linear.parameters():
        parameter.grad = torch.full_like(parameter, gradient)
    return linear


def models(**other: float) -> dict:
    """One for each way, as if one step had been made. other: gradients that are not the average, by name."""
    return {way: (model(other.get(way, 3.0 if way == NOTHING else 2.0)), None) for way in WAYS}


def test_a_turn_lasts_as_long_as_on_its_slowest_rank_and_is_held_against_the_same_turn():
    seconds = slowest([{"own": [1.0, 9.0], TORCHS: [2.0, 3.0]}, {"own": [4.0, 6.0], TORCHS: [1.0, 3.0]}])
    assert seconds == {"own": [4.0, 9.0], TORCHS: [2.0, 3.0]}
    assert ratios(seconds) == {"own": [2.0, 3.0], TORCHS: [1.0, 1.0]}
    assert of_least(seconds)["own"] == 2.0


def test_gradients_are_held_against_those_of_distributed_data_parallel():
    agree(models())
    with pytest.raises(AssertionError, match=r"the gradients of 'buckets, after backward' are not those"):
        agree(models(**{"buckets, after backward": 2.1}))
    with pytest.raises(AssertionError, match=r"the gradients of 'nothing sent' are those"):
        agree(models(**{NOTHING: 2.0}))


@pytest.mark.thorough
def test_the_bench_runs_and_draws(tmp_path):
    said = run_bench(BENCH / "inside_ddp.py", "--turns", "2", "--pictures", str(tmp_path))
    for way in WAYS:
        assert said.count(f"\n{way}  ") == 2, said
    assert (tmp_path / "inside_ddp.png").stat().st_size > 10_000
