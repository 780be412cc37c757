"""Calls of `forward_passes`, with a stage that notes its passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence, judged_in_calls

from ..shared.stages import Stage, batch_of


class Pass(Evidence):
    """A pair of input and output. given: whether the input is the tensor that was given. requires, leaf: whether it
    requires a gradient, and is a leaf. graph: whether the output has a graph behind it."""

    input: Array
    output: Array
    given: bool
    requires: bool
    leaf: bool
    graph: bool


@judged_in_calls(made="passes that go wrong in a single stage are seen by their outputs")
class Seen(Evidence):
    """passes: those that are returned; None if that is no list of pairs, one for each micro-batch. made: how many the
    stage made. apart: whether each input is in memory of its own. kept: whether the micro-batches are what they
    were."""

    passes: list[Pass] | None
    made: int
    apart: bool
    kept: bool


def is_pair(value: Any) -> bool:
    """Whether it is a pair of tensors."""
    pair = isinstance(value, (list, tuple)) and len(value) == 2
    return pair and all(isinstance(each, torch.Tensor) for each in value)


def shown(pair: tuple, own: torch.Tensor) -> Pass:
    """A pair. own: the micro-batch that was given."""
    x, y = pair
    return Pass(Array.of(x), Array.of(y), x is own, x.requires_grad, x.is_leaf, y.grad_fn is not None)


def call(forward_passes: Callable, rank: CallRank, call: dict) -> Seen:
    """The passes of this rank's stage."""
    stage = Stage(call, rank.rank, rank.comm).to(rank.torch_device)
    given = [each.to(rank.torch_device) for each in batch_of(call)]
    if rank.rank:
        given = [torch.full_like(each, float("nan")) for each in given]
    before = [each.nan_to_num(7.0) for each in given]
    returned = forward_passes(stage, [*given])
    kept = all(
        torch.equal(now.nan_to_num(7.0), old) and not now.requires_grad for now, old in zip(given, before, strict=True)
    )
    pairs = [*returned] if isinstance(returned, (list, tuple)) else []
    if len(pairs) != len(given) or not all(map(is_pair, pairs)):
        return Seen(None, stage.passes, True, kept)
    memory = {x.untyped_storage().data_ptr() for x, _ in pairs}
    return Seen([*map(shown, pairs, given)], stage.passes, len(memory) == len(pairs), kept)


PROBE = CallProbe(Seen, call, needs="torch", deadline=8.0)
