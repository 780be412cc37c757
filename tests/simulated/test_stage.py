"""A stage of a pipeline that takes as long as it is told, in both directions."""

from __future__ import annotations

import time

import torch

from course.simulated.stage import SlowStage

SECONDS = 0.02


def test_a_stage_sleeps_forward_and_backward_and_notes_it():
    stage, began = SlowStage(3, SECONDS), time.perf_counter()
    y = stage(torch.ones(2, 3))
    y.sum().backward()
    assert [kind for kind, _, _ in stage.passes] == ["F", "B"]
    times = [moment for _, *both in stage.passes for moment in both]
    assert times == sorted(times)
    assert began <= times[0]
    assert all(end - begin >= SECONDS for _, begin, end in stage.passes)


def test_it_computes_what_its_layer_computes():
    stage, x = SlowStage(3, 0.0), torch.rand(2, 3, requires_grad=True)
    y = stage(x)
    assert torch.equal(y, stage.layer(x))
    y.sum().backward()
    assert torch.allclose(x.grad, stage.layer.weight.sum(0).expand(2, 3))
