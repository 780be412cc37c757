"""Calls of `accumulate_gradient`, on a model that notes which samples it is shown."""

from __future__ import annotations

from collections.abc import Callable

import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Array, Evidence
from autograde.fixtures.numbered_net import NumberedNet

from ..shared.micro_batches import batches_of, left_over, loss_of, model_of

PARAMETERS = ("weight", "bias", "frozen", "unused")


class Seen(Evidence):
    """grads: `.grad` of the parameters. moved: whether any of them is another one. training: the model's mode.
    other_mode: whether a micro-batch went through it in another mode than before the call. thawed: whether a
    `requires_grad` is another one. together: whether the model was shown several micro-batches at a time. hooked:
    whether `backward` leaves another gradient than before. changed: whether micro_batches did."""

    grads: list[Array]
    moved: bool
    training: bool
    other_mode: bool
    thawed: bool
    together: bool
    hooked: bool
    changed: bool


def slopes(model: NumberedNet, call: dict) -> list:
    """The gradient that `backward` leaves for the first micro-batch."""
    inputs, targets = batches_of(call)[0]
    model.zero_grad()
    loss_of(call)(model(inputs), targets).backward()
    return [model.weight.grad.tolist(), model.bias.grad.tolist()]


def call(accumulate_gradient: Callable, rank: CallRank, call: dict) -> Seen:
    """One call."""
    owner = [number for number, size in enumerate(call["sizes"]) for _ in range(size)]
    shown: list[set[int]] = []
    modes: list[bool] = []

    def note(net: NumberedNet, ids: list[int]) -> None:
        shown.append({owner[each] for each in ids if each < len(owner)})
        modes.append(net.training)

    model = model_of(call, note)
    model.train(call["training"])
    if call["left"]:
        model.weight.grad, model.bias.grad = left_over(call)
    before = {name: each.clone() for name, each in model.state_dict().items()}
    trained, batches = [each.requires_grad for each in model.parameters()], batches_of(call)
    accumulate_gradient(model, loss_of(call), batches)
    other_mode = any(mode != call["training"] for mode in modes)
    everything, right = ([[each.tolist() for each in pair] for pair in own] for own in (batches, batches_of(call)))
    grads = [Array.of(getattr(getattr(model, name), "grad", None)) for name in PARAMETERS]
    moved = not all(torch.equal(each, before[name]) for name, each in model.state_dict().items())
    thawed = trained != [each.requires_grad for each in model.parameters()]
    together, fresh = any(len(numbers) > 1 for numbers in shown), model_of(call).train(model.training)
    fresh.load_state_dict(model.state_dict())
    hooked = not thawed and slopes(model, call) != slopes(fresh, call)
    return Seen(grads, moved, model.training, other_mode, thawed, together, hooked, everything != right)


PROBE = CallProbe(Seen, call, deadline=10)
