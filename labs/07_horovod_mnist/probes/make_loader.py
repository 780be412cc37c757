"""Calls of `make_loader`, and passes over the loaders that it makes."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence, judged_in_places
from autograde.fixtures.numbered_net import NumberedSet, ids_of
from autograde.probes.simulated_node import on_node


@judged_in_places(passes="another order may be right, too")
class Seen(Evidence):
    """The passes of a rank. told: whether each loader's sampler can be told an epoch. passes: numbers of the samples
    drawn, by pass and batch."""

    told: bool
    passes: list[list[list[int]]]


def call(make_loader: Callable, rank: CallRank, call: dict) -> Seen:
    """All loaders of a plan, and their passes; see `autograde.probes.sampler_passes.passes_of`."""
    passes, told = [], True
    sets = [(NumberedSet(samples, call["data"]), seed) for samples, _, seed in call["samplers"]]
    loaders = [make_loader(dataset, call["batch_size"], seed) for dataset, seed in sets]
    for which, epoch in call["passes"]:
        set_epoch = getattr(loaders[which].sampler, "set_epoch", None)
        told = told and set_epoch is not None
        if set_epoch is not None:
            set_epoch(epoch)
        passes.append([ids_of(inputs) for inputs, _ in loaders[which]])
    return Seen(told, passes)


PROBE = CallProbe(Seen, call, around=on_node, needs="horovod", deadline=20)
