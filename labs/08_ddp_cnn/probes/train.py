"""Calls of `train`, in a process group or alone, with a model that notes what it is shown."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from autograde.contract.call_probe import CallRank
from autograde.contract.calls import type_in_words
from autograde.contract.evidence import Evidence, Number, judged_in_calls
from autograde.contract.gpu import DeviceMistake
from autograde.fixtures.numbered_net import NumberedNet, NumberedSet, state_of
from autograde.probes.simulated_node import on_node

from .groups import GroupProbe

MOST = 200  # of whatever is noted
LEFT_OVER = {"RANK": "1", "WORLD_SIZE": "2"}  # variables where a rank is alone, as the notebook's world has some


class Pass(Evidence):
    """A forward pass with gradients: the samples, the mode, and whether it came through the wrapper."""

    ids: list[int]
    training: bool
    through: bool


@judged_in_calls(wraps="a model that trains alone may be wrapped or not")
class Seen(Evidence):
    """passes: all of them. wraps: how often the model was wrapped; ids: whether `device_ids` were given on a CPU.
    state: of the model in the end. kind: what was returned, if it was no list; losses: what was in it."""

    passes: list[Pass]
    wraps: int
    ids: bool
    state: dict[str, list[float | None]]
    kind: str
    losses: list[Number]


class Log:
    """What a rank notes."""

    def __init__(self) -> None:
        self.passes: list[Pass] = []
        self.wraps, self.ids, self.through = 0, False, False

    def note(self, net: NumberedNet, ids: list[int]) -> None:
        """Note a forward pass."""
        if torch.is_grad_enabled() and len(self.passes) < MOST:
            self.passes.append(Pass(ids, net.training, self.through))


@contextmanager
def noted(log: Log, on_gpu: bool) -> Iterator[None]:
    """In this block, note what becomes of DistributedDataParallel.

    On a CPU it goes on without the `device_ids` that it would refuse. On a simulated GPU it does not cut its buckets
    anew before the second step, and gradients are no views of buckets: either is made in C++, which takes the simulated
    GPU for the CPU.
    """
    wrap, forward = DistributedDataParallel.__init__, DistributedDataParallel.forward
    signature, rebuild = inspect.signature(wrap), dist.Reducer._rebuild_buckets

    @functools.wraps(wrap)
    def init(*args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs)
        log.wraps += 1
        if on_gpu:
            given.arguments["gradient_as_bucket_view"] = False
        else:
            named = [given.arguments.pop(name, None) for name in ("device_ids", "output_device")]
            log.ids |= any(each is not None and each != [] for each in named)
        try:
            wrap(*given.args, **given.kwargs)
        except ValueError as error:
            if on_gpu and "device_ids" in str(error):
                text = "DistributedDataParallel is given `device_ids`, and the model is not on this GPU, or not yet"
                raise DeviceMistake(text) from None
            raise

    def passing(wrapper: DistributedDataParallel, *args: Any, **kwargs: Any) -> Any:
        log.through = True
        try:
            return forward(wrapper, *args, **kwargs)
        finally:
            log.through = False

    with (
        mock.patch.object(DistributedDataParallel, "__init__", init),
        mock.patch.object(DistributedDataParallel, "forward", passing),
        mock.patch.object(dist.Reducer, "_rebuild_buckets", (lambda reducer: False) if on_gpu else rebuild),
    ):
        yield


@contextmanager
def around(rank: CallRank, call: dict) -> Iterator[None]:
    """On nodes of `local_size` ranks each; alone, with variables that say something else."""
    with mock.patch.dict(os.environ, LEFT_OVER if call["alone"] else {}), on_node(rank, call):
        yield


def call(train: Callable, rank: CallRank, call: dict) -> Seen:
    """A training of some epochs."""
    log = Log()
    # A function, as that of a deep copy of the model is the same one.
    net = NumberedNet(call["models"][rank.rank], plain=True, norm=False, record=lambda net, ids: log.note(net, ids))
    model = net.eval()
    model.bias.requires_grad_(False)
    given = (call["epochs"], call["batch_size"], call["lr"], call["seed"], rank.torch_device)
    with noted(log, rank.on_gpu):
        value = train(model, NumberedSet(call["samples"], call["data"]), *given)
    listed = isinstance(value, (list, tuple))
    losses = [Number.of(each) for each in islice(value, MOST)] if listed else []
    kind, state = "" if listed else type_in_words(value), state_of(model)
    return Seen(log.passes, log.wraps, log.ids, {name: state[name] for name in ("weight", "bias")}, kind, losses)


PROBE = GroupProbe(Seen, call, around=around, needs="torch", deadline=25)
