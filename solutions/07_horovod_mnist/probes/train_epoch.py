"""Calls of `train_epoch`, with a model that notes what it is shown."""

from __future__ import annotations

from collections.abc import Callable

from torch.utils.data import DataLoader

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence, Number, unjudged
from autograde.fixtures.numbered_net import GivenOrder, NumberedNet, NumberedSet, state_of
from autograde.probes.simulated_node import on_node

from .averaging import AveragingSGD


@unjudged(told="it chooses words")
class Seen(Evidence):
    """An epoch. value: what was returned. told: the epochs that the sampler was told. state: of the model in the end.
    batches: that the model was shown; train: whether in train mode, for each."""

    value: Number
    told: list[int]
    state: dict[str, list[float | None]]
    batches: list[list[int]]
    train: list[bool]


def call(train_epoch: Callable, rank: CallRank, call: dict) -> Seen:
    """An epoch of a model that comes in eval mode. What its sampler yields tells which epoch it knows of."""
    own, batches, train = rank.rank, [], []

    def shown(net: NumberedNet, ids: list[int]) -> None:
        batches.append(ids)
        train.append(net.training)

    model = NumberedNet(call["model"], record=shown).to(rank.torch_device).eval()
    optimizer = AveragingSGD(model.parameters(), rank.comm, lr=call["lr"], momentum=0.9)
    sampler = GivenOrder({call["epoch"]: call["order"][own]}, call["other"][own])
    loader = DataLoader(NumberedSet(call["samples"], call["data"]), call["batch_size"], sampler=sampler)
    value = train_epoch(model, loader, optimizer, call["epoch"], rank.torch_device)
    return Seen(Number.of(value), sampler.told, state_of(model), batches, train)


PROBE = CallProbe(Seen, call, around=on_node, needs="horovod", deadline=20)
