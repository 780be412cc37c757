"""A plan of steps of training, as the arguments of a call have it: networks, batches, and what lies in `.grad`.

seed: of all. network: "late" or "quick", see `course.simulated.all_reduce`, or "plain". steps: of each, how many
backward passes come before the one that is averaged over. left: whether something lies in `.grad` before the first
step. crooked: see `CrookedNet`. broken: the step in which an error ends the passes before, or None. nested: whether the
first of the passes before stands in a block of its own within the block of all of them. idle: the rank that makes no
backward pass, and has no gradient at all, or None. beside: whether another network has its gradients averaged
meanwhile. buckets: for a reducer.
"""

from __future__ import annotations

from typing import Any

import torch

from .crooked_net import CrookedNet, some_gradient

RATE, MOMENTUM = 0.05, 0.9
# Notes in the record: a step begins, its last backward pass begins and is over, it has its averages; the end.
STEP, PASS, BACK, DONE = "step begins", "last pass begins", "backward pass is over", "step has its averages"
OVER = "steps are over"
READY = "accumulated "  # before the name of a parameter whose gradient has just been


def net_of(plan: dict, rank: int, device: Any = None) -> CrookedNet:
    """The network of a rank."""
    return CrookedNet(plan["seed"], rank % 2 == 1, plan["crooked"], device)


def batch_seed(plan: dict, step: int, passed: int, rank: int) -> int:
    """The seed of a rank's batch in a step's pass of this number."""
    return plan["seed"] + 1000 * step + 100 * passed + rank + 1


def left_behind(plan: dict, step: int, rank: int) -> list[torch.Tensor] | None:
    """What lies in a rank's `.grad` when a step begins, if anything does."""
    return some_gradient(plan["seed"] + 10**7 + rank) if step == 0 and plan["left"] else None
