"""The ranks' side of a run: a communicator, torch process group and Horovod of just the ranks that take part.

The world sends two messages for each run, `open_subworld` and `call`, and `close_subworld` to ranks on which torch's
process group or Horovod is up. It sends the last only when every rank is back: if the first rank to finish tore down
its group, another rank's deadlock would become an error.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps
from typing import Any, TypedDict

import cloudpickle

from course.calls.sent_call import unpacked
from course.ports import free_port
from course.processes.launchers.mpi import wait_awake
from course.processes.surroundings.machine import cores
from course.watch.events import in_cell
from course.watch.libraries.patches import recording
from course.world.output import limited_output
from course.world.placeholders import Placeholder
from course.world.rank_report import ErrorReport


@dataclass(frozen=True)
class Plan:
    """What a rank must know to take part in a run.

    number: of the run, from 1. ranks: world ranks, in the order of the sub-world. init: "torch", "horovod" or None.
    log: path of the event log, with ``{rank}`` for the world rank; None: nothing is recorded.
    """

    number: int
    ranks: tuple[int, ...]
    init: str | None
    log: str | None


class CallResult(TypedDict):
    """What `call` returns. result: pickled, as only the rank may know its classes; None if the call raised. open:
    whether the sub-world is, as it has libraries to shut down."""

    result: bytes | None
    error: ErrorReport | None
    seconds: float
    open: bool


class SubWorld:
    """The ranks of one run, made on each of them; `close` releases everything but the communicator."""

    def __init__(self, plan: Plan) -> None:
        from mpi4py import MPI

        self.plan = plan
        world = MPI.COMM_WORLD
        group = world.group.Incl(plan.ranks)
        # Never freed: MPI would reuse its context for the next run, which could then receive this run's messages.
        self.comm = world.Create_group(group, tag=plan.number % 30_000)
        group.Free()
        # Slurm's name of a node comes first: two nodes may be on one machine.
        host = MPI.Get_processor_name()
        nodes = self.comm.allgather(os.environ.get("SLURMD_NODENAME", host))
        here = [rank for rank, node in enumerate(nodes) if node == nodes[self.comm.rank]]
        master, port = self.comm.bcast((host, free_port()))
        self.set_environment(here.index(self.comm.rank), len(here), master, port)
        # Horovod waits in a thread of its own, so that each of its ranks may need two cores.
        wait_awake(len(here) * (2 if plan.init == "horovod" else 1) <= cores())
        if "horovod.torch" in sys.modules:
            self.name_ranks_to_horovod()
        if plan.init == "torch":
            self.start_torch(len(here))
        elif plan.init == "horovod":
            self.start_horovod()

    def set_environment(self, local_rank: int, local_size: int, master: str, port: int) -> None:
        """Set the variables that torchrun sets, for code that reads them."""
        single = local_size == self.comm.size
        os.environ.update(
            RANK=str(self.comm.rank),
            WORLD_SIZE=str(self.comm.size),
            LOCAL_RANK=str(local_rank),
            LOCAL_WORLD_SIZE=str(local_size),
            MASTER_ADDR="127.0.0.1" if single else master,
            MASTER_PORT=str(port),
        )
        if single:  # else gloo resolves this machine's name, which may fail on a laptop
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

    def start_torch(self, local_size: int) -> None:
        """Start torch's default process group on these ranks: NCCL if each local rank has a GPU, else gloo."""
        import torch
        import torch.distributed as dist

        gpus = torch.cuda.is_available() and torch.cuda.device_count() >= local_size
        if gpus:
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        # Longer than any deadline of the world: a timeout of gloo's would hide where a rank stands.
        dist.init_process_group("nccl" if gpus else "gloo", timeout=timedelta(minutes=30))

    def name_ranks_to_horovod(self) -> None:
        """Make `hvd.init()` use the ranks of this run; Horovod 0.28.1 uses those that an earlier `init` named."""
        hvd = sys.modules["horovod.torch"]
        plain, ranks = hvd.mpi_ops.init, list(self.plan.ranks)

        @wraps(plain)
        def init(comm: Any = None, process_sets: Any = None) -> Any:
            return plain(ranks if comm is None else comm, process_sets)

        hvd.init = init

    def start_horovod(self) -> None:
        """Start Horovod on the ranks of this run."""
        import horovod.torch as hvd

        hvd.init(comm=list(self.plan.ranks))

    def libraries(self) -> list[Callable]:
        """What shuts down Horovod and the process group that are up, whether this run or the student's code started
        them."""
        ends = {"horovod.torch": "shutdown", "torch.distributed": "destroy_process_group"}
        there = [(sys.modules[name], end) for name, end in ends.items() if name in sys.modules]
        return [getattr(library, end) for library, end in there if library.is_initialized()]

    def close(self) -> None:
        """Shut down what is up."""
        for shut_down in self.libraries():
            shut_down()
        wait_awake(False)

    def call(self, function: Callable, args: tuple, zero: float) -> Any:
        """Call ``function(*args)`` with placeholders filled in, and record it if the plan says so."""
        from mpi4py import MPI

        # MPI may still write to the buffers of requests that are not complete, so these must live on.
        unfinished = vars(shell()).setdefault("lockstep_unfinished", [])
        with ExitStack() as stack:
            stack.enter_context(limited_output())
            comm = self.comm
            if self.plan.log:
                log = self.plan.log.format(rank=MPI.COMM_WORLD.rank)
                comm = stack.enter_context(recording(log, comm, zero, unfinished))
            values = {Placeholder.COMM: comm, Placeholder.RANK: comm.rank, Placeholder.SIZE: comm.size}
            return function(*(values.get(arg, arg) if isinstance(arg, Placeholder) else arg for arg in args))


def describe_error(error: BaseException) -> ErrorReport:
    """An exception as plain data, with the line of the student's cell that raised it."""
    line, source = None, None
    for frame in traceback.extract_tb(error.__traceback__):
        if in_cell(frame.filename):
            line, source = frame.lineno, frame.line
    if isinstance(error, SyntaxError) and error.filename and in_cell(error.filename):
        line, source = error.lineno, error.text
    return {
        "type": type(error).__name__,
        "message": str(error),
        "line": line,
        "source": source.strip() if source else None,
        "traceback": "".join(traceback.format_exception(error)),
    }


def shell() -> Any:
    """The engine's IPython shell, on which a rank keeps its sub-world between two messages."""
    from IPython import get_ipython

    return get_ipython()


def open_subworld(plan: Plan) -> None:
    """First message of a run, sent to each of its ranks. Returns when the libraries are ready on all."""
    shell().lockstep_subworld = SubWorld(plan)


def call(payload: bytes, zero: float) -> CallResult:
    """Second message: run a `packed` function. zero: when the run began, by time.time()."""
    began = time.perf_counter()
    result = error = None
    try:
        with unpacked(payload) as (function, args):
            result = cloudpickle.dumps(shell().lockstep_subworld.call(function, args, zero))
    except (Exception, SystemExit, KeyboardInterrupt) as raised:
        error = describe_error(raised)
    seconds = time.perf_counter() - began
    if not (still_open := bool(shell().lockstep_subworld.libraries())):
        close_subworld()
    return {"result": result, "error": error, "seconds": seconds, "open": still_open}


def close_subworld() -> None:
    """Last message, when all ranks are back, to those that are not closed yet."""
    shell().lockstep_subworld.close()
    del shell().lockstep_subworld
