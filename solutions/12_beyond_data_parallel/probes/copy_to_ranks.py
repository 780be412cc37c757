"""Passes of `copy_to_ranks` and `sum_over_ranks`, forward and backward, with a meeting in between."""

from __future__ import annotations

from collections.abc import Callable

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence

from ..shared.groups import own_group
from ..shared.tensors import drawn, layout_on
from .luck import by_luck

NAMES = {"copy": "copy_to_ranks", "sum": "sum_over_ranks"}


class Seen(Evidence):
    """value: what is returned, or the gradient of x. graph: whether what is returned has a graph behind it. warned:
    whether autograd knew no gradient for a call."""

    value: Array
    graph: bool
    warned: bool


def call(copy_to_ranks: Callable, rank: CallRank, call: dict) -> Seen:
    """One pass, of the call's `which` and in its `way`; the backward pass is that of the forward pass before it."""
    if "functions" not in rank.notes:
        subject = rank.subject.salted(rank.rank)
        rank.notes["functions"] = dict(zip(NAMES, subject.load_several(*NAMES.values()), strict=True))
    present, group = own_group(rank, call)
    if not present:
        return Seen(Array.of(None), False, False)
    with by_luck() as warned, torch.set_grad_enabled(call["graph"]):
        if call["way"] == "forward":
            own, layout = rank.rank if call["which"] == "sum" else 0, layout_on(rank.rank, call["layout"])
            leaf = drawn(call["seed"] + own, call["shape"], layout).to(rank.torch_device).requires_grad_()
            value = y = rank.notes["functions"][call["which"]](rank.argument("x", leaf.view_as(leaf)), *group)
            rank.notes["way back"] = leaf, y
        else:
            leaf, y = rank.notes["way back"]
            seed, layout = call["seed"] + 10 + rank.rank, layout_on(rank.rank, call["gradient"])
            gradient = drawn(seed, call["shape"], layout).to(rank.torch_device)
            if getattr(y, "grad_fn", None) is not None and y.shape == gradient.shape:
                y.backward(rank.argument("gradient", gradient))
            value = leaf.grad
    return Seen(Array.of(value), getattr(y, "grad_fn", None) is not None, warned[0])


PROBE = CallProbe(Seen, call, needs="torch", deadline=8.0)
