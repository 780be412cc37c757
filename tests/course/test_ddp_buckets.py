"""The record of DistributedDataParallel's buckets: complete, and without effect on what is computed."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from course.watch.ddp_buckets import bytes_by_step, record_buckets
from course.world import RANK, World


def train(rank: int, record: bool, pattern: str) -> tuple[list[list[float]], list[dict], int]:
    """Backward passes on this rank: "s" synchronised, "n" inside `no_sync`. Gradients after each, buckets, bytes."""
    import torch
    from torch.nn.parallel import DistributedDataParallel

    torch.manual_seed(3)
    layers = [torch.nn.Linear(600, 600), torch.nn.Tanh(), torch.nn.Linear(600, 600), torch.nn.Linear(600, 1)]
    model = DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=1)
    buckets = record_buckets(model) if record else []
    gradients = []
    for step, kind in enumerate(pattern):
        inputs = torch.randn(4, 600, generator=torch.Generator().manual_seed(10 * step + rank))
        with model.no_sync() if kind == "n" else nullcontext():
            model(inputs).square().mean().backward()
        gradients.append(torch.cat([p.grad.flatten()[:50] for p in model.parameters()]).tolist())
    return gradients, buckets, sum(4 * p.numel() for p in model.parameters())


@pytest.mark.parametrize("size", [2, 3])
def test_a_record_leaves_the_gradients_as_they_are_bit_for_bit(world: World, size: int) -> None:
    plain = world.run(train, RANK, False, "snss", size=size, init="torch")
    recorded = world.run(train, RANK, True, "snss", size=size, init="torch")
    assert [each[0] for each in plain] == [each[0] for each in recorded]


def test_each_synchronised_pass_sends_all_gradients_and_no_sync_sends_nothing(world: World) -> None:
    for _, buckets, total in world.run(train, RANK, True, "nsns", size=2, init="torch"):
        assert [sum(sizes) for sizes in bytes_by_step(buckets)] == [total, total]
        assert [bucket["step"] for bucket in buckets if bucket["last"]] == [0, 1]
        assert max(map(len, bytes_by_step(buckets))) > 1, "one bucket a pass would not show that they are told apart"
        assert all(bucket["start"] <= bucket["end"] for bucket in buckets)
        assert sorted({bucket["index"] for bucket in buckets}) == list(range(len(bytes_by_step(buckets)[-1])))


def test_the_watch_does_not_take_a_bucket_for_a_call_of_the_students(world: World) -> None:
    world.run(train, RANK, True, "s", size=2, init="torch")
    assert [event["kind"] for event in world.events[0] if event["library"] == "torch"] == []
