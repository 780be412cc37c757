"""Short runs of benches whose numbers need a quiet machine; the test of another bench is beside its other tests."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.thorough


def test_the_bench_of_collectives_runs_and_draws(bench, tmp_path):
    said = bench("collectives.py", "--seconds", "0", "--pictures", str(tmp_path))
    assert said.count("All-reduce, ") == said.count("Broadcast, ") == 2 * 9
    assert "busiest rank of 8: server 14000000 B, ring 3500000 B, ratio 4.00" in said
    assert {path.name for path in tmp_path.iterdir()} == {"allreduce.png", "broadcast.png", "busiest_rank.png"}


def test_the_bench_of_the_record_of_calls_runs(bench):
    said = bench("world.py", "--repeats", "1", "--turns", "1")
    assert [said.count(f"\n{called} ") for called in ("mpi4py", "torch", "horovod", "a step")] == [3, 3, 3, 1]


def test_the_bench_of_grading_grades_a_class_of_any_lab(bench):
    lab = "01_sgd_trajectories"
    said = bench("grading.py", "--lab", lab, "--submissions", "1", "--jobs", "1", "--skip-plain")
    assert f"1 submissions of {lab}" in said and "overhead, 1 at once:" in said
