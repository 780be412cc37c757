"""Records the buckets in which DistributedDataParallel averages gradients while `backward` still runs.

It copies gradients into buckets of about 25 MiB (the first: 1 MiB), and all-reduces each as soon as it is full; Li et
al. 2020, "PyTorch Distributed", https://arxiv.org/abs/2006.15704. The first backward pass sends everything in one
bucket: it shows in which order gradients become ready, and buckets are then cut in that order. The all-reduces happen
in C++, where `course.watch.events` does not see them; a communication hook does.
"""

# Without `from __future__ import annotations`: torch compares the hook's annotations with the types themselves.

import time
from collections.abc import Sequence
from typing import TypedDict

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from course.watch.recorder import unwatched


class Bucket(TypedDict):
    """One bucket of gradients, as one rank sent it.

    step: number of synchronised backward passes before this one (those inside `no_sync` send nothing and do not count).
    index: number of the bucket in its backward pass, from 0; the last layers' gradients are ready, and sent, first.
    last: whether it is the last of its backward pass. bytes: its size. numbers: how many numbers it holds. start, end:
    seconds since `record_buckets` was called; end is None until the average has arrived.
    """

    step: int
    index: int
    last: bool
    bytes: int
    numbers: int
    start: float
    end: float | None


def record_buckets(ddp_model: DistributedDataParallel) -> list[Bucket]:
    """Record every bucket of gradients that `ddp_model` averages from now on.

    Returns a list, one on each rank, that grows by an entry per bucket in the order of sending. Recording changes
    neither what is sent nor the gradients, not by a bit. A model takes one hook in its life: torch raises RuntimeError
    for a second one, and for one that is set after the first backward pass.
    """
    buckets: list[Bucket] = []
    began = time.perf_counter()
    steps = 0

    def recording_hook(group: dist.ProcessGroup, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        nonlocal steps
        gradients = bucket.buffer()
        entry: Bucket = {
            "step": steps,
            "index": bucket.index(),
            "last": bucket.is_last(),
            "bytes": gradients.numel() * gradients.element_size(),
            "numbers": gradients.numel(),
            "start": time.perf_counter() - began,
            "end": None,
        }
        buckets.append(entry)
        steps += bucket.is_last()

        def averaged(future: torch.futures.Future) -> torch.Tensor:
            entry["end"] = time.perf_counter() - began
            return future.value()[0]

        # The method itself: it would be recorded as the student's call. Multiply by 1 / ranks, as
        # DistributedDataParallel does without a hook: on 3 ranks, dividing gives slightly different numbers.
        gradients.mul_(1 / group.size())
        return unwatched(type(group).allreduce)(group, [gradients]).get_future().then(averaged)

    ddp_model.register_comm_hook(ddp_model.process_group, recording_hook)
    return buckets


def bytes_by_step(buckets: Sequence[Bucket]) -> list[list[int]]:
    """For each synchronised backward pass, the bytes of its buckets in the order of sending."""
    steps: dict[int, list[int]] = {}
    for bucket in buckets:
        steps.setdefault(bucket["step"], []).append(bucket["bytes"])
    return list(steps.values())
