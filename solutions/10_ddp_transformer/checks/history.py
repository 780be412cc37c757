"""The steps of a call of `train`: the micro-batches of each, and the weights that one process comes to by them."""

from functools import partial

import torch
from torch.nn.utils import vector_to_parameters
from torch.utils.data import DistributedSampler

from autograde.fixtures.awkward_translator import AwkwardTranslator
from autograde.rubric import Mistakes, Replicas, Rounding, Rules, Same, Words, changed, eager, on_ranks, once
from course.models.translator.sentences import PAD, collate

from ..shared.model import token_loss, trained

NEAR = Rounding(1e-6)
words = Words("""
other-steps: On rank {rank}, {actual:step} are made of the micro-batches of {n:epoch}; expected are {expected}.

other-micro-batches: On rank {rank}, step {step} takes the micro-batches {actual} (numbers of pairs); expected are
{expected}.

other-weights: The steps take the right micro-batches, and yet the weights on rank {rank} are not what such steps make
of those before. What does a step have to do that yours does not?
""")


def batches(call, rank, epoch):
    sampler = DistributedSampler(call.case["pairs"], call.size, rank, shuffle=True, seed=call.case["order"])
    sampler.set_epoch(epoch)
    ids = [*sampler]
    return [ids[at : at + 2] for at in range(0, len(ids), 2)]


def dealt(call, most=None, full=False, across=False):
    """By rank, the micro-batches of each step. most: in a step, if not `accumulate`. full: whether smaller steps are
    left out. across: whether steps go across the end of an epoch."""
    most, made = most or call.arguments["accumulate"], []
    for rank, epochs in enumerate(call.of("told")):
        passes = [batches(call, rank, epoch) for epoch in epochs]
        parts = [[batch for each in passes for batch in each]] if across else passes
        steps = [part[at : at + most] for part in parts for at in range(0, len(part), most)]
        made.append({"steps": [each for each in steps if len(each) == most or not full]})
    return made


@once
def replayed(call):
    """The loss of each of these steps, and the weights in the end; None where no step can be told."""
    case, first, losses = call.case, call.seen[0], []
    if not first.told or any(own != first.told for own in call.of("told")) or None in (*first.weights, *first.momentum):
        return None
    model = AwkwardTranslator(0)
    vector_to_parameters(torch.tensor(first.weights, dtype=torch.float64), model.parameters())
    sgd = partial(eager(torch.optim.SGD), lr=case["lr"], momentum=0.9)
    one = Replicas([model], sgd, token_loss, Rules(mean="rank"))
    moving = torch.tensor(first.momentum, dtype=torch.float64).split([each.numel() for each in trained(model)])
    for parameter, own in zip(trained(model), moving, strict=True):
        one.optimizers[0].state[parameter]["momentum_buffer"] = own.reshape(parameter.shape).clone()
    for step in zip(*(own["steps"] for own in dealt(call)), strict=True):
        ready = [collate([case["pairs"][number] for number in ids]) for own in step for ids in own]
        counts = [int((target != PAD).sum()) for *_, target in ready]
        [means] = one.step([ready])
        losses.append(sum(mean * count for mean, count in zip(means, counts, strict=True)) / sum(counts))
    return losses, [number for each in model.parameters() for number in each.flatten().tolist()]


def due(call, **how):
    """What the steps are to show; those of a mistake, `how`, their micro-batches alone."""
    steps, replay = dealt(call, **how), None if how else replayed(call)
    return [own | {"ends": replay[1]} for own in steps] if replay else steps


def off_the_path(call, off):
    rank, what, *at = off.place
    if what == "ends":
        return words("other-weights", rank=rank)
    if at:
        actual, expected = (str(own[rank]["steps"][at[0]]) for own in (made(call), due(call)))
        return words("other-micro-batches", rank=rank, step=at[0] + 1, actual=actual, expected=expected)
    epochs = len(call.of("told")[rank])
    return words("other-steps", rank=rank, actual=len(off.actual), expected=len(off.expected), n=epochs)


def made(call):
    return [{"steps": seen.steps, "ends": seen.ends} for seen in call.seen]


STEPS = Same(made, due, on_ranks("the list of steps"), NEAR, otherwise=off_the_path)
OTHER_STEPS = Mistakes(
    """
    leftovers-dropped: The micro-batches at the end of an epoch that do not fill a step of {accumulate} are left out.

    leftovers-carried: The micro-batches that are left at the end of an epoch go into the first step of the next one. A
    kill between the two would lose them.

    not-accumulated: Each micro-batch has a step of its own. Expected are {accumulate} in a step.

    one-step-an-epoch: All micro-batches of an epoch go into one step. Expected are {accumulate} in a step.
    """,
    changed(
        dealt,
        leftovers_dropped={"full": True},
        leftovers_carried=[{"across": True}, {"across": True, "full": True}],
        not_accumulated={"most": 1},
        one_step_an_epoch={"most": lambda call: len(call.case["pairs"])},
    ),
)
