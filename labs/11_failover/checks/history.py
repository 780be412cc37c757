"""The undisturbed training of a case of `train`, replayed in one process; and where a call of `train` is in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch

from autograde.fixtures.numbered_net import NumberedSet
from autograde.rubric import Call, Replicas, Rules, once

from ..shared.training import LYING, DroppingNet, momentum_before

Place = tuple[int, int]  # epoch, consumed
Save = tuple[int, int, int]  # epoch, consumed, how many steps of the call are made
RIGHT = Rules()


@dataclass(frozen=True)
class Step:
    """One step of all ranks. place: before it. ids, weights (before it), loss: by rank."""

    place: Place
    ids: list[list[int]]
    weights: list[list[float]]
    loss: list[float]


def history(case: dict, epochs: int, first: Rules = RIGHT, later: Rules = RIGHT) -> list[Step]:
    """The steps of an undisturbed training, all epochs of it. first, later: rules of the first step, and of others."""
    nets = [DroppingNet(case["model"], case["dropout"]) for _ in case["ranks"]]
    replicas, data, steps = Replicas(nets, case["lr"], first), NumberedSet(case["samples"], case["data"]), []
    if case["begin"]:
        replicas.moving = [momentum_before(net, case["data"]) for net in nets]
    for net, luck in zip(nets, case["luck"], strict=True):
        net.dropout.generator = torch.Generator().manual_seed(luck)  # its own, as several cases are graded at once
        for each in net.parameters():
            each.grad = torch.full_like(each, LYING)
    for place, ids in shares(case, epochs):
        weights = [net.row() for net in nets]
        losses = replicas.epoch(data, [[own] for own in ids])
        steps.append(Step(place, ids, weights, [loss for [loss] in losses]))
        replicas.rules = later
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

    start: number of the first step. begins: whether the checkpoint is there that should be. after_kill: whether a rank
    was killed before.
    """

    def __init__(self, call: Call) -> None:
        self.call, self.case, self.epochs = call, call.case, call.arguments["epochs"]
        self.every, self.samples = self.case["every"], self.case["samples"]
        self.steps, stop = shares(self.case, self.epochs), call.arguments["stop"]
        kill, earlier, first = self.case["kill"], self.case["calls"][: call.number], call.seen[0]
        self.after_kill = kill is not None and not first.survived
        done = (kill[1] - 1) // self.every * self.every if self.after_kill else 0
        self.start = min(len(self.steps), done + sum(each["stop"] or len(self.steps) for each in earlier))
        left = len(self.steps) - self.start
        self.leaves = stop is not None and left > 0
        self.count = min(left, stop) if self.leaves else left
        self.place = self.after(0)
        self.begins = (*self.plain(first.begins[:2]), first.begins[2]) == (*self.place, self.start)

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

    @cached_property
    def passes(self) -> list[Place]:
        """Where the passes begin that have samples, before the call is to leave."""
        passes = [each for each in self.call.seen[0].passes if each[1] < self.samples]
        return [(epoch, consumed) for epoch, consumed, at in passes if not self.leaves or at < self.count]

    @cached_property
    def saves(self) -> list[Save]:
        """Checkpoints, each once, until the call is to leave, and after its first step."""
        saves = [(*self.plain(each[:2]), each[2]) for each in self.call.seen[0].saves]
        plain = [each for each in dict.fromkeys(saves) if each != (*self.place, 0)]
        return [each for each in plain if not self.leaves or each[2] <= self.count]

    @property
    def saves_leaving(self) -> bool:
        """Whether there is a checkpoint of just the step after which the call is to leave."""
        return self.leaves and any(each[2] == self.count for each in self.saves)

    @cached_property
    def weights(self) -> list[list[list[float | None]]]:
        """By rank, the weights before each step, before the call is to leave."""
        return [[each.weights for each in seen.forwards[: self.count]] for seen in self.call.seen]

    @cached_property
    def history(self) -> list[Step]:
        """The steps from the call's first one on."""
        return history(self.case, self.epochs)[self.start :]

    def path(self, steps: list[Step]) -> list[list[list[float]]]:
        """The weights before each of the call's steps, by rank. steps: from its first one on."""
        return [[step.weights[rank] for step in steps[: self.count]] for rank in range(self.call.size)]


@once
def due_in(call: Call) -> Due:
    """What the call has to do."""
    return Due(call)
