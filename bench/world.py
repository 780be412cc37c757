"""What a world costs compared with bare MPI, as ratios in one run.

    python bench/world.py

Prints how long a world takes to start, and to replace its ranks after a deadlock, compared with
`mpirun -n 4 python -c "import torch, mpi4py.MPI"`; and what recording adds to a loop of small all-reduces.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from course.processes.mpi import mpi_environment, mpiexec
from course.world import COMM, World

RANKS = 4
REPEATS = 3
CALLS = 2_000


def seconds(work: Callable[[], object]) -> float:
    """Wall time of ``work()``."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def bare() -> None:
    """Start ranks without Lockstep."""
    command = [mpiexec(), "-n", str(RANKS), sys.executable, "-c", "import torch, mpi4py.MPI"]
    subprocess.run(command, check=True, env={**os.environ, **mpi_environment(RANKS)})


def start() -> None:
    """Start a world, use it once, stop it."""
    with World(RANKS, progress=False) as world:
        world.run(int)


def deadlock(comm: object) -> None:
    """Wait for rank 0, which does not take part."""
    if comm.rank:
        comm.allreduce(1)


def replaced() -> float:
    """Seconds from the report of a deadlock to the first run on new ranks."""
    with World(RANKS, progress=False) as world:
        world.attempt(deadlock, COMM)
        return seconds(lambda: world.run(int))


def allreduces(comm: object, calls: int) -> float:
    """Seconds per call in a loop of small all-reduces, on this rank."""
    comm.barrier()
    began = time.perf_counter()
    for _ in range(calls):
        comm.allreduce(1.0)
    return (time.perf_counter() - began) / calls


def main() -> None:
    """Measure and print."""
    bare()  # once unmeasured, so that files are in memory for all measurements
    base = statistics.median(seconds(bare) for _ in range(REPEATS))
    started = statistics.median(seconds(start) for _ in range(REPEATS))
    again = statistics.median(replaced() for _ in range(REPEATS))
    print(f"bare mpirun -n {RANKS}, torch and mpi4py imported   1.00  ({base:.2f} s)")
    print(f"world of {RANKS} started, used and stopped          {started / base:.2f}  ({started:.2f} s)")
    print(f"ranks replaced after a deadlock             {again / base:.2f}  ({again:.2f} s)")
    with World(RANKS, progress=False) as world:
        for size in (2, RANKS):
            times = {True: [], False: []}
            for _ in range(REPEATS):
                for watch in times:
                    results = world.run(allreduces, COMM, CALLS, size=size, watch=watch, deadline=120)
                    times[watch].append(max(results))
            plain, watched = (statistics.median(times[watch]) for watch in (False, True))
            print(
                f"allreduce of one float, {size} ranks, watched      {watched / plain:.2f}  "
                f"({watched * 1e6:.0f} beside {plain * 1e6:.0f} microseconds)"
            )


if __name__ == "__main__":
    main()
