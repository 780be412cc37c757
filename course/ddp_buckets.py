"""What DistributedDataParallel sends: the buckets in which it averages gradients while `backward` still runs.

Its parameters' gradients are copied into buckets of about 25 MiB (the first: 1 MiB), each of which is all-reduced as
soon as it is full; Li et al. 2020, "PyTorch Distributed", https://arxiv.org/abs/2006.15704. The first backward pass
sends all in one bucket: it shows in which order gradients come, and buckets are then cut in that order. These
all-reduces are made in C++, where `course.watch` does not see them; a communication hook does.
"""

# Without `from __future__ import annotations`: torch compares the hook's annotations with the types themselves.

import time
from collections import Counter
from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def record_buckets(ddp_model: DistributedDataParallel) -> list[dict]:
    """Note every bucket of gradients that `ddp_model` averages from now on.

    Returns a list that grows by one entry a bucket, on each rank for itself, in the order in which they are sent:

    step: how many synchronised backward passes there were before (those inside `no_sync` send nothing and do not count)
    index: of the bucket in its backward pass, from 0; the last layers' gradients come first, and are sent first
    last: whether it is the last one of its backward pass
    bytes: its size; numbers: how many gradients are in it
    start, end: seconds since this call; end is None until the average is there

    What is sent, and the gradients, are those without a record, bit for bit. A model takes one hook in its life: torch
    raises RuntimeError for a second, and wherever a hook is set after the first backward pass.
    """
    buckets: list[dict] = []
    began = time.perf_counter()
    steps = 0

    def recording_hook(group: dist.ProcessGroup, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        nonlocal steps
        gradients = bucket.buffer()
        entry = {
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

        # The group's own method: dist.all_reduce would show in the watch as a call of the student's. Without a hook,
        # DistributedDataParallel multiplies by 1 / ranks, too, which is not quite what dividing gives on 3 ranks.
        gradients.mul_(1 / group.size())
        return group.allreduce([gradients]).get_future().then(averaged)

    ddp_model.register_comm_hook(ddp_model.process_group, recording_hook)
    return buckets


def bytes_by_step(buckets: Sequence[dict]) -> list[list[int]]:
    """For each synchronised backward pass the bytes of its buckets, in the order in which they were sent."""
    steps: dict[int, list[int]] = {}
    for bucket in buckets:
        steps.setdefault(bucket["step"], []).append(bucket["bytes"])
    return list(steps.values())


def synchronisations(buckets: Sequence[dict]) -> list[int]:
    """For each synchronised backward pass the number of its all-reduces."""
    counts = Counter(bucket["step"] for bucket in buckets)
    return [counts[step] for step in sorted(counts)]
