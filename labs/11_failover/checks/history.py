"""The undisturbed training of a case of lab 11's `train`, replayed in one process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn.functional import cross_entropy

from autograde.fixtures.numbered_net import NumberedSet
from autograde.verdicts.replicas import close

from .common import LYING, DroppingNet, momentum_before


@dataclass(frozen=True)
class Step:
    """One step of all ranks. place: before it. ids, weights (before it), loss: by rank."""

    place: tuple[int, int]
    ids: list[list[int]]
    weights: list[list[float]]
    loss: list[float]


class History:
    """The undisturbed training of a case, up to twice its epochs. zeroed, mean: how it goes, right or wrong. lies:
    whether what lies in `.grad` at a call gets into its first step. count: how many steps are made, where it is left
    then; `drawn`, by rank and step, are the samples of those after it, of a new call."""

    def __init__(
        self,
        case: dict,
        epochs: int,
        zeroed: bool = True,
        mean: bool = True,
        count: int | None = None,
        lies: bool = False,
        drawn: Sequence[Sequence[list[int]]] = (),
    ) -> None:
        self.size, self.samples, self.steps = len(case["ranks"]), case["samples"], []
        self.nets = [DroppingNet(case["model"], case["dropout"]) for _ in range(self.size)]
        self.parameters = [[*net.parameters()] for net in self.nets]
        self.moving = [[torch.zeros_like(each) for each in of_rank] for of_rank in self.parameters]
        if case["begin"]:
            self.moving = [momentum_before(net, case["data"]) for net in self.nets]
        self.left = [[torch.full_like(each, LYING) for each in of_rank] for of_rank in self.parameters]
        for net, luck in zip(self.nets, case["luck"], strict=True):
            net.dropout.generator = torch.Generator().manual_seed(luck)  # several verdicts are given at once
        data, begin = NumberedSet(case["samples"], case["data"]), tuple(case["begin"] or (0, 0))
        for epoch in range(begin[0], epochs):
            consumed = begin[1] if epoch == begin[0] else 0
            rest = case["orders"][epoch][consumed:]
            rest = rest + case["orders"][epoch][: -len(rest) % self.size]
            each = case["batch"]
            for start in range(0, len(rest) // self.size, each):
                if len(self.steps) == count:
                    break
                ids = [rest[rank :: self.size][start : start + each] for rank in range(self.size)]
                first = bool(case["kill"]) and not self.steps  # of the killed ranks, which were called, too
                self.step((epoch, consumed), data, ids, case["lr"], zeroed and not (lies and first), mean)
                consumed += sum(map(len, ids))
        if case["kill"]:  # all have loaded what rank 0 has saved
            for net, moving in zip(self.nets[1:], self.moving[1:], strict=True):
                for own, first in zip(
                    [*net.parameters(), *moving], [*self.parameters[0], *self.moving[0]], strict=True
                ):
                    own.data.copy_(first)
        for number, ids in enumerate(zip(*drawn, strict=True)):
            if number == 0:
                self.left = [[torch.full_like(each, LYING) for each in of_rank] for of_rank in self.parameters]
            self.step((0, 0), data, ids, case["lr"], zeroed and not (lies and number == 0), mean)

    def step(self, place: tuple, data: NumberedSet, ids: list, lr: float, zeroed: bool, mean: bool) -> None:
        """Make one, and note it."""
        gradients, losses, weights = [], [], [net.row() for net in self.nets]
        for rank, net in enumerate(self.nets):
            inputs, targets = data.batch(ids[rank])
            loss = cross_entropy(net(inputs), targets)
            gradients.append(torch.autograd.grad(loss, self.parameters[rank]))
            losses.append(loss.item())
        self.steps.append(Step(place, ids, weights, losses))
        for rank, own in enumerate(self.parameters):
            for number, parameter in enumerate(own):
                column = torch.stack([each[number] for each in gradients])
                gradient = column.mean(0) if mean else column[rank]
                if not zeroed:
                    gradient = self.left[rank][number] = self.left[rank][number] + gradient
                self.moving[rank][number] = 0.9 * self.moving[rank][number] + gradient
                parameter.data -= lr * self.moving[rank][number]

    def plain(self, place: Sequence[int]) -> tuple[int, int]:
        """A place; the end of an epoch is the beginning of the next one."""
        return (place[0] + 1, 0) if place[1] >= self.samples else (place[0], place[1])

    def upto(self, epochs: int) -> int:
        """How many steps there are before this epoch."""
        return sum(step.place[0] < epochs for step in self.steps)

    def before(self, number: int) -> tuple[int, int]:
        """The place before a step."""
        return self.steps[number].place


@dataclass(frozen=True)
class Due:
    """What a call of `train` has to do: the steps from `start` to `end` of the history.

    epochs: up to which it is to train. stop: after how many steps all ranks are to leave, or None.
    """

    case: dict
    history: History
    start: int
    end: int
    epochs: int
    stop: int | None

    @property
    def place(self) -> tuple[int, int]:
        """Where it begins."""
        return self.history.before(self.start) if self.start < len(self.history.steps) else (self.epochs, 0)

    def walk(self, epoch: int, consumed: int, epochs: int, stop: int | None, next_begin: int = 0) -> list[tuple]:
        """Where passes begin from a place on, up to an epoch or so many steps. next_begin: of all epochs but the
        first."""
        found: list[tuple] = []
        size, made = self.history.size, 0
        while epoch < epochs and (stop is None or made < stop):
            found.append((epoch, consumed))
            own = -(-(self.history.samples - consumed) // size)
            made += -(-own // self.case["batch"])
            epoch, consumed = epoch + 1, next_begin
        return found

    def place_after(self, at: int) -> tuple[int, int]:
        """The place when so many steps of the call are made."""
        if self.start + at < len(self.history.steps):
            return self.history.before(self.start + at)
        return self.history.steps[-1].place[0] + 1, 0

    def counted_in_epochs(self, count: int) -> list[int]:
        """After which of so many steps of the call a checkpoint is due where each epoch begins a new count."""
        found, since = [], 0
        for at in range(1, count + 1):
            since += 1
            if since == self.case["every"]:
                found.append(at)
            if since == self.case["every"] or self.place_after(at)[1] == 0:
                since = 0
        return found

    def plain_saves(self, saves: Sequence[Sequence[int]]) -> list[tuple]:
        """Places and steps, each once; what is saved before the first step is left out."""
        found: list[tuple] = []
        for epoch, consumed, steps in saves:
            save = (*self.history.plain((epoch, consumed)), steps)
            if save not in found and (*save[:2], 0) != (*self.place, steps):
                found.append(save)
        return found

    def followed(self, ids: Sequence[Sequence[list[int]]]) -> int:
        """How many steps of the call, from the first on, can be made again. ids: their samples, by rank and step.

        After a kill these are only steps with the samples that are due: with others, there was another checkpoint.
        """
        due, samples = self.history.steps[self.start : self.end], {*range(self.case["samples"])}

        def strange(at: int, rank: int) -> bool:
            own = ids[rank][at]
            return not own or not samples.issuperset(own) or (bool(self.case["kill"]) and own != due[at].ids[rank])

        most = min([*map(len, ids), *([len(due)] if self.case["kill"] else [])])
        return next((at for at in range(most) if any(strange(at, rank) for rank in range(len(ids)))), most)

    def path_of(self, ids: Sequence[Sequence[list[int]]], **how: bool) -> list[list[list[float]]]:
        """Weights before each step of the call that can be made again, by rank. ids: as for `followed`; how: of
        `History`."""
        drawn = [own[: self.followed(ids)] for own in ids]
        steps = History(self.case, self.epochs, **how, count=self.start, drawn=drawn).steps[self.start :]
        return [[step.weights[rank] for step in steps] for rank in range(self.history.size)]


def same_row(one: Sequence[float | None], other: Sequence[float]) -> bool:
    """Whether two rows of numbers are the same but for rounding."""
    return len(one) == len(other) and all(close(*pair, 1e-9) for pair in zip(one, other, strict=True))


def same_rows(one: object, other: object) -> bool:
    """Whether lists of numbers inside each other are the same but for rounding."""
    if isinstance(other, list):
        return isinstance(one, list) and len(one) == len(other) and all(map(same_rows, one, other))
    return close(one, other, 1e-9)
