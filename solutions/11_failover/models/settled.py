"""A DistributedDataParallel that has left its first pass behind, so that its sums keep their order from then on."""

from __future__ import annotations

import torch
from torch.nn.parallel import DistributedDataParallel


def settled(model: DistributedDataParallel, example: torch.Tensor) -> DistributedDataParallel:
    """`model`, after a forward and a backward pass that leave no trace: neither gradients, nor buffers, nor draws.

    The wrapper cuts its buckets anew after its first backward pass, by the order in which the gradients came. Until
    then sums of four numbers come in another order, and their last digits differ. All ranks call this.
    """
    device = next(model.parameters()).device
    before = {name: values.clone() for name, values in model.module.named_buffers()}
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        for _ in range(2):  # the buckets are cut as the second pass begins
            model(example.to(device)).sum().backward()
    with torch.no_grad():
        for name, values in model.module.named_buffers():
            values.copy_(before[name])
    model.zero_grad()
    return model
