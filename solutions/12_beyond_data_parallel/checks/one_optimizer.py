"""The row of parameters, its shares, and training by steps with the mean gradient, right and wrong."""

from functools import partial

import torch
from torch import nn

from autograde.rubric import Replicas, eager

from ..shared.sharded import OPTIMIZERS, gradients_of, parameters_of


def row_of(tensors):
    return torch.cat([each.detach().reshape(-1) for each in tensors])


def length(call):
    """How many numbers a rank's share has."""
    return -(-len(row_of(parameters_of(call.arguments))) // call.size)


def own_places(call, rank):
    """Of each number in the row, whether it is in a rank's share."""
    return torch.arange(len(row_of(parameters_of(call.arguments)))) // length(call) == rank


def share(call, rank):
    """What `make` is due on a rank."""
    row = row_of(parameters_of(call.arguments))
    padded = torch.cat([row, row.new_zeros(call.size * length(call) - len(row))])
    return padded[rank * length(call) : (rank + 1) * length(call)].numpy()


def gradients(call, step, rank, moved_up=False):
    """Of a rank, with zeros where there is none. moved_up: with these at the end of the row."""
    found, shapes = gradients_of(call.arguments, step, rank), call.arguments["shapes"]
    pairs = zip(found, shapes, strict=True)
    filled = [torch.zeros(shape, dtype=torch.float64) if each is None else each for each, shape in pairs]
    if not moved_up:
        return filled
    return cut(call, row_of(filled[number] for number in sorted(range(len(found)), key=lambda at: found[at] is None)))


def cut(call, row):
    """A row as parameters."""
    shapes = call.arguments["shapes"]
    sizes = [torch.Size(shape).numel() for shape in shapes]
    return [part.reshape(shape) for part, shape in zip(row.split(sizes), shapes, strict=True)]


def trained(call, rules=None, anew=False, moved_up=False):
    """By rank, the parameters after the call's steps. rules: of `Replicas`. anew: whether each step has an optimizer of
    its own. moved_up: see `gradients`."""
    about, ranks = call.arguments, range(call.size)
    models = [nn.ParameterList(map(nn.Parameter, parameters_of(about))) for _ in ranks]

    made = OPTIMIZERS[about["optimizer"]]
    optimizer = partial(eager(made.func), **made.keywords)

    def replicas():
        return Replicas(models, optimizer, None, rules)

    every = replicas()
    for step in range(about["step"] + 1):
        every = replicas() if anew else every
        every.step_with([gradients(call, step, rank, moved_up) for rank in ranks])
    return [[each.detach() for each in model] for model in models]


def joined(call, rows):
    """On all ranks, each rank's share of its own row. rows: by rank, parameters."""
    parts = (row_of(own).where(own_places(call, rank), 0.0) for rank, own in enumerate(rows))
    return [cut(call, sum(parts))] * call.size


def not_gathered(call):
    """By rank, its own share as it should be, and the rest as it was."""
    before = row_of(parameters_of(call.arguments))
    pairs = enumerate(map(row_of, trained(call)))
    return [cut(call, row.where(own_places(call, rank), before)) for rank, row in pairs]
