"""A node with GPUs, simulated on a machine that need not have any: what code asks torch for, and what it gets.

Also random generators that differ by rank, as those of ranks on other nodes do.
"""

from __future__ import annotations

import inspect
import os
import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np
import torch
import torch.distributed as dist

from autograde.contract.call_probe import CallRank
from autograde.contract.evidence import Evidence, unjudged

ADDRESS = ("MASTER_ADDR", "MASTER_PORT")
LAUNCHERS = (("LOCAL_RANK", "LOCAL_WORLD_SIZE"), ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"))


@contextmanager
def simulated_node(local_rank: int, local_size: int, gpus: int | None = None) -> Iterator[dict]:
    """In this block, this rank is number `local_rank` of the `local_size` ranks on a node with `gpus` GPUs.

    The environment says so, and Horovod where it is imported. gpus: None leaves torch's GPUs and process groups as they
    are; else none of the GPUs can compute, and a process group is really started, by gloo and at the right place with
    the right numbers whatever was asked for, so that it works on any machine.

    Gives what is noted meanwhile: `current`, the GPU that was made the current one, or None; `starts`, for each start
    of a process group its backend, rank and size, and whether it was at the place that the environment names
    (`in_place`). Afterwards all is as before.
    """
    noted: dict[str, Any] = {"current": None, "starts": []}
    place = {rank: str(local_rank) for rank, _ in LAUNCHERS} | {size: str(local_size) for _, size in LAUNCHERS}
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, place))
        if hvd := sys.modules.get("horovod.torch"):
            replace(stack, hvd, local_rank=lambda: local_rank, local_size=lambda: local_size)
        if gpus is not None:
            simulate_gpus(stack, noted, gpus)
            simulate_groups(stack, noted, gpus)
        yield noted


@contextmanager
def on_node(rank: CallRank, call: Mapping) -> Iterator[dict]:
    """For `CallProbe(around=...)`: ranks are on nodes of `local_size` each, an argument of the call, and have random
    numbers of their own. Gives what `simulated_node` gives."""
    size = call["local_size"]
    with seeded_apart(rank.rank), simulated_node(rank.rank % size, size) as noted:
        yield noted


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


def simulate_gpus(stack: ExitStack, noted: dict, gpus: int) -> None:
    """Let torch find `gpus` GPUs, and note which of them becomes the current one."""

    def choose(device: Any) -> None:
        noted["current"] = index_of(device)

    def current() -> int:
        return noted["current"] or 0

    class Current:
        """`torch.cuda.device`: in its block, this GPU is the current one."""

        def __init__(self, device: Any) -> None:
            self.device = device

        def __enter__(self) -> None:
            self.before = noted["current"]
            choose(self.device)

        def __exit__(self, *_: object) -> None:
            noted["current"] = self.before

    cuda = {"is_available": lambda: gpus > 0, "device_count": lambda: gpus}
    cuda |= {"set_device": choose, "current_device": current, "device": Current}
    replace(stack, torch.cuda, **cuda)
    kind = torch.device("cuda") if gpus else None
    any_kind = {"is_available": lambda: gpus > 0, "device_count": lambda: gpus, "set_device_index": choose}
    any_kind |= {"set_device_idx": choose, "current_device_index": current, "current_device_idx": current}
    replace(stack, torch.accelerator, current_accelerator=lambda check_available=False: kind, **any_kind)


def index_of(device: Any) -> int | None:
    """The number in ``1``, ``"cuda:1"`` or ``torch.device("cuda", 1)``. Raises ValueError for a CPU, as torch does."""
    if isinstance(device, int):
        return device
    if torch.device(device).type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return torch.device(device).index


def simulate_groups(stack: ExitStack, noted: dict, gpus: int) -> None:
    """Note how process groups are started; start them by gloo, and let them say the backend that was asked for."""
    start, barrier = dist.init_process_group, dist.barrier
    signature = inspect.signature(start)
    right = {name: os.environ.get(name, "") for name in (*ADDRESS, "RANK", "WORLD_SIZE")}

    def noted_start(*args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs).arguments
        backend = given.get("backend")
        rank, size = given.get("rank", -1), given.get("world_size", -1)
        noted["starts"].append(
            {
                "backend": "any" if backend is None else str(backend).lower(),
                "rank": int(os.environ.get("RANK", -1) if rank < 0 else rank),
                "size": int(os.environ.get("WORLD_SIZE", -1) if size < 0 else size),
                "in_place": place(given) == tuple(right[name] for name in ADDRESS),
            }
        )
        with mock.patch.dict(os.environ, right):
            own = {"store": given["store"], "rank": rank, "world_size": size} if given.get("store") else {}
            start("gloo", **own)

    def simulated_backend(group: Any = None) -> str:
        return noted["starts"][-1]["backend"] if noted["starts"] else "undefined"

    def plain_barrier(*args: Any, device_ids: Any = None, **kwargs: Any) -> Any:
        return barrier(*args, **kwargs)

    replace(stack, dist, init_process_group=noted_start, get_backend=simulated_backend, barrier=plain_barrier)
    replace(stack, dist, is_nccl_available=lambda: gpus > 0)


def place(given: dict) -> tuple[str, str] | None:
    """Address and port of the rendezvous that the arguments of init_process_group name; None: another kind of one."""
    if store := given.get("store"):
        return (str(getattr(store, "host", "")), str(getattr(store, "port", "")))
    method = given.get("init_method") or "env://"
    if method.startswith("env://"):
        return (os.environ.get("MASTER_ADDR", ""), os.environ.get("MASTER_PORT", ""))
    host, _, port = method.removeprefix("tcp://").partition("?")[0].rpartition(":")
    return (host, port) if method.startswith("tcp://") else None


def replace(stack: ExitStack, module: Any, **functions: Any) -> None:
    """Put these in place of the module's functions, of those that this version of torch has."""
    for name, function in functions.items():
        if hasattr(module, name):
            stack.enter_context(mock.patch.object(module, name, function))


@unjudged(kind="it chooses words")
class Chosen(Evidence):
    """What a function on a `simulated_node` chose. kind: type of what it returned. device: such as "cpu" or "cuda:1",
    where a plain "cuda" is the current GPU; None unless it is a torch.device. current: number of the GPU that was made
    the current one, None where none was."""

    kind: str
    device: str | None
    current: int | None

    @classmethod
    def of(cls, value: Any, noted: dict) -> Chosen:
        """What a function returned; anything. noted: of `simulated_node`."""
        named = str(value) if isinstance(value, torch.device) else None
        device = f"cuda:{noted['current'] or 0}" if named == "cuda" else named
        return cls(type(value).__name__, device, noted["current"])
