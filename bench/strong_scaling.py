"""Strong scaling of lab 03, from the records of its jobs.

    python bench/strong_scaling.py PLOT.png

Needs Slurm (`slurm/local/cluster` makes a cluster). Submits the lab's solution by `sbatch run.sh` on 1, 2, 4 and 8
ranks, on two nodes from 2 ranks on, reads each `run.json`, and draws the speed-up. Prints also what lab 08's
`fit_scaling` makes of these times: T(N) = T_par / N + T_seq + T_comm (N - 1).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from autograde.labs.folder import find_lab
from autograde.making.build import build, write_instructor
from autograde.making.solved import solved_notebook
from course.batch.record import Record
from course.batch.torchrun_rank import definitions
from course.figures.scaling.speedup import speedup_picture
from course.processes.surroundings.machine import cores

ROOT = Path(__file__).resolve().parents[1]
LAB, FIT = "03_pi_allreduce", "08_ddp_cnn"
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
    throughput, intervals = {}, set()
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        for ranks in RANKS:
            record = run(ranks, Path(folder, str(ranks)))
            (report,) = record["runs"]
            throughput[ranks] = report["throughput"]
            intervals.add(report["samples"])
            nodes = len({place["node"] for place in report["places"]})
            speedup = throughput[ranks] / throughput[1]
            print(
                f"{ranks} ranks on {nodes} node{'s' * (nodes > 1)}: {report['samples']:,} intervals at "
                f"{throughput[ranks]:.3g} a second, {speedup:.2f} times one rank; job {record['seconds']:.0f} s, "
                f"{record['state']}, cells not run for lack of ranks: {len(record['cells']['not_run'])}",
                flush=True,
            )
        fit_scaling = definitions(solved_notebook(FIT, Path(folder)), "fit_scaling")["fit_scaling"]
    if len(intervals) > 1:  # the lab takes as many as last 20 ms on one rank
        sys.exit("not the same intervals in all jobs, so this is no speed-up; try again where nothing else runs")
    seconds = [1 / throughput[ranks] for ranks in RANKS]
    parts = zip(("T_par", "T_seq", "T_comm"), fit_scaling([*RANKS], seconds), strict=True)
    print("lab 08's fit, T(1) = 1:", ", ".join(f"{name} {part / seconds[0]:.2f}" for name, part in parts))
    speedup_picture(seconds, cores(), RANKS).savefig(sys.argv[1])


if __name__ == "__main__":
    main()
