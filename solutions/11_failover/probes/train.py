"""Calls of `train`, some after a rank was killed in another one."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from autograde.contract.call_probe import CallRank
from autograde.contract.calls import floats_in_words
from autograde.contract.evidence import Evidence, judged_in_places, unjudged
from autograde.fixtures.numbered_net import NumberedSet
from autograde.fixtures.stepped import group_device
from autograde.probes.killed_run import KillingProbe, dies

from ..models.settled import settled
from ..shared.training import LYING, DroppingNet
from .at_work import DealtSampler, Training, names

MOST = 400  # of whatever is noted


class Step(Evidence):
    """A step of the optimizer. ids: samples that the model was shown since the last one, and in the end after the very
    last one. weights: before it."""

    ids: list[int]
    weights: list[float | None]


@unjudged(survived="a rank that was not killed leaves other checkpoints")
@judged_in_places(begins="rank 0 knows", asked="all ranks ask together", saves="rank 0 writes them")
class Seen(Evidence):
    """One call. survived: whether a rank was to be killed in this run, and did not get there. begins: epoch, consumed
    and steps of the checkpoint that was there. losses: what was returned, or its type; of an entry that is no float,
    its type. asked: how many steps were made at each `agreed()`. saves: places, and how many were made."""

    survived: bool
    begins: tuple[int, int, int]
    losses: list[float | str | None] | str
    steps: list[Step]
    asked: list[int]
    saves: list[tuple[int, int, int]]


def call(train: Callable, rank: CallRank, call: dict) -> Seen:
    """A call with a new model."""
    case, device = rank.notes["case"], group_device()
    data = NumberedSet(case["samples"], case["data"])
    new = 0 if rank.notes["first"] and rank.number == 0 else 1 + rank.number  # what is loaded has to be seen
    net = DroppingNet(case["model"] + new, case["dropout"]).to(device)
    model = DistributedDataParallel(net, device_ids=[device] if device.type == "cuda" else None)
    if not rank.on_gpu:  # where nothing but devices is judged; and a simulated one has no random numbers
        settled(model, data.inputs[:1])
    for each in net.parameters():
        each.grad = torch.full_like(each, LYING)
    optimizer = torch.optim.SGD(net.parameters(), case["lr"], momentum=0.9)
    kill = case["kill"][1] if dies(rank, case) else 0
    training = rank.notes["training"] = Training(rank, call["stop"], kill)
    net.record = training.forward
    optimizer.register_step_post_hook(training.step)
    loader = DataLoader(data, case["batch"], sampler=DealtSampler(case["orders"], rank), generator=torch.Generator())
    torch.manual_seed(case["luck"][rank.rank] + new)
    rank.meet()
    path, preemption = rank.notes["path"], training
    value = train(model, loader, optimizer, cross_entropy, call["epochs"], case["every"], path, preemption)
    for ids, _ in training.shown if training.steps else ():
        training.steps[-1][0].extend(ids)
    losses, steps = floats_in_words(value, MOST), [Step(*each) for each in training.steps[:MOST]]
    return Seen(case.get("dies", False), training.begins, losses, steps, training.asked[:MOST], training.saves[:MOST])


PROBE = KillingProbe(Seen, call, names, needs="torch", deadline=12)
