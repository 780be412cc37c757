"""What a world costs compared with bare MPI, as ratios in one run.

    python bench/world.py

Prints how long a world takes to start, and to replace its ranks after a deadlock, compared with
`mpirun -n 4 python -c "import torch, mpi4py.MPI"`; and what recording adds to an all-reduce of one float and to a
training step of lab 10. Goals: an all-reduce takes at most 1.2 times as long where ranks outnumber cores, at most 10
microseconds longer where each has one; a step at most 1.02 times. Watched and plain runs take turns; the least counts,
as other programs only ever make a run slower.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from course.processes.mpi import cores, mpi_environment, mpiexec
from course.world import COMM, World

RANKS = 4
REPEATS = 3
TURNS = 7
CALLS = 2_000
STEPS = 25
LOOP = "def loop(call, times):\n    for _ in range(times):\n        call()\n"
SHAPE = (16, 12)  # sentences in a batch of lab 10, and tokens in a sentence


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


def allreduces(comm: object, library: str, calls: int) -> float:
    """Runs on each rank: seconds per call in a loop of all-reduces of one float."""
    import horovod.torch as hvd
    import torch
    import torch.distributed as dist

    number = torch.ones(1)
    ways = {
        "mpi4py": lambda: comm.allreduce(1.0),
        "torch": lambda: dist.all_reduce(number),
        "horovod": lambda: hvd.allreduce(number, name="number"),
    }
    cell: dict = {}
    exec(compile(LOOP, "<cell 1>", "exec"), cell)  # as a student's: the watch looks for the line of the cell
    comm.barrier()
    began = time.perf_counter()
    cell["loop"](ways[library], calls)
    return (time.perf_counter() - began) / calls


def steps_of_lab_10(comm: object, library: str, steps: int) -> float:
    """Runs on each rank: seconds per training step of lab 10's model, with two small all-reduces in it as there."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    from course.models.sentences import loss_fn
    from course.models.transformer import Transformer

    torch.manual_seed(0)
    model = DistributedDataParallel(Transformer(400, d_model=64, heads=4, layers=2))
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(4, 400, SHAPE)

    def step() -> None:
        optimizer.zero_grad()
        count = torch.tensor(float(tokens.numel()))
        dist.all_reduce(count)
        loss = loss_fn(model(tokens, tokens), tokens) / count
        loss.backward()
        optimizer.step()
        dist.all_reduce(loss.detach())

    step(), step()  # DistributedDataParallel rebuilds its buckets after the first
    comm.barrier()
    began = time.perf_counter()
    for _ in range(steps):
        step()
    return (time.perf_counter() - began) / steps


def watched_and_plain(world: World, function: Callable, library: str, size: int, times: int) -> tuple[float, float]:
    """Least seconds of a function that runs on the ranks, watched and not."""
    found: dict[bool, list[float]] = {True: [], False: []}
    init = None if library == "mpi4py" else library
    for _ in range(TURNS):
        for watch in found:
            results = world.run(function, COMM, library, times, size=size, watch=watch, init=init, deadline=300)
            found[watch].append(max(results))
    return min(found[True]), min(found[False])


def main() -> None:
    """Measure and print."""
    bare()  # once unmeasured, so that files are in memory for all measurements
    base = statistics.median(seconds(bare) for _ in range(REPEATS))
    started = statistics.median(seconds(start) for _ in range(REPEATS))
    again = statistics.median(replaced() for _ in range(REPEATS))
    print(f"bare mpirun -n {RANKS}, torch and mpi4py imported   1.00  ({base:.2f} s)")
    print(f"world of {RANKS} started, used and stopped          {started / base:.2f}  ({started:.2f} s)")
    print(f"ranks replaced after a deadlock             {again / base:.2f}  ({again:.2f} s)")
    crowded = max(RANKS, cores() + 1)
    with World(crowded, progress=False) as world:
        for size in (2, crowded):
            for library in ("mpi4py", "torch", "horovod"):
                watched, plain = watched_and_plain(world, allreduces, library, size, CALLS)
                print(
                    f"all-reduce, {size} ranks on {cores()} cores, {library:7}     {watched / plain:.2f}  "
                    f"({watched * 1e6:.0f} beside {plain * 1e6:.0f} microseconds)"
                )
        watched, plain = watched_and_plain(world, steps_of_lab_10, "torch", 2, STEPS)
        print(
            f"a step of lab 10, 2 ranks                   {watched / plain:.2f}  "
            f"({watched * 1e3:.1f} beside {plain * 1e3:.1f} ms)"
        )


if __name__ == "__main__":
    main()
