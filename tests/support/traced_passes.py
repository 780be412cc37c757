"""Passes through a model in DistributedDataParallel, and their trace."""

from __future__ import annotations

import random

import torch
from torch.nn.parallel import DistributedDataParallel

from autograde.fixtures.awkward_translator import AwkwardTranslator, draw_batches
from autograde.probes.ddp_trace import trace_passes
from course.models.translator.sentences import collate, loss_fn

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
