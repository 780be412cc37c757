"""What a world costs compared with bare MPI, as ratios in one run.

    python bench/world.py

Prints how long a world takes to start, and to replace its ranks after a deadlock, compared with
`mpirun -n 4 python -c "import torch, mpi4py.MPI"`; and what recording adds to an all-reduce of one float and to a
training step of lab 10. Goals: an all-reduce takes at most 1.2 times as long where ranks outnumber cores, and one of
torch at most 1.6 times on one rank; a step at most 1.02 times. And how long it takes to look for differences in a
record of 40,000 calls, compared with writing it as JSON.

Watched and plain bursts of calls take turns in one run, on the same ranks and with the same process group, so that a
busy machine slows both. Ratios and differences are printed twice: of the least times, as other programs only ever make
a burst slower, and as the median of the turns. A rank that is alone stays on one core.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from course.processes.launchers.mpi import mpi_environment, mpiexec
from course.processes.surroundings.machine import cores
from course.processes.surroundings.room import MEMORY
from course.watch.differences import differences
from course.watch.libraries.patches import recording
from course.watch.log import LIMIT
from course.world import COMM, World

RANKS = 4
STEP = "a step of lab 10"
CALLS = {  # what a student's cell has, and how often in a burst
    "mpi4py": ("comm.allreduce(1.0)", 1000),
    "torch": ("dist.all_reduce(number)", 200),
    "horovod": ("hvd.allreduce(number, name='number')", 50),
    STEP: ("step()", 5),
}
LOOP = "def loop(comm, times):\n    for _ in range(times):\n        {}\n"
RECORDS = {"collectives": "comm.Bcast(one)", "messages": "comm.Sendrecv(one, right, 0, one.copy(), left)"}
CELL = """
def many(comm, times):
    one, right, left = np.ones(1), (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for _ in range(times):
        {}
"""
SHAPE = (16, 12)  # sentences in a batch of lab 10, and tokens in a sentence

Turn = tuple[float, float]  # seconds per call, watched and plain


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds that ``work()`` takes, by a clock."""
    began = clock()
    work()
    return clock() - began


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


def step_of_lab_10() -> Callable[[], None]:
    """A training step of lab 10's model, with two small all-reduces in it as there."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    from course.models.translator.sentences import loss_fn
    from course.models.translator.transformer import Transformer

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

    return step


@contextmanager
def recorded(comm: object, watch: bool) -> Iterator[object]:
    """The communicator of a burst, whose calls are recorded as in a run of a world, or not."""
    if not watch:
        yield comm
        return
    with (
        tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as folder,
        recording(f"{folder}/log", comm, time.time(), []) as watched,
    ):
        yield watched


@contextmanager
def on_one_core(alone: bool) -> Iterator[None]:
    """Keep all threads of a rank that is alone on one core. A library hands each call to a thread of its own; how long
    another core takes to wake up is up to the system, and any few microseconds between two calls change it."""
    before = os.sched_getaffinity(0)
    threads = [int(thread) for thread in os.listdir("/proc/self/task")] if alone else []
    for thread in threads:
        os.sched_setaffinity(thread, {min(before)})
    try:
        yield
    finally:
        for thread in threads:
            os.sched_setaffinity(thread, before)


def bursts(comm: object, what: str, turns: int) -> list[Turn]:
    """Runs on each rank, unwatched: seconds per call of the bursts."""
    with on_one_core(comm.size == 1):
        return turns_of(comm, what, turns)


def turns_of(comm: object, what: str, turns: int) -> list[Turn]:
    """See `bursts`."""
    import horovod.torch as hvd
    import torch
    import torch.distributed as dist

    call, times = CALLS[what]
    # The number is 0, which stays what it is however often it is summed.
    cell = {"dist": dist, "hvd": hvd, "number": torch.zeros(1), "step": step_of_lab_10() if what == STEP else None}
    exec(compile(LOOP.format(call), "<cell 1>", "exec"), cell)  # as a student's: the watch looks for its line
    found: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(1 + turns):
        for watch in (True, False) if turn % 2 else (False, True):
            with recorded(comm, watch) as communicator:
                cell["loop"](communicator, max(2, times // 10))  # what is new is slow
                comm.barrier()
                began = time.perf_counter()
                cell["loop"](communicator, times)
                found[watch].append((time.perf_counter() - began) / times)
    return [*zip(found[True], found[False], strict=True)][1:]  # in the first turn, more than this is new


def print_bursts(world: World, what: str, size: int, turns: int) -> None:
    """Measure and print what recording adds on some of the ranks. The slowest of them counts in each burst."""
    init = {"mpi4py": None, STEP: "torch"}.get(what, what)
    of_ranks = world.run(bursts, COMM, what, turns, size=size, watch=False, init=init, deadline=300)
    slowest = [[max(times) for times in zip(*turn, strict=True)] for turn in zip(*of_ranks, strict=True)]
    watched, plain = (sorted(times) for times in zip(*slowest, strict=True))
    least, median = watched[0] / plain[0], statistics.median(with_it / without for with_it, without in slowest)
    more = statistics.median(with_it - without for with_it, without in slowest)
    print(
        f"{what:17}{size} ranks{least:9.2f}{median:9.2f}{(watched[0] - plain[0]) * 1e6:11.1f}{more * 1e6:9.1f}"
        f"   ({statistics.median(watched) * 1e6:.0f} beside {statistics.median(plain) * 1e6:.0f})"
    )


def judged(name: str, call: str) -> None:
    """Print how long differences are looked for in a record of as many calls as fit, compared with writing it as JSON:
    in seconds of this process, which other programs hardly change."""
    cell = {"np": np}
    exec(compile(CELL.format(call), "<cell 1>", "exec"), cell)
    with World(RANKS, progress=False) as world:
        outcome = world.attempt(cell["many"], COMM, LIMIT, deadline=120)
    ranks = [rank.before_meeting() for rank in outcome.ranks]
    judging = min(seconds(lambda: differences(ranks), time.process_time) for _ in range(3))
    writing = min(seconds(lambda: json.dumps(outcome.events), time.process_time) for _ in range(3))
    print(f"differences in {sum(map(len, outcome.events))} calls, {name:14}{judging / writing:.2f}  ({judging:.2f} s)")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3, help="of what starts or replaces ranks (default: 3)")
    parser.add_argument("--turns", type=int, default=30, help="of bursts, watched and plain (default: 30)")
    chosen = parser.parse_args()
    bare()  # once unmeasured, so that files are in memory for all measurements
    base = statistics.median(seconds(bare) for _ in range(chosen.repeats))
    started = statistics.median(seconds(start) for _ in range(chosen.repeats))
    again = statistics.median(replaced() for _ in range(chosen.repeats))
    print(f"bare mpirun -n {RANKS}, torch and mpi4py imported   1.00  ({base:.2f} s)")
    print(f"world of {RANKS} started, used and stopped          {started / base:.2f}  ({started:.2f} s)")
    print(f"ranks replaced after a deadlock             {again / base:.2f}  ({again:.2f} s)")
    for name, call in RECORDS.items():
        judged(name, call)
    print(f"\nWatched by plain, on {cores()} cores; microseconds that a call takes longer; its median, both ways")
    print(f"{'':24}{'least':>9}{'median':>9}{'least':>11}{'median':>9}")
    crowded = max(RANKS, cores() + 1)
    with World(crowded, progress=False) as world:
        for library in ("mpi4py", "torch", "horovod"):
            for size in (1, 2, crowded):
                print_bursts(world, library, size, chosen.turns)
        print_bursts(world, STEP, 2, chosen.turns)


if __name__ == "__main__":
    main()
