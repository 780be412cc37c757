"""Checks replay a training with optimizers that step as torch's own do, without importing its compiler."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import torch
from labs_under_test import OURS

from autograde.fixtures.stepped import after_steps
from autograde.probes.checkpoint_files import state_of
from autograde.rubric import eager
from autograde.rubric.checkpoints.contents import state_after

USED = """
import sys, torch
from autograde.fixtures.numbered_net import NumberedNet, NumberedSet
from autograde.rubric import Replicas, eager
from autograde.rubric.checkpoints.contents import state_after

Replicas([NumberedNet(7, plain=True)], eager(torch.optim.SGD), NumberedSet(24, seed=3).loss).step([[[1, 2]]])
state_after(5, "momentum"), state_after(5, "adam")
print("torch._dynamo" in sys.modules)
"""


def stepped(kind: type[torch.optim.Optimizer], options: dict) -> tuple[torch.Tensor, dict]:
    """A parameter after three steps, and the state of the optimizer that made them."""
    draws = torch.Generator().manual_seed(3)
    parameter = torch.nn.Parameter(torch.randn(50, generator=draws))
    optimizer = kind([parameter], **options)
    for _ in range(3):
        optimizer.zero_grad()
        (parameter * torch.randn(50, generator=draws)).sum().backward()
        optimizer.step()
    return parameter.detach(), optimizer.state_dict()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"lr": 0.1}),
        ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
        ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.2, "maximize": True}),
        ("AdamW", {"lr": 0.05, "eps": 0.5, "weight_decay": 0.3}),
    ],
)
def test_eager_steps_are_those_of_torch_to_the_last_bit(name: str, options: dict) -> None:
    own = getattr(torch.optim, name)
    (weights, state), (due, expected) = stepped(eager(own), options), stepped(own, options)
    assert torch.equal(weights, due)
    torch.testing.assert_close(state, expected, rtol=0, atol=0)


@pytest.mark.parametrize("kind", ["momentum", "adam"])
def test_the_state_that_a_checkpoint_is_compared_with_is_that_of_torch(kind: str) -> None:
    assert state_after(5, kind) == state_of(*after_steps(5, kind))


def test_a_replay_and_a_state_do_not_import_the_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", USED], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_checks_of_labs_make_no_other_optimizers() -> None:
    texts = {path: path.read_text() for lab in OURS for path in (lab.folder / "checks").rglob("*.py")}
    others = {str(path) for path, text in texts.items() if re.search(r"(?<!eager\()torch\.optim\.[A-Z]", text)}
    assert not others
