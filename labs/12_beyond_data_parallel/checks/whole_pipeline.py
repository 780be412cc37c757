"""The gradients of all stages of a pipeline, right and wrong: worked out in one process."""

import torch

from autograde.rubric import once

from ..shared.stages import Stage, batch_of, left_before, losses_of


@once
def whole(call):
    """The stages; by stage and micro-batch, its input and output, each with a graph of its own; the losses."""
    stages, passes = [Stage(call.arguments, number) for number in range(call.size)], []
    inputs = batch_of(call.arguments)
    for stage in stages:
        inputs = [each.detach().requires_grad_() for each in inputs]
        outputs = [stage(each) for each in inputs]
        passes.append([*zip(inputs, outputs, strict=True)])
        inputs = outputs
    return stages, passes, losses_of(call.arguments, inputs)


def as_they_are(rank, number, right, came, first):
    return right


def added_up(call, taken=as_they_are, own_on=True):
    """By rank, the sums of the gradients of its parameters over the micro-batches.

    taken: what a rank takes for the gradient of its output: of the rank, the micro-batch, the right one, the one that
    the rank behind took, and the one that the rank behind sent first. own_on: whether the last rank, which takes none,
    hands on the gradient of its input; else that of its output.
    """
    stages, passes, losses = whole(call)
    last, first = call.size - 1, {}
    sums = [[torch.zeros_like(each) for each in stage.parameters()] for stage in stages]
    for number, loss in enumerate(losses):
        right = came = torch.autograd.grad(loss, passes[last][number][1], retain_graph=True)[0]
        for rank in reversed(range(call.size)):
            x, y = passes[rank][number]
            upstream = taken(rank, number, right, came, first.get(rank + 1))
            *own, right = torch.autograd.grad(y, [*stages[rank].parameters(), x], upstream, retain_graph=True)
            sums[rank] = [total + each for total, each in zip(sums[rank], own, strict=True)]
            first.setdefault(rank, right)
            came = right if rank == last and own_on else came
    return sums


def gradients(call, factor=1.0, kept=1.0, sums=None):
    """By rank, what is in `.grad` in the end: `kept` times what was there before, and `factor` times what comes new.
    sums: that, see `added_up`; None: as it should be."""
    return [
        [factor * each + kept * before for each, before in zip(own, left_before(call.arguments, rank), strict=True)]
        for rank, own in enumerate(sums or added_up(call))
    ]


def ones(call):
    return gradients(call, sums=added_up(call, lambda rank, number, right, *_: torch.ones_like(right)))


def ones_before_the_last(call):
    last = call.size - 1
    return gradients(
        call,
        sums=added_up(call, lambda rank, number, right, *_: right if rank == last else torch.ones_like(right)),
    )


def as_it_came(own_on):
    """Each rank but the last takes what the one behind it took. own_on: see `added_up`."""

    def found(call):
        last = call.size - 1
        taken = added_up(call, lambda rank, number, right, came, _: came if rank < last else right, own_on)
        return gradients(call, sums=taken)

    return found


def inputs_for_gradients(call):
    """Each rank but the first sends its stage's input where its gradient is asked for."""
    _, passes, _ = whole(call)
    last = call.size - 1
    taken = added_up(
        call,
        lambda rank, number, right, *_: passes[rank + 1][number][0].detach() if rank < last else right,
    )
    return gradients(call, sums=taken)


def first_each_time(call):
    """Each rank sends the gradient of its first micro-batch's input; None where others have another shape."""
    if len({*call.arguments["rows"]}) > 1:
        return None
    last = call.size - 1
    return gradients(
        call,
        sums=added_up(call, lambda rank, number, right, _, first: first if rank < last and number else right),
    )
