"""Steps of training on a rank, with the student's averaging in them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import torch

from autograde.contract.call_probe import CallRank
from autograde.contract.evidence import Array, Evidence, unjudged
from course.simulated.all_reduce import late_all_reduce, quick_all_reduce
from course.watch.notes import note

from ..shared.crooked_net import CrookedNet
from ..shared.plan import BACK, DONE, MOMENTUM, OVER, PASS, RATE, READY, STEP, batch_seed, left_behind, net_of

NETWORKS = {"late": late_all_reduce, "quick": quick_all_reduce, "plain": nullcontext}


class Step(Evidence):
    """gradients: what lies in `.grad` after the averaging, by trained parameter. moved: the parameters that have
    changed by then."""

    gradients: dict[str, Array]
    moved: list[str]


@unjudged(kind="it chooses words")
class Seen(Evidence):
    """kind: what came in place of what makes the steps, in words; empty if they were made."""

    steps: list[Step]
    kind: str = ""


class BrokenPassError(Exception):
    """An error among the passes that are not averaged."""


def noted_net(rank: CallRank, plan: dict) -> CrookedNet:
    """The network of this rank, which notes each gradient when it has been accumulated, before any hook set later."""
    net = net_of(plan, rank.rank, rank.torch_device)
    for name, parameter in net.named_parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(lambda _, name=name: note(rank.comm, f"{READY}{name}"))
    return net


def another_net(rank: CallRank, plan: dict) -> CrookedNet:
    """A network beside it, which is not trained: what belongs to it must not get into the other's averages. It uses all
    its parameters, on all ranks in the same order."""
    return net_of(plan | {"seed": plan["seed"] + 1, "crooked": False}, rank.rank, rank.torch_device)


def on_network(plan: dict) -> AbstractContextManager:
    """The block in which the plan's network is used."""
    return NETWORKS[plan["network"]]()


def train(
    net: CrookedNet,
    plan: dict,
    comm: Any,
    finish: Callable[[], Any],
    unaveraged: Callable[[], AbstractContextManager] = nullcontext,
) -> list[Step]:
    """Train as the plan says, and note it in the record of the communicator `comm`.

    finish: is called after the last backward pass of each step. unaveraged: the block for the passes before.
    """
    named = {name: each for name, each in net.named_parameters() if each.requires_grad}
    optimizer, seen, rank = torch.optim.SGD(named.values(), RATE, MOMENTUM), [], comm.rank
    for step, before in enumerate(plan["steps"]):
        note(comm, STEP)
        optimizer.zero_grad()
        if left := left_behind(plan, step, rank):
            for parameter, values in zip(named.values(), left, strict=True):
                parameter.grad = values.to(parameter.device)
        weights = {name: each.detach().clone() for name, each in net.named_parameters()}
        if before:
            with suppress(BrokenPassError), unaveraged():
                for passed in range(before):
                    with unaveraged() if plan["nested"] and passed == 0 else nullcontext():
                        net.loss(batch_seed(plan, step, passed, rank)).backward()
                if step == plan["broken"]:
                    raise BrokenPassError
        note(comm, PASS)
        if rank != plan["idle"]:
            net.loss(batch_seed(plan, step, before, rank)).backward()
        note(comm, BACK)
        finish()
        note(comm, DONE)
        pairs = ((name, now.detach(), weights[name]) for name, now in net.named_parameters())
        moved = [name for name, now, was in pairs if not torch.allclose(now, was, 1e-13, 1e-13)]
        seen.append(Step({name: Array.of(each.grad) for name, each in named.items()}, moved))
        optimizer.step()
    note(comm, OVER)
    return seen
