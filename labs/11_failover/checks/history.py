"""What a call of `train` has to do: the rest of an undisturbed training, which is replayed in one process."""

from functools import partial
from types import SimpleNamespace

import torch

from autograde.fixtures.numbered_net import NumberedSet
from autograde.rubric import Replicas, Rules, once

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
    """What is left. done: the steps before; steps: those to make; leaves: whether it is to leave after them.

    place: where it begins; None if the checkpoint that it finds does not fit the steps that were made. killed: whether
    a rank was killed before; `found` is then the checkpoint that should be there."""
    case, epochs, stop, first = call.case, call.arguments["epochs"], call.arguments["stop"], call.seen[0]
    every = dealt(call, *(case["begin"] or (0, 0)), epochs)
    places = [place for place, _ in every] + [(epochs, 0)]
    *place, made = plain(call, *first.begins)
    made, place = (made, tuple(place)) if places[made : made + 1] == [tuple(place)] else (0, None)
    leaves = stop is not None and made < len(every)
    steps = every[made : made + stop if leaves else None]
    killed, kept = case["kill"] is not None and not first.survived, 0
    if killed:
        kept = (case["kill"][1] - 1) // case["every"] * case["every"]
    about = {"done": every[:made], "steps": steps, "leaves": leaves, "place": place, "places": places[made:]}
    return SimpleNamespace(**about, count=len(steps), killed=killed, found=(*places[kept], kept))


def path(call, steps, rules=RIGHT, new=0):
    """By rank, each of these steps of a call: samples, weights before it, and loss; None if it cannot be told.

    steps: as of `dealt`. rules: as of `RIGHT`. new: what is added to seeds where nothing is loaded."""
    case, done = call.case, [] if new else due_in(call).done
    if due_in(call).place is None or (rules != RIGHT and done):
        return None
    nets = [DroppingNet(case["model"] + new, case["dropout"]) for _ in case["ranks"]]
    sgd = partial(torch.optim.SGD, lr=case["lr"], momentum=0.9)
    replicas, found = Replicas(nets, sgd, NumberedSet(case["samples"], case["data"]).loss), []
    for net, luck, trained, optimizer in zip(nets, case["luck"], replicas.trained, replicas.optimizers, strict=True):
        net.dropout.generator = torch.Generator().manual_seed(luck + new)  # its own, as cases are graded at once
        for each, moving in zip(trained, momentum_before(net, case["data"]), strict=True):
            each.grad = torch.full_like(each, LYING)
            if case["begin"] and not new:
                optimizer.state[each]["momentum_buffer"] = moving
    for number, (_, ids) in enumerate([*done, *steps]):
        weights, replicas.rules = [net.row() for net in nets], rules[number > 0]
        losses = replicas.step([[own] for own in ids])
        found.append([*zip(ids, weights, [loss for [loss] in losses], strict=True)])
    return [[step[rank] for step in found[len(done) :]] for rank in range(call.size)]


@once
def undisturbed(call):
    """The `path` of the steps that are due."""
    return path(call, due_in(call).steps)
