"""Ways of torch's to communicate that are not recorded: who calls them from a cell is noted to do so.

DistributedDataParallel's reductions begin in C++, the values of a store go through a server of its own, and the
operators of `torch.ops.c10d` give handles that nobody watches. Of a rank that uses one of these, nobody can say that it
does not communicate.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from course.watch.recorder import Recorder

STORE = ("set", "get", "add", "compare_set", "append", "multi_get", "multi_set", "queue_push", "queue_pop")


def unseen_functions(recorder: Recorder) -> dict[Callable, Callable]:
    """Functions of torch.distributed, each with the one to put in its place."""
    import torch.distributed as dist

    return {dist._broadcast_coalesced: noting(recorder, dist._broadcast_coalesced)}


def unseen_methods(recorder: Recorder) -> Iterator[tuple[type, str, Callable]]:
    """What takes the place of methods: (class, name, method)."""
    import torch.distributed as dist

    for owner, names in ((dist.Reducer, ("prepare_for_backward",)), (dist.Store, STORE)):
        for name in names:
            if method := getattr(owner, name, None):
                yield owner, name, noting(recorder, method)


def noting(recorder: Recorder, function: Callable) -> Callable:
    """A function that notes that a cell calls it."""

    def call(*args: Any, **kwargs: Any) -> Any:
        recorder.unseen()
        return function(*args, **kwargs)

    return functools.update_wrapper(call, function)


def is_unseen(operator: Any) -> bool:
    """Whether this operator, or overload of one, communicates and is not recorded."""
    return str(operator).startswith("c10d.")
