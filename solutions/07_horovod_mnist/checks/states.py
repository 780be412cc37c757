"""States of models, and batches, in evidence: whether they are whole, and of the check's samples; and their replay."""

from functools import partial

import torch

from autograde.fixtures.numbered_net import BUFFERS, SIZES, NumberedSet
from autograde.rubric import Replicas, eager

LENGTHS = {**SIZES, **BUFFERS}


def whole(*states):
    """Whether each has as many numbers of each name as the check's model has; None is none."""
    return all(state is None or {name: len(own) for name, own in state.items()} == LENGTHS for state in states)


def known(batches, samples):
    """Whether batches, by rank, have some of so many samples each, and nothing else."""
    every = [ids for own in batches for ids in own]
    return all(ids and 0 <= min(ids) <= max(ids) < samples for ids in every)


def replicas(about, models, rules=None, **options):
    """Replicas that SGD trains on the check's samples. about: arguments of the call; options: of SGD."""
    data = NumberedSet(about["samples"], about["data"])
    return Replicas(models, partial(eager(torch.optim.SGD), **options), data.loss, rules)
