"""The bench of restarts on a real Slurm: a kill under torchrun, and a job that is signalled and queues itself again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from example_labs import lab_of_the_story

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("slurmctld"), reason="slurmctld is not installed")
def test_the_bench_of_restarts_tells_all_parts_of_both(on_slurm):
    lab_of_the_story("11_failover")
    command = [sys.executable, ROOT / "bench" / "restarts.py", "--times", "1"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^(.+?), since (.+?)  +([\d.]+) s", done.stdout, re.MULTILINE)
    assert len(rows) == 4 + 5, done.stdout
    sums = [float(seconds) for name, since, seconds in rows if since in ("the kill", "the signal") and "step" in name]
    parts = [float(seconds) for name, since, seconds in rows if not (since.startswith("the ") and "step" in name)]
    assert sums[0] == pytest.approx(sum(parts[:3]), abs=0.3) and sums[1] == pytest.approx(sum(parts[3:]), abs=0.3)
    assert min(parts) >= 0, "nothing comes before what it follows"
    assert parts[4] >= 15, "Slurm lets a requeued job wait"
