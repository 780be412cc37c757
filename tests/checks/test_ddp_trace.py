"""What a DistributedDataParallel does is noted on real ranks, pass by pass."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.parallel import DistributedDataParallel
from traced_passes import BATCHES, three_passes

from autograde.fixtures.awkward_translator import AwkwardTranslator
from autograde.probes.ddp_trace import buffers_noted, recorded_wrapping
from course.models.translator.sentences import collate
from course.world import RANK, World


def test_a_trace_has_each_pass_in_order_and_gradients_are_averaged_where_it_says_so(world: World) -> None:
    (trace, one), (_, other) = world.run(three_passes, RANK, [0, 1], init="torch", size=2)
    names = ["forward", "backward"] * 3 + ["synchronise", "step"]
    assert [entry["what"] for entry in trace] == names
    assert [entry["number"] for entry in trace] == [0, 0, 1, 1, 2, 2, 2, 2]
    assert [entry["inside"] for entry in trace if entry["what"] == "forward"] == [True, True, False]
    assert all(entry["wrapped"] and entry["grads"] for entry in trace if entry["what"] == "forward")
    assert one == pytest.approx(other)


def unequal_forwards(rank: int) -> int:
    """Forward passes of a wrapper with BatchNorm: one more on rank 1. Returns how often it would broadcast."""
    model = DistributedDataParallel(AwkwardTranslator(rank, norm=True)).eval()
    broadcasts = buffers_noted(model)
    src, tgt_in, _ = collate(BATCHES[0][0])
    for _ in range(1 + rank):
        model(src, tgt_in)
    return len(broadcasts)


def test_how_often_a_wrapper_would_wait_for_buffers_is_noted_and_no_rank_waits(world: World) -> None:
    assert world.run(unequal_forwards, RANK, init="torch", size=2) == [1, 2]


def wrapped_for_a_gpu() -> tuple[list[dict], Any]:
    """The calls of code for a GPU that is not there."""
    calls: list[dict] = []
    with recorded_wrapping(calls, simulated=1):
        model = AwkwardTranslator(0).to(torch.device("cuda", 1))
        made = DistributedDataParallel(model, device_ids=[1], bucket_cap_mb=3)
    return calls, (isinstance(made, DistributedDataParallel), made.module is model)


def test_wrapping_for_a_gpu_that_is_not_there_is_noted_and_moves_nothing() -> None:
    calls, kinds = wrapped_for_a_gpu()
    assert [(call["what"], call["device"], call["device_ids"], call["options"]) for call in calls] == [
        ("to", "cuda:1", None, []),
        ("wrap", None, ["cuda:1"], ["bucket_cap_mb"]),
    ]
    assert kinds == (True, True)
