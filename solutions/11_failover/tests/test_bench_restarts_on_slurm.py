"""The bench of restarts on a real Slurm: a kill under torchrun, and a job that is signalled and queues itself again."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from run_bench import run_bench

BENCH = Path(__file__).resolve().parents[1] / "bench"


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("slurmctld"), reason="slurmctld is not installed")
def test_the_bench_of_restarts_tells_all_parts_of_both(on_slurm):
    said = run_bench(BENCH / "restarts.py", "--times", "1")
    rows = re.findall(r"^(.+?), since (.+?)  +([\d.]+) s", said, re.MULTILINE)
    assert len(rows) == 4 + 5, said
    sums = [float(seconds) for name, since, seconds in rows if since in ("the kill", "the signal") and "step" in name]
    parts = [float(seconds) for name, since, seconds in rows if not (since.startswith("the ") and "step" in name)]
    assert sums[0] == pytest.approx(sum(parts[:3]), abs=0.3) and sums[1] == pytest.approx(sum(parts[3:]), abs=0.3)
    assert min(parts) >= 0, "nothing comes before what it follows"
    assert parts[4] >= 15, "Slurm lets a requeued job wait"
