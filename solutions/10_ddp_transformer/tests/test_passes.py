"""Gradients that are averaged at another time than they should are found by the trace of real passes."""

from __future__ import annotations

import random

import pytest
import torch
from torch.nn.parallel import DistributedDataParallel

from autograde.fixtures.awkward_translator import AwkwardTranslator, draw_batches
from autograde.probes.ddp_trace import trace_passes
from course.models.translator.sentences import collate, loss_fn
from course.world import RANK

from ..checks.passes import on_rank
from ..probes.traced import Entry

BATCHES = draw_batches(random.Random(1), 2, 3)


def three_passes(rank: int, inside: list[int], directly: bool = False) -> tuple[list[dict], list[float]]:
    """Three micro-batches, those numbered in `inside` in `no_sync`, and a step. Gives the trace, and a gradient."""
    model = DistributedDataParallel(AwkwardTranslator(rank))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    trace = trace_passes(model, optimizer)
    for number, pairs in enumerate(BATCHES[rank]):
        src, tgt_in, tgt_out = collate(pairs)
        model.require_backward_grad_sync = number not in inside
        loss_fn((model.module if directly else model)(src, tgt_in), tgt_out).backward()
        model.require_backward_grad_sync = True
    optimizer.step()
    return trace, model.module.submodule.weight.grad.flatten().tolist()


@pytest.mark.parametrize(
    ("inside", "directly", "due"),
    [
        ([0, 1], False, None),
        ([], False, "synchronised-every-micro-batch"),
        ([1, 2], False, "synchronised-too-early"),
        ([0, 1, 2], False, "never-synchronised"),
        ([1], False, "synchronised-too-often"),
        ([0, 1], True, "forward-through-module"),
    ],
)
def test_gradients_that_are_averaged_at_another_time_are_found_by_the_trace(world, inside, directly, due) -> None:
    results = world.run(three_passes, RANK, inside, directly, init="torch", size=2)
    traces = [[Entry(**each) for each in trace] for trace, _ in results]
    found = [on_rank(3, *seen) for seen in zip(traces, world.events, strict=True)]
    assert [each and each.key for each in found] == [due] * 2
