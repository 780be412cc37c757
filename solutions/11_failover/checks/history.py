"""The undisturbed training of a case of `train`, replayed in one process; and where a call of `train` is in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from autograde.fixtures.numbered_net import NumberedSet
from autograde.rubric.criterion import Call

from ..shared.training import LYING, DroppingNet, momentum_before

Place = tuple[int, int]  # epoch, consumed


@dataclass(frozen=True)
class Step:
    """One step of all ranks. place: before it. ids, weights (before it), loss: by rank."""

    place: Place
    ids: list[list[int]]
    weights: list[list[float]]
    loss: list[float]


def history(case: dict, epochs: int, kept: str = "", mean: bool = True) -> list[Step]:
    """The steps of an undisturbed training, all epochs of it.

    kept: "all" if no gradient is zeroed, "first" if what lies in `.grad` gets into the first step. mean: whether ranks
    step with their mean gradient, not each with its own.
    """
    size = len(case["ranks"])
    nets = [DroppingNet(case["model"], case["dropout"]) for _ in range(size)]
    parameters = [[*net.parameters()] for net in nets]
    moving = [[torch.zeros_like(each) for each in own] for own in parameters]
    if case["begin"]:
        moving = [momentum_before(net, case["data"]) for net in nets]
    left = [[torch.full_like(each, LYING) for each in own] for own in parameters]
    for net, luck in zip(nets, case["luck"], strict=True):
        net.dropout.generator = torch.Generator().manual_seed(luck)  # several verdicts are given at once
    data, steps = NumberedSet(case["samples"], case["data"]), []
    for place, ids in shares(case, epochs):
        weights, gradients, losses = [net.row() for net in nets], [], []
        for net, own, drawn in zip(nets, parameters, ids, strict=True):
            inputs, targets = data.batch(drawn)
            loss = cross_entropy(net(inputs), targets)
            gradients.append(torch.autograd.grad(loss, own))
            losses.append(loss.item())
        keeping = kept == "all" or (kept == "first" and not steps)
        steps.append(Step(place, ids, weights, losses))
        for rank, own in enumerate(parameters):
            for number, parameter in enumerate(own):
                column = torch.stack([each[number] for each in gradients])
                gradient = column.mean(0) if mean else column[rank]
                if keeping:
                    gradient = left[rank][number] = left[rank][number] + gradient
                moving[rank][number] = 0.9 * moving[rank][number] + gradient
                parameter.data -= case["lr"] * moving[rank][number]
    return steps


def shares(case: dict, epochs: int) -> list[tuple[Place, list[list[int]]]]:
    """For each step, the place before it, and the samples of each rank."""
    begin, size, each, found = tuple(case["begin"] or (0, 0)), len(case["ranks"]), case["batch"], []
    for epoch in range(begin[0], epochs):
        consumed = begin[1] if epoch == begin[0] else 0
        rest = case["orders"][epoch][consumed:]
        rest = rest + case["orders"][epoch][: -len(rest) % size]
        for start in range(0, len(rest) // size, each):
            ids = [rest[rank::size][start : start + each] for rank in range(size)]
            found.append(((epoch, consumed), ids))
            consumed += sum(map(len, ids))
    return found


class Due:
    """What a call of `train` has to do: from `place` on, `count` steps, after which it `leaves`, or all that are left.

    start: number of the first step. begins: whether the checkpoint is there that should be.
    """

    def __init__(self, call: Call) -> None:
        self.call, self.case, self.epochs = call, call.case, call.arguments["epochs"]
        self.every, self.samples = self.case["every"], self.case["samples"]
        self.steps, stop = shares(self.case, self.epochs), call.arguments["stop"]
        kill, earlier = self.case["kill"], self.case["calls"][: call.number]
        done = (kill[1] - 1) // self.every * self.every if kill else 0
        self.start = min(len(self.steps), done + sum(each["stop"] or len(self.steps) for each in earlier))
        left = len(self.steps) - self.start
        self.leaves = stop is not None and left > 0
        self.count = min(left, stop) if self.leaves else left
        self.place = self.after(0)
        self.begins = self.plain(call.seen[0].begins) == self.place

    def plain(self, place: Place) -> Place:
        """A place; the end of an epoch is the beginning of the next one."""
        return (place[0] + 1, 0) if place[1] >= self.samples else (place[0], place[1])

    def after(self, at: int) -> Place:
        """The place when so many steps of the call are made."""
        return self.steps[self.start + at][0] if self.start + at < len(self.steps) else (self.epochs, 0)

    def by_one_rank(self, at: int) -> Place:
        """The place before the next step, if `consumed` counts the samples of one rank since the call began."""
        (epoch, consumed), ids = self.steps[self.start + at - 1]
        begun = self.place[1] if epoch == self.place[0] else 0
        return self.plain((epoch, begun + (consumed - begun + sum(map(len, ids))) // self.call.size))

    def walk(self, epoch: int, consumed: int, epochs: int, later: int = 0) -> list[Place]:
        """Where passes begin from a place on, up to an epoch or to when the call is to leave. later: where all epochs
        but the first begin."""
        found: list[Place] = []
        made = 0
        while epoch < epochs and (not self.leaves or made < self.count):
            found.append((epoch, consumed))
            own = -(-(self.samples - consumed) // self.call.size)
            made += -(-own // self.case["batch"])
            epoch, consumed = epoch + 1, later
        return found

    @property
    def passes(self) -> list[Place]:
        """Where the passes begin that have samples, before the call is to leave."""
        passes = [each for each in self.call.seen[0].passes if each[1] < self.samples]
        return [(epoch, consumed) for epoch, consumed, at in passes if not self.leaves or at < self.count]

    @property
    def saves(self) -> list[tuple[int, int, int]]:
        """Places and steps of checkpoints, each once, before the call is to leave, and after its first step."""
        saves = [(*self.plain(each[:2]), each[2]) for each in self.call.seen[0].saves]
        plain = [each for each in dict.fromkeys(saves) if each != (*self.place, 0)]
        return [each for each in plain if not self.leaves or each[2] < self.count]

    @property
    def weights(self) -> list[list[list[float | None]]]:
        """By rank, the weights before each step, before the call is to leave."""
        return [[each.weights for each in seen.forwards[: self.count]] for seen in self.call.seen]

    def history(self, **how: Any) -> list[Step]:
        """The steps from the call's first one on. how: see `history`."""
        return history(self.case, self.epochs, **how)[self.start :]

    def path(self, **how: Any) -> list[list[list[float]]]:
        """The weights that are due. how: see `history`."""
        steps = self.history(**how)[: self.count]
        return [[step.weights[rank] for step in steps] for rank in range(self.call.size)]
