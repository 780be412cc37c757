"""Puts the recorder in place during a run, and takes it away afterwards.

Replaces what mpi4py's module, torch.distributed and Horovod hold by watched communicators, classes and functions, in
each module that holds them.
"""

from __future__ import annotations

import copyreg
import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from course.watch.libraries.communicators import WatchedCommunicators
from course.watch.libraries.horovod_calls import watch_horovod
from course.watch.libraries.mpi_calls import CLASSES
from course.watch.libraries.torch_calls import WatchedTorch
from course.watch.libraries.windows import watched_windows
from course.watch.recorder import Recorder


@contextmanager
def recording(log: str, communicator: Any, zero: float, unfinished: list[Any]) -> Iterator[Any]:
    """Record this rank's communication until the block ends. Gives a watched copy of `communicator`.

    unfinished: takes requests that are still under way then. torch.distributed and Horovod are recorded only if they
    are already imported.
    """
    recorder = Recorder(log, zero)
    try:
        communicators = WatchedCommunicators(recorder, communicator)
        try:
            with patched(recorder, communicators, communicator.size):
                yield communicators.of(communicator)
                communicators.requests.settle()
        finally:
            unfinished.extend(communicators.requests.pending.values())
    finally:
        recorder.close()


@contextmanager
def patched(recorder: Recorder, communicators: WatchedCommunicators, ranks: int) -> Iterator[None]:
    """Replace the libraries' functions by watched ones, and restore them at the end. ranks: how many the run has."""
    from mpi4py import MPI
    from mpi4py.util import pkl5  # now: imported while it is watched, it would hold watched classes ever after

    undo: list[tuple[Any, str, Any]] = []

    def put(owner: Any, name: str, new: Any) -> None:
        # As it is there: by getattr, a class gives a method of C++ without what binds it to an instance.
        undo.append((owner, name, vars(owner).get(name)))
        setattr(owner, name, new)

    def replace(package: str, watched: Mapping[Callable, Callable]) -> None:
        names = tuple([name for name in sys.modules if name.startswith(package)])
        for name, attribute, function in places(names, tuple(watched)):
            module = sys.modules[name]
            if vars(module).get(attribute) is function:  # unless somebody has put something else there
                put(module, attribute, watched[function])

    windows = watched_windows(recorder, communicators.ranks, communicators.requests)
    classes = {**communicators.requests.names, "Win": windows}
    pickled = [getattr(MPI, name) for name in (*CLASSES, *classes)]
    constants = {name: getattr(MPI, name) for name in ("COMM_WORLD", "COMM_SELF")}
    copyreg.dispatch_table.update(dict.fromkeys(pickled, functools.partial(reduced, constants)))
    for name, plain in constants.items():
        put(MPI, name, communicators.of(plain))
    for name in CLASSES:
        put(MPI, name, communicators.over(getattr(MPI, name)))
    for name in ("Intracomm", "Intercomm"):  # what they have of their own calls what was replaced above
        put(pkl5, name, communicators.over(getattr(pkl5, name)))
    for name, watched in classes.items():
        put(MPI, name, watched)
    try:
        if "torch.distributed" in sys.modules:
            torch_calls = WatchedTorch(recorder)
            replace("torch.distributed", torch_calls.functions)
            for owner, name, method in torch_calls.methods:
                put(owner, name, method)
        if "horovod.torch" in sys.modules:
            replace("horovod", watch_horovod(recorder, ranks))
        yield
    finally:
        for kind in pickled:
            copyreg.dispatch_table.pop(kind, None)
        for owner, name, value in reversed(undo):
            if value is None:
                delattr(owner, name)  # it is inherited
            else:
                setattr(owner, name, value)


@functools.lru_cache(maxsize=8)
def places(modules: tuple[str, ...], functions: tuple[Callable, ...]) -> list[tuple[str, str, Callable]]:
    """Where modules hold functions: names of module and attribute, and which function. To look takes milliseconds."""
    known = {id(function) for function in functions}
    return [
        (name, attribute, value)
        for name in modules
        for attribute, value in list(vars(sys.modules[name]).items())
        if id(value) in known
    ]


def reduced(constants: Mapping[str, Any], instance: Any) -> str | tuple:
    """For pickle, which looks for classes and constants of mpi4py by their names, and finds the watched ones there.

    constants: the communicators that have a name, as they were before.
    """
    from mpi4py import MPI

    for name, before in constants.items():
        if instance is before or instance is getattr(MPI, name):
            return constant, (name,)
    plain = getattr(type(instance), "plain", type(instance))
    found = plain.__reduce__(instance)  # a constant's name, or what makes a copy of a constant
    return found if isinstance(found, str) else (copied, (plain.__name__, plain is not type(instance), found[1][1]))


def constant(name: str) -> Any:
    """What mpi4py has under a name now, watched or not."""
    from mpi4py import MPI

    return getattr(MPI, name)


def copied(name: str, watched: bool, original: Any) -> Any:
    """A copy, of a class of mpi4py's. watched: of the class that takes its place, or of the original's own."""
    found = type(original) if watched and hasattr(original, "plain") else constant(name)
    return (found if watched else getattr(found, "plain", found))(original)
