"""One run as one of its ranks sees it: communicator, torch's process group and Horovod of just the ranks in it.

The world sends three messages for each run: `open_subworld`, `call`, `close_subworld`. The last comes when every rank
is back, and not before: a group torn down by the first rank that is done would turn another rank's deadlock into an
error.
"""

from __future__ import annotations

import enum
import os
import socket
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps
from typing import Any

import cloudpickle

from course.output import limited_output
from course.watch import in_cell, recording


class Placeholder(enum.Enum):
    """Stands for a value that exists only on the ranks; `World.run` puts it in place there."""

    COMM = "the mpi4py communicator of the ranks of this run"
    RANK = "this rank's number among them, from 0"
    SIZE = "how many they are"


@dataclass(frozen=True)
class Plan:
    """What a rank must know to take part in a run.

    number: of the run, from 1. ranks: numbers in the world, in the order of the sub-world. init: "torch", "horovod" or
    None. log: path of this rank's event log, with ``{rank}`` for its number in the world; None: not watched.
    """

    number: int
    ranks: tuple[int, ...]
    init: str | None
    log: str | None


class SubWorld:
    """The ranks of one run. Made on each of them; `close` gives everything back."""

    def __init__(self, plan: Plan) -> None:
        from mpi4py import MPI

        self.plan = plan
        world = MPI.COMM_WORLD
        group = world.group.Incl(plan.ranks)
        # Never freed: MPI would give its context to the next run, which could then receive what this one left.
        self.comm = world.Create_group(group, tag=plan.number % 30_000)
        group.Free()
        # A node is called as Slurm calls it; two of them may be on one machine.
        host = MPI.Get_processor_name()
        nodes = self.comm.allgather(os.environ.get("SLURMD_NODENAME", host))
        here = [rank for rank, node in enumerate(nodes) if node == nodes[self.comm.rank]]
        master, port = self.comm.bcast((host, free_port()))
        self.set_environment(here.index(self.comm.rank), len(here), master, port)
        if "horovod.torch" in sys.modules:
            self.name_ranks_to_horovod()
        if plan.init == "torch":
            self.start_torch(len(here))
        elif plan.init == "horovod":
            self.start_horovod()

    def set_environment(self, local_rank: int, local_size: int, master: str, port: int) -> None:
        """The variables that torchrun sets, for code that reads them."""
        single = local_size == self.comm.size
        os.environ.update(
            RANK=str(self.comm.rank),
            WORLD_SIZE=str(self.comm.size),
            LOCAL_RANK=str(local_rank),
            LOCAL_WORLD_SIZE=str(local_size),
            MASTER_ADDR="127.0.0.1" if single else master,
            MASTER_PORT=str(port),
        )
        if single:  # gloo would otherwise resolve this machine's name, which need not work on a laptop
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

    def start_torch(self, local_size: int) -> None:
        """torch's default process group over the ranks of this run: NCCL where each local rank has a GPU, else gloo."""
        import torch
        import torch.distributed as dist

        gpus = torch.cuda.is_available() and torch.cuda.device_count() >= local_size
        if gpus:
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        # The world's own deadlines come first: gloo's time limit would only blur where a rank stands.
        dist.init_process_group("nccl" if gpus else "gloo", timeout=timedelta(minutes=30))

    def name_ranks_to_horovod(self) -> None:
        """Make `hvd.init()` take the ranks of this run; Horovod 0.28.1 takes those that an earlier `init` named."""
        hvd = sys.modules["horovod.torch"]
        plain, ranks = hvd.mpi_ops.init, list(self.plan.ranks)

        @wraps(plain)
        def init(comm: Any = None, process_sets: Any = None) -> Any:
            return plain(ranks if comm is None else comm, process_sets)

        hvd.init = init

    def start_horovod(self) -> None:
        """Horovod over the ranks of this run."""
        import horovod.torch as hvd

        hvd.init(comm=list(self.plan.ranks))

    def close(self) -> None:
        """End what this run or the student's code started: Horovod, the process group."""
        if "horovod.torch" in sys.modules and sys.modules["horovod.torch"].is_initialized():
            sys.modules["horovod.torch"].shutdown()
        if "torch.distributed" in sys.modules and sys.modules["torch.distributed"].is_initialized():
            sys.modules["torch.distributed"].destroy_process_group()

    def call(self, function: Callable, args: tuple, zero: float) -> Any:
        """``function(*args)`` with placeholders filled in, and watched if the plan says so."""
        from mpi4py import MPI

        with ExitStack() as stack:
            stack.enter_context(limited_output())
            comm = self.comm
            if self.plan.log:
                log = self.plan.log.format(rank=MPI.COMM_WORLD.rank)
                comm = stack.enter_context(recording(log, comm, zero))
            values = {Placeholder.COMM: comm, Placeholder.RANK: comm.rank, Placeholder.SIZE: comm.size}
            try:
                return function(*(values.get(arg, arg) if isinstance(arg, Placeholder) else arg for arg in args))
            finally:
                if self.plan.log and type(comm).unfinished:
                    # MPI may still write to their buffers, which live as long as these.
                    vars(holder()).setdefault("lockstep_unfinished", []).extend(type(comm).unfinished)


def free_port() -> int:
    """A TCP port of this machine that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def describe_error(error: BaseException) -> dict:
    """What a rank tells of an exception: type, message, the line of the student's cell, and the traceback."""
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


def holder() -> Any:
    """Where a rank keeps its sub-world between two messages: on the shell, which lives as long as the engine."""
    from IPython import get_ipython

    return get_ipython()


def open_subworld(plan: Plan) -> None:
    """First message of a run, sent to each of its ranks. Returns when the libraries are ready on all."""
    holder().lockstep_subworld = SubWorld(plan)


def call(payload: bytes, zero: float) -> dict:
    """Second message: run a pickled ``(function, args)``. zero: when the run began, by time.time().

    Returns ``{"result": bytes | None, "error": dict | None, "seconds": float}``; the result pickled, as only this side
    may know its classes.
    """
    began = time.perf_counter()
    result = error = None
    try:
        function, args = cloudpickle.loads(payload)
        result = cloudpickle.dumps(holder().lockstep_subworld.call(function, args, zero))
    except (Exception, SystemExit, KeyboardInterrupt) as raised:
        error = describe_error(raised)
    return {"result": result, "error": error, "seconds": time.perf_counter() - began}


def close_subworld() -> None:
    """Last message, when all ranks are back."""
    holder().lockstep_subworld.close()
    del holder().lockstep_subworld
