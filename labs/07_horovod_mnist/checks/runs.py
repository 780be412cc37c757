"""What a run of `train` should have come to, by a replay of the batches that it drew."""

import math
from dataclasses import dataclass

import torch

from autograde.fixtures.numbered_net import NumberedNet, NumberedSet, state_of
from autograde.rubric import hits_of, once

from ..shared.stand_ins import push, score
from .states import known, replicas


@dataclass(frozen=True)
class Epoch:
    """After an epoch of a replay: the ranks' states, the losses by rank and batch, and rank 0's model."""

    states: list
    losses: list
    model: NumberedNet


def net(seed, state=None):
    """A model of the check's. state: that it has, as plain numbers."""
    model = NumberedNet(seed, follows=0.0)
    for name, values in model.state_dict().items() if state else ():
        numbers = [math.nan if each is None else each for each in state[name]]
        values.copy_(torch.tensor(numbers, dtype=torch.float64).reshape(values.shape))
    return model


@once
def drawn(call):
    """By epoch and rank, the batches; None where ranks have not equally many in each epoch, or what is no sample."""
    counts = {len(seen.batches) for seen in call.seen}
    epochs = call.arguments["epochs"]
    strange = not known(call.of("batches"), call.arguments["samples"])
    if strange or len(counts) > 1 or counts == {0} or min(counts) % epochs:
        return None
    steps = min(counts) // epochs
    return [[seen.batches[at : at + steps] for seen in call.seen] for at in range(0, steps * epochs, steps)]


def stood_in(call):
    """Whether the check's `train_epoch` was used, which makes one step in an epoch, of a gradient of its own."""
    return any(call.of("told"))


def replayed(call, times=None, momentum=0.9, rules=None):
    """The epochs in one process, from where each rank begins. times: of the learning rate of one rank, that of the
    optimizer."""
    about, first = call.arguments, call.arguments["models"][0]
    lr, models, epochs = about["lr"] * (times or call.size), [net(first, seen.begin) for seen in call.seen], []
    trained = replicas(about, models, rules, lr=lr, momentum=momentum)
    for batches in drawn(call):
        losses = [[] for _ in call.seen]
        if stood_in(call):
            for rank, model in enumerate(models):
                push(model, rank)
            trained.step_with([[each.grad for each in own] for own in trained.trained])
        else:
            losses = trained.pass_through(batches)
        kept = net(first)
        kept.load_state_dict(models[0].state_dict())
        epochs.append(Epoch([*map(state_of, models)], losses, kept))
    return epochs


def hits_in(call, model):
    """Whether a model is right, for each sample of the test set."""
    return hits_of(model, NumberedSet(call.arguments["tests"], call.arguments["test_data"]))


def accuracy_of(call, model, tests=True):
    """Of a model, as the check's `evaluate` gives it or as it is. tests: of the test set, else of the training set."""
    about = call.arguments
    n, data = (about["tests"], about["test_data"]) if tests else (about["samples"], about["data"])
    if any(call.of("evaluated")):
        return score(model, n)
    return sum(hits_of(model, NumberedSet(n, data))) / n
