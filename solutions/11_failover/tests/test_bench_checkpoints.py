"""The bench of checkpoints against failures: its replay, the formulas that it is held against, and a short run."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from run_bench import run_bench

from ..bench.checkpoints import Costs, dalys, expected, replayed, youngs

BENCH = Path(__file__).resolve().parents[1] / "bench"
COSTS = Costs(step=1.0, save=2.0, restart=9.0)
RARE, FREQUENT = 200.0, 40.0  # mean times between failures


@pytest.mark.parametrize("mean", [RARE, FREQUENT])
@pytest.mark.parametrize("every", [3, 12, 40])
def test_the_replay_loses_what_dalys_formula_expects(mean, every):
    lost = replayed(COSTS, every, mean, Random(every), failures=20_000)
    assert 1 + lost == pytest.approx(1 + expected(COSTS, every, mean), rel=0.03)


@pytest.mark.parametrize("mean", [RARE, FREQUENT])
def test_the_replay_loses_least_near_dalys_best(mean):
    best = dalys(COSTS, mean)
    tried = [round(best / 2.5), best, round(best * 2.5)]
    lost = {k: replayed(COSTS, k, mean, Random(1)) for k in tried}
    assert min(lost, key=lost.__getitem__) == best, lost


def test_without_failures_only_saves_are_lost():
    assert replayed(COSTS, 4, 1e12, Random(0), failures=0) == pytest.approx(COSTS.save / (4 * COSTS.step))


def test_where_failures_are_frequent_dalys_best_is_nearer_to_the_least_than_youngs():
    least = min(range(1, 100), key=lambda k: expected(COSTS, k, FREQUENT))
    assert abs(dalys(COSTS, FREQUENT) - least) <= 1 < abs(youngs(COSTS, FREQUENT) - least)


def test_a_save_that_takes_longer_than_two_failures_are_apart_is_made_once_in_that_time():
    assert dalys(Costs(step=1.0, save=50.0, restart=0.0), 20.0) == 20


@pytest.mark.thorough
def test_the_bench_runs_and_draws(tmp_path):
    said = run_bench(BENCH / "checkpoints.py", "--turns", "1", "--length", "1", "--pictures", str(tmp_path))
    assert said.count("in the replay") == 2
    assert (tmp_path / "checkpoints.png").stat().st_size > 10_000
