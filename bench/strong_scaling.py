"""Strong scaling of lab 03, from the records of its jobs.

    python bench/strong_scaling.py PLOT.png

Needs Slurm (`slurm/local/cluster` makes a cluster). Submits the lab's solution by `sbatch run.sh` on 1, 2, 4 and 8
ranks, on two nodes from 2 ranks on, reads each `run.json`, and draws the speed-up.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from autograde.build import build, write_instructor
from autograde.contract.labs import find_lab
from course.batch.record import Record
from course.figures.ranks.speedup import speedup_picture
from course.processes.mpi import cores

ROOT = Path(__file__).resolve().parents[1]
LAB = "03_pi_allreduce"
RANKS = (1, 2, 4, 8)


def run(ranks: int, folder: Path) -> Record:
    """Run the lab on so many ranks. Returns the record of its job."""
    shutil.copytree(ROOT / "build" / "solutions" / LAB, folder)
    options = [f"--ntasks={ranks}", f"--nodes={min(ranks, 2)}", "--wait"]
    done = subprocess.run(
        ["sbatch", *options, "run.sh"],
        cwd=folder,
        env={**os.environ, "LOCKSTEP_HOME": str(ROOT)},
        capture_output=True,
        text=True,
    )
    if not (folder / "run.json").exists():
        sys.exit(f"the job on {ranks} ranks left no record: {done.stderr}")
    return json.loads((folder / "run.json").read_text())


def main() -> None:
    """Run, print, draw."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write_instructor(build(find_lab(ROOT, LAB)), ROOT)
    throughput = {}
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        for ranks in RANKS:
            record = run(ranks, Path(folder, str(ranks)))
            (report,) = record["runs"]
            throughput[ranks] = report["throughput"]
            nodes = len({place["node"] for place in report["places"]})
            speedup = throughput[ranks] / throughput[1]
            print(
                f"{ranks} ranks on {nodes} node{'s' * (nodes > 1)}: {report['samples']:,} intervals at "
                f"{throughput[ranks]:.3g} a second, {speedup:.2f} times one rank; job {record['seconds']:.0f} s, "
                f"{record['state']}, cells not run for lack of ranks: {len(record['cells']['not_run'])}",
                flush=True,
            )
    seconds = [1 / throughput[ranks] for ranks in RANKS]
    speedup_picture(seconds, cores(), RANKS).savefig(sys.argv[1])


if __name__ == "__main__":
    main()
