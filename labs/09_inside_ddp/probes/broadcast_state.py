"""Calls of `broadcast_state`, with a module of other numbers on each rank."""

from __future__ import annotations

from collections.abc import Callable

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence

from ..shared.stateful_module import StatefulModule, numbers_by_name


class Seen(Evidence):
    """After the call. numbers: of each tensor that is still there, by name. others: the tensors that are not the same
    objects, or are stored elsewhere; turned: those whose `requires_grad` has changed."""

    numbers: dict[str, list[float | None]]
    others: list[str]
    turned: list[str]


def call(broadcast_state: Callable, rank: CallRank, call: dict) -> Seen:
    """One call."""
    module = StatefulModule(call["seed"] + rank.rank, rank.torch_device)
    before = module.tensors()
    places = {name: tensor.data_ptr() for name, tensor in before.items()}
    flags = {name: tensor.requires_grad for name, tensor in before.items()}
    broadcast_state(module)
    after = module.tensors()
    same = {name for name in after if after[name] is before.get(name) and after[name].data_ptr() == places[name]}
    turned = [name for name in after if name in flags and after[name].requires_grad != flags[name]]
    return Seen(numbers_by_name(module), [name for name in after if name not in same], turned)


PROBE = CallProbe(Seen, call, needs="torch")
