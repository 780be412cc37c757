"""Calls of `train`, one after another, or after a rank was killed in another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from autograde.contract.call_probe import CallRank
from autograde.contract.calls import floats_in_words
from autograde.contract.evidence import Evidence, judged_in_places, unjudged
from autograde.fixtures.awkward_translator import AwkwardTranslator, state_row
from autograde.fixtures.stepped import group_device
from autograde.probes.killed_run import KillingProbe, dies
from course.models.translator.sentences import collate, loss_fn

from ..shared.model import trained
from .at_work import NotedSampler, Saved, Training, names

MOST = 200  # of whatever is noted


@unjudged(survived="a rank that was not killed leaves other checkpoints", other="it chooses words")
@judged_in_places(
    begins="of a first call it is judged whether there is one",
    weights="before the first step, those of rank 0 are",
    momentum="before the first step, that of rank 0 is",
    saved="rank 0 writes it",
    ends="they are where steps are made",
)
class Seen(Evidence):
    """One call. survived: whether a rank was to be killed in this run, and did not get there. begins: epoch of the
    checkpoint that was there, as in `Saved`. other: what the first step did not find as in this checkpoint, or if there
    was none, as it came. weights, momentum: in a row, before the first step. told: of each pass in which steps were
    made, the epoch that the sampler knew as it began. saved: after it. steps: of each, the micro-batches, as numbers of
    pairs. ends: the weights in the end. losses: what was returned, or its type; of an entry that is no float, its
    type."""

    survived: bool
    begins: int | None
    other: list[str]
    weights: list[float | None]
    momentum: list[float | None]
    told: list[int]
    saved: list[Saved]
    steps: list[list[list[int | None]]]
    ends: list[float | None]
    losses: list[float | str | None] | str


def call(train: Callable, rank: CallRank, call: dict) -> Seen:
    """A call with a new model: what is loaded has to be seen."""
    case, device = rank.notes["case"], group_device()
    seed = case["model"] if rank.notes["new"] and rank.number == 0 else case["fresh"] + rank.number
    model = AwkwardTranslator(seed).to(device)
    optimizer = torch.optim.SGD(trained(model), case["lr"], momentum=0.9)
    training = rank.notes["training"] = Training(rank, model, optimizer, case["kill"][1] if dies(rank, case) else 0)

    def forward(_: Any, args: tuple, named: dict) -> None:
        training.show(args[0] if args else named["src"])

    model.register_forward_pre_hook(forward, with_kwargs=True)  # for who makes steps without `train_step`
    sampler = NotedSampler(case["pairs"], shuffle=True, seed=case["order"])
    sampler.training = training
    loader = DataLoader(case["pairs"], batch_size=2, sampler=sampler, collate_fn=collate)
    wrapped = DistributedDataParallel(model)
    rank.meet()
    value = train(wrapped, loader, optimizer, loss_fn, call["epochs"], call["accumulate"], training.path)
    saved = [*training.saved, training.file()] if training.told else []
    rank.meet()
    noted = {name: getattr(training, name) for name in ("begins", "other", "weights", "momentum")}
    noted |= {"told": training.told[:MOST], "saved": saved[:MOST], "steps": training.steps[:MOST]}
    return Seen(case.get("dies", False), **noted, ends=state_row(model), losses=floats_in_words(value, MOST))


PROBE = KillingProbe(Seen, call, names, needs="torch")
