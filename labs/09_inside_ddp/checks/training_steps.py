"""Steps of training on a rank, with the student's averaging in them: what a call's plan says, and what is seen.

A plan has: model, data: seeds. steps: of each, how many backward passes come before the one that is averaged over.
left: whether something lies in `.grad` before the first step. crooked: see `CrookedNet`. network: "late" or "quick",
see `course.simulated.all_reduce`, or "plain". broken: the step in which an error ends the passes before, or None.
idle: the rank that makes no backward pass, and has no gradient at all, or None. beside: whether another network has its
gradients averaged meanwhile.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from course.simulated.all_reduce import late_all_reduce, quick_all_reduce
from course.watch.notes import note

from .crooked_net import TRAINED, CrookedNet, some_gradient

# Notes in the record, beside the layers' numbers: a step begins, its last backward pass begins and is over, and it has
# its averages; in the end, all steps are over.
STEP, PASS, BACK, DONE = "step begins", "last pass begins", "backward pass is over", "step has its averages"
OVER = "steps are over"
NETWORKS = {"late": late_all_reduce, "quick": quick_all_reduce, "plain": nullcontext}
RATE, MOMENTUM = 0.05, 0.9


class BrokenPassError(Exception):
    """An error among the passes that are not averaged."""


def draw_plan(rng: random.Random, network: str, steps: list[int], **more: Any) -> dict:
    """A plan, see above."""
    plan = {"model": rng.getrandbits(30), "data": rng.getrandbits(30), "network": network, "steps": steps}
    return plan | {"left": False, "crooked": False, "broken": None, "idle": None, "beside": False} | more


def batch_seed(plan: dict, step: int, passed: int, rank: int) -> int:
    """The seed of a rank's batch."""
    return plan["data"] + 1000 * step + 100 * passed + rank


def left_seed(plan: dict, rank: int) -> int:
    """The seed of what lies in `.grad` beforehand."""
    return plan["data"] + 10**7 + rank


def net_of(plan: dict, rank: int, device: Any = None) -> CrookedNet:
    """The network of a rank."""
    return CrookedNet(plan["model"], rank % 2 == 1, plan["crooked"], device)


def another_net(plan: dict, rank: Any) -> CrookedNet:
    """A network beside it, which is not trained: what belongs to it must not get into the other's averages. It uses all
    its parameters, on all ranks in the same order."""
    return net_of(plan | {"model": plan["model"] + 1, "crooked": False}, rank.rank, rank.torch_device)


def optimizer_of(net: CrookedNet) -> torch.optim.Optimizer:
    """SGD with momentum."""
    return torch.optim.SGD(net.trained(), RATE, MOMENTUM)


def train(
    net: CrookedNet,
    plan: dict,
    comm: Any,
    finish: Callable[[], Any],
    unaveraged: Callable[[], AbstractContextManager] = nullcontext,
) -> list[dict]:
    """Train as the plan says, and note it in the record of the communicator `comm`.

    Gives for each step what lies in `.grad`, by trained parameter, when `finish` has returned, and which parameters
    have changed by then. finish: is called after the last backward pass of each step. unaveraged: the block for the
    passes before.
    """
    optimizer, seen, rank = optimizer_of(net), [], comm.rank
    for step, before in enumerate(plan["steps"]):
        note(comm, STEP)
        optimizer.zero_grad()
        if step == 0 and plan["left"]:
            for parameter, values in zip(net.trained(), some_gradient(left_seed(plan, rank)), strict=True):
                parameter.grad = values.to(parameter.device)
        weights = [parameter.detach().clone() for parameter in net.parameters()]
        if before:
            try:
                with unaveraged():
                    for passed in range(before):
                        net.loss(batch_seed(plan, step, passed, rank)).backward()
                    if step == plan["broken"]:
                        raise BrokenPassError
            except BrokenPassError:
                pass
        note(comm, PASS)
        if rank != plan["idle"]:
            net.loss(batch_seed(plan, step, before, rank), comm).backward()
        note(comm, BACK)
        finish()
        note(comm, DONE)
        named = zip(dict(net.named_parameters()), net.parameters(), weights, strict=True)
        moved = [name for name, now, was in named if not torch.allclose(now.detach(), was, 1e-13, 1e-13)]
        seen.append({"gradients": [numbers_of(parameter.grad) for parameter in net.trained()], "moved": moved})
        optimizer.step()
    note(comm, OVER)
    return seen


def on_network(plan: dict) -> AbstractContextManager:
    """The block in which the plan's network is used."""
    return NETWORKS[plan["network"]]()


def numbers_of(gradient: Any) -> list[float] | None:
    """The numbers of a gradient; None for what is none."""
    return gradient.detach().double().flatten().tolist() if isinstance(gradient, torch.Tensor) else None


def name_of(place: int) -> str:
    """The name of a trained parameter."""
    return TRAINED[place]
