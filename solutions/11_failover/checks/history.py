"""What a call of `train` has to do: the rest of an undisturbed training, which is replayed in one process."""

from functools import partial
from types import SimpleNamespace

import torch

from autograde.fixtures.numbered_net import NumberedSet
from autograde.rubric import Replicas, Rules, eager, once

from ..shared.training import LYING, DroppingNet, momentum_before

RIGHT = Rules(), Rules()  # of the first step, and of all others


def dealt(call, epoch, consumed, epochs, later=0, told=True, skipped=0):
    """By step, the place before it, (epoch, consumed), and the samples of each rank.

    epoch, consumed: where it begins. later: where all epochs but that one begin. told: whether the sampler knows the
    epoch. skipped: how many of the steps are not made."""
    case, size, steps = call.case, call.size, []
    for each in range(epoch, epochs):
        order, begin = case["orders"][each if told else 0], consumed if each == epoch else later
        rest = order[begin:]
        rest = rest + order[: -len(rest) % size]
        for first in range(0, len(rest) // size, case["batch"]):
            ids = [rest[rank::size][first : first + case["batch"]] for rank in range(size)]
            steps.append(((each, begin + first * size), ids))
    return steps[skipped:]


def plain(call, epoch, consumed, *more):
    """A place; the end of an epoch is the beginning of the next one."""
    return (epoch, consumed, *more) if consumed < call.case["samples"] else (epoch + 1, 0, *more)


@once
def due_in(call):
    """What is left. done: the steps before; steps: those to make, `count`; leaves: whether it is to leave after them.

    place: where it begins; None if the checkpoint that it finds does not fit the steps that were made. places: before
    the steps, and in the end. killed: whether a rank was killed before; `found` is then, in a list, the checkpoint that
    should be there."""
    case, epochs, stop, first = call.case, call.arguments["epochs"], call.arguments["stop"], call.seen[0]
    every = dealt(call, *(case["begin"] or (0, 0)), epochs)
    places = [place for place, _ in every] + [(epochs, 0)]
    *place, made = plain(call, *first.begins)
    made, place = (made, tuple(place)) if places[made : made + 1] == [tuple(place)] else (0, None)
    leaves = stop is not None and made < len(every)
    steps = every[made : made + stop if leaves else None]
    killed = case["kill"] is not None and not first.survived
    kept = (case["kill"][1] - 1) // case["every"] * case["every"] if killed else 0
    about = {"done": every[:made], "steps": steps, "count": len(steps), "leaves": leaves, "killed": killed}
    return SimpleNamespace(**about, place=place, places=places[made:], found=[(*places[kept], kept)] if killed else [])


def path(call, rules=RIGHT):
    """By rank, each step that is due: samples, weights before it, and loss; None if it cannot be told, as with other
    `rules` for the first step and the later ones, where steps were made before."""
    due, case = due_in(call), call.case
    if due.place is None or (rules != RIGHT and due.done):
        return None
    nets = [DroppingNet(case["model"], case["dropout"]) for _ in case["ranks"]]
    sgd = partial(eager(torch.optim.SGD), lr=case["lr"], momentum=0.9)
    replicas, found = Replicas(nets, sgd, NumberedSet(case["samples"], case["data"]).loss), []
    for net, luck, optimizer in zip(nets, case["luck"], replicas.optimizers, strict=True):
        net.dropout.generator = torch.Generator().manual_seed(luck)  # its own, as cases are graded at once
        for each, moving in zip(net.parameters(), momentum_before(net, case["data"]), strict=True):
            each.grad = torch.full_like(each, LYING)
            if case["begin"]:
                optimizer.state[each]["momentum_buffer"] = moving
    for number, (_, ids) in enumerate([*due.done, *due.steps]):
        weights, replicas.rules = [net.row() for net in nets], rules[number > 0]
        losses = replicas.step([[own] for own in ids])
        found.append([*zip(ids, weights, [loss for [loss] in losses], strict=True)])
    return [[step[rank] for step in found[len(due.done) :]] for rank in range(call.size)]


undisturbed = once(path)


def when(call):
    """Words for which run it is."""
    return "In a run that goes on after a rank was killed" if due_in(call).killed else "In a call"


def until_it_leaves(call, steps):
    """Of steps, those before it is to leave; whether it leaves is judged by itself."""
    return steps[: due_in(call).count if due_in(call).leaves else None]


def right_samples(call):
    """Whether the steps have the samples that are due."""
    made = [[each.ids for each in until_it_leaves(call, own)] for own in call.of("steps")]
    due = [[ids[rank] for _, ids in due_in(call).steps] for rank in range(call.size)]
    return due_in(call).place is not None and made == due
