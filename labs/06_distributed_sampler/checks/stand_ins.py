"""A right `shard` for the TODO that may call it. It asks torch, so it is no model for an answer."""

from __future__ import annotations


def shard(dataset_size: int, rank: int, size: int) -> list[int]:
    """What the lab's `shard` gives."""
    from torch.utils.data import DistributedSampler

    return list(DistributedSampler(range(dataset_size), num_replicas=size, rank=rank, shuffle=False))
