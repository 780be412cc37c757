"""Circumstances that a check plays: nodes and GPUs that are not there, random generators that differ by rank."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np
import torch

from course.played_node import play_gpus


@contextmanager
def played_node(local_rank: int, local_size: int) -> Iterator[None]:
    """In this block Horovod, and the variables that launchers set, tell this rank its place on a node of the play."""
    import horovod.torch as hvd

    told = {"LOCAL_RANK": local_rank, "LOCAL_WORLD_SIZE": local_size}
    told |= {"OMPI_COMM_WORLD_LOCAL_RANK": local_rank, "OMPI_COMM_WORLD_LOCAL_SIZE": local_size}
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, {name: str(value) for name, value in told.items()}))
        stack.enter_context(mock.patch.object(hvd, "local_rank", lambda: local_rank))
        stack.enter_context(mock.patch.object(hvd, "local_size", lambda: local_size))
        yield


@contextmanager
def played_gpus(count: int) -> Iterator[dict]:
    """In this block torch sees `count` GPUs, of which none can compute.

    Gives a dict whose ``current`` is the index of the device that was made the current one, None where none was.
    """
    seen: dict[str, Any] = {"current": None}
    with ExitStack() as stack:
        play_gpus(stack, seen, count)
        yield seen


@contextmanager
def seeded_apart(rank: int) -> Iterator[None]:
    """In this block the global random generators are in a state of this rank's own: nothing agrees by chance."""
    states = torch.random.get_rng_state(), random.getstate(), np.random.get_state()
    for seed in (torch.random.manual_seed, random.seed, np.random.seed):
        seed(7919 * rank + 1)
    try:
        yield
    finally:
        torch.random.set_rng_state(states[0])
        random.setstate(states[1])
        np.random.set_state(states[2])
