"""What `sbatch run.sh` costs, compared with bare `srun python` for the same computation.

    python bench/batch.py [--intervals N]

Needs Slurm (`slurm/local/cluster` makes a cluster). Both compute pi on four ranks of two nodes with mpi4py. Prints the
seconds from submission to the end of the job, and how long the ranks themselves took.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import nbformat

ROOT = Path(__file__).resolve().parents[1]
PLACE = ["--nodes=2", "--ntasks=4"]
REPEATS = 3
FUNCTION = '''
def pi(comm, intervals):
    """This rank takes every `size`-th interval; all ranks get the sum."""
    import time

    import numpy as np

    comm.Barrier()
    began, total = time.perf_counter(), 0.0
    for start in range(comm.rank, intervals, comm.size * 1_000_000):
        x = (np.arange(start, min(start + comm.size * 1_000_000, intervals), comm.size) + 0.5) / intervals
        total += float((4 / (1 + x * x)).sum())
    return comm.allreduce(total) / intervals, time.perf_counter() - began
'''
SCRIPT = """
from mpi4py import MPI
value, seconds = pi(MPI.COMM_WORLD, {intervals})
if MPI.COMM_WORLD.rank == 0:
    print(value, seconds)
"""
CELLS = (
    "from course.world import COMM, World\nworld = World(4)",
    FUNCTION,
    "value, seconds = world.run(pi, COMM, {intervals})[0]\nprint(value, seconds)",
)


def bare(folder: Path, intervals: int) -> float:
    """Seconds of `srun python`."""
    (folder / "pi.py").write_text(FUNCTION + SCRIPT.format(intervals=intervals))
    began = time.perf_counter()
    done = subprocess.run(
        ["srun", "--quiet", "--mpi=pmix", *PLACE, sys.executable, "pi.py"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    took = time.perf_counter() - began
    print(f"srun python:    {took:6.2f} s, of which ranks {float(done.stdout.split()[1]):.2f} s")
    return took


def batch(folder: Path, intervals: int) -> float:
    """Seconds of `sbatch run.sh`, until the job has ended."""
    cells = [nbformat.v4.new_code_cell(source.replace("{intervals}", str(intervals))) for source in CELLS]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "pi.ipynb")
    (folder / "run.sh").write_text((ROOT / "slurm" / "run.sh").read_text().replace("@LAB@", "pi"))
    began = time.perf_counter()
    command = ["sbatch", "--parsable", *PLACE, "run.sh"]
    environment = {**os.environ, "LOCKSTEP_HOME": str(ROOT)}
    submitted = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, env=environment)
    job = submitted.stdout.strip()
    look = ["squeue", "--noheader", f"--jobs={job}", "--states=PENDING,CONFIGURING,RUNNING"]
    while subprocess.run(look, capture_output=True, text=True).stdout.strip():
        time.sleep(0.1)
    took = time.perf_counter() - began
    (executed,) = folder.glob(f"pi.out.{job}.ipynb")
    printed = nbformat.read(executed, as_version=4).cells[-1].outputs[0]["text"]
    print(f"sbatch run.sh:  {took:6.2f} s, of which ranks {float(printed.split()[1]):.2f} s")
    return took


def main() -> None:
    """Measure both in turn, and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--intervals", type=int, default=400_000_000)
    intervals = parser.parse_args().intervals
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        pairs = [(batch(Path(folder), intervals), bare(Path(folder), intervals)) for _ in range(REPEATS)]
    ours, plain = (median(times) for times in zip(*pairs, strict=True))
    print(f"sbatch run.sh takes {ours - plain:.1f} s more than srun python: {ours / plain:.2f} times as long")


if __name__ == "__main__":
    main()
