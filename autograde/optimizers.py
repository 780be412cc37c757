"""Verdicts on an optimizer of several ranks: its learning rate, its options, how it combines the ranks' gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from autograde.check import Finding
from autograde.findings import Findings
from autograde.optimizer_told import OPTIONS
from autograde.replicas import Replicas, Rules, close, same_state
from autograde.schema import array, number, optional, record, string
from course.numbered import SIZES, TRAINED, NumberedNet, NumberedSet, vector_of
from course.shares import weights_of

finding = Findings("""
no-optimizer 3
What comes back is of type {kind}; an optimizer is asked for.

lr-not-scaled 1.5
The learning rate is {lr:g} on {size} ranks, as for one. Their gradients are averaged, so a step for {size} batches
is as long as one for a single batch.

lr-scaled-by-local-size 1.5
The learning rate is {times:g} times that of one process, on {size} ranks of which {local} are on a node.
The batches of all ranks are in a step.

lr-scaled-twice 1.5
The learning rate is {times:g} times that of one process, on {size} ranks. It was scaled more than once.

wrong-lr 1.5
The learning rate is {times:g} times that of one process, on {size} ranks.

momentum 1.5
From the second step on, momentum counts: the optimizer's is {momentum:g}, and {due:g} is asked for.

other-options 1
The optimizer has {options}. That is not SGD's default.

wrong-later-step 2
The first step is right, and step {step} is not what SGD with this momentum makes of the averages.

no-parameter-names 1
Horovod does not know the model's names of the parameters: it calls one {name!r}. It matches the ranks'
gradients by name.

not-wrapped 3
Each of {size} ranks makes a step with its own gradient, and they drift apart. Who averages?

gradients-summed 2
The ranks' gradients are summed, not averaged: with the learning rate scaled too, a step is {size} times too long.

one-ranks-gradient 3
All ranks make the step of rank {root}'s gradient alone. The others work for nothing.

wrong-step 3
Step number {step} is no step of SGD with the average of the ranks' gradients, nor with any weights of them.
""")


def told_schema(states: dict) -> dict:
    """Of what `optimizer_told` tells, with the model's ``states`` after some steps."""
    options = record(**dict.fromkeys(OPTIONS, optional(number())))
    return record(kind=string(), options=optional(options), names=optional(array(string())), states=states)


def step_mistakes(case: dict, seen: Sequence[dict], momentum: float) -> list[Finding]:
    """What is wrong with the ranks' optimizers and their first steps. case: as `autograde.replicas.replay` has it.

    seen: for each rank what `optimizer_told` gives, and the ``states`` of the model after each step. The case's ``lr``
    is that of one process, ``local_size`` the number of ranks on a node.
    """
    for one in seen:
        if one["options"] is None or len(one["states"]) != len(case["orders"]):
            return [finding("no-optimizer", kind=one["kind"])]
    options = seen[0]["options"]
    lr, size = options["lr"] or 0.0, case["size"]
    found = rate_mistakes(lr, case["lr"], size, case["local_size"])
    others = option_mistakes(options, momentum)
    data = NumberedSet(case["samples"], case["data"])

    def start(rate: float) -> Replicas:
        return Replicas([NumberedNet(case["model"]) for _ in range(size)], rate, Rules(momentum=momentum))

    replicas = start(lr)
    before = [vector_of(state) for state in replicas.states()]
    parts = [replicas.gradient_vector(own) for own in replicas.gradients(data, case["orders"][0])[0]]
    steps = [then - vector_of(one["states"][0]) for then, one in zip(before, seen, strict=True)]
    combined = combined_mistakes([step / lr for step in steps] if lr else steps, parts)
    if others:  # they may explain steps that nothing else does
        combined = [each for each in combined if each.key != "wrong-step"]
    if found := found + others + combined:
        return found
    due = start(case["lr"] * size)
    for step, order in enumerate(case["orders"]):
        due.epoch(data, [[ids] for ids in order])
        pairs = zip(seen, due.states(), strict=True)
        if not all(same_state(one["states"][step], state, SIZES) for one, state in pairs):
            return [finding("wrong-later-step" if step else "wrong-step", step=step + 1)]
    for one in seen:
        if size > 1 and one["names"] is None:
            return [finding("not-wrapped", size=size)]
        if wrong := [own for own, name in zip(one["names"] or (), TRAINED, strict=False) if own != name]:
            return [finding("no-parameter-names", name=wrong[0])]
    return []


def rate_mistakes(lr: float, alone: float, size: int, local_size: int) -> list[Finding]:
    """What is wrong with a learning rate that is due to be `size` times that of one process, `alone`."""
    times = lr / alone
    if close(times, size):
        return []
    about = {"lr": lr, "size": size, "times": times, "local": local_size}
    if close(times, 1):
        return [finding("lr-not-scaled", **about)]
    if close(times, local_size):
        return [finding("lr-scaled-by-local-size", **about)]
    return [finding("lr-scaled-twice" if close(times, size * size) else "wrong-lr", **about)]


def option_mistakes(options: Mapping[str, float | None], momentum: float) -> list[Finding]:
    """What is wrong with the options of SGD with `momentum`, which are else to be the defaults, that is 0."""
    found = []
    if not close(options["momentum"], momentum):
        found.append(finding("momentum", momentum=options["momentum"] or 0.0, due=momentum))
    if others := [f"{name} = {options[name]:g}" for name in OPTIONS[2:] if options[name]]:
        found.append(finding("other-options", options=", ".join(others)))
    return found


def combined_mistakes(steps: Sequence[torch.Tensor], parts: Sequence[torch.Tensor]) -> list[Finding]:
    """What is wrong with how much of each rank's gradient is in the ranks' steps, where the average is due.

    steps: [d] for each rank, divided by the learning rate, downhill counted as positive. parts: the ranks' gradients
    [d].
    """
    size = len(parts)
    rows = [weights_of(step, parts) for step in steps]
    if any(row is None for row in rows):
        return [finding("wrong-step", step=1)]
    matrix = torch.stack(rows)
    eye = torch.eye(size, dtype=matrix.dtype)

    def like(due: torch.Tensor) -> bool:
        return bool(((matrix - due).abs() < 1e-3).all())

    if like(torch.full_like(eye, 1 / size)):
        return []
    if like(torch.ones_like(eye)):
        return [finding("gradients-summed", size=size)]
    if like(eye):
        return [finding("not-wrapped", size=size)]
    for root in range(size):
        if like(eye[root].expand(size, size)):
            return [finding("one-ranks-gradient", root=root)]
    return [finding("wrong-step", step=1)]
