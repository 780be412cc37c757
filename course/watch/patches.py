"""Puts the recorder in place during a run, and takes it away afterwards.

Replaces ``MPI.COMM_WORLD`` by a watched communicator, and the functions of torch.distributed and Horovod in each of
their modules that holds them.
"""

from __future__ import annotations

import copyreg
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from course.watch.communicators import watched_communicators
from course.watch.events import Recorder
from course.watch.functions import watch_horovod, watch_torch


@contextmanager
def recording(log: str, communicator: Any, zero: float) -> Iterator[Any]:
    """Record this rank's communication until the block ends. Gives a watched copy of `communicator`.

    torch.distributed and Horovod are recorded only if they are already imported.
    """
    recorder = Recorder(log, zero)
    try:
        communicators = watched_communicators(recorder)
        with patched(recorder, communicators):
            yield communicators(communicator)
            communicators.settle()
    finally:
        recorder.close()


@contextmanager
def patched(recorder: Recorder, communicators: Any) -> Iterator[None]:
    """Replace the libraries' functions by watched ones, and restore them at the end."""
    from mpi4py import MPI

    undo: list[tuple[Any, str, Any]] = []

    def replace(package: str, watched: Mapping[Callable, Callable]) -> None:
        by_identity = {id(function): new for function, new in watched.items()}
        inside = f"{package}."
        for name, module in list(sys.modules.items()):
            if name == package or name.startswith(inside):
                for attribute, value in list(vars(module).items()):
                    if id(value) in by_identity:
                        undo.append((module, attribute, value))
                        setattr(module, attribute, by_identity[id(value)])

    undo.append((MPI, "COMM_WORLD", MPI.COMM_WORLD))
    MPI.COMM_WORLD = communicators(MPI.COMM_WORLD)
    copyreg.dispatch_table.update(communicators.reducers)
    try:
        if "torch.distributed" in sys.modules:
            replace("torch.distributed", watch_torch(recorder))
        if "horovod.torch" in sys.modules:
            replace("horovod", watch_horovod(recorder))
        yield
    finally:
        for communicator in communicators.reducers:
            copyreg.dispatch_table.pop(communicator, None)
        for module, attribute, value in reversed(undo):
            setattr(module, attribute, value)
