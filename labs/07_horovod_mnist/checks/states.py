"""States of models, and batches, in evidence: whether they are whole, and of the check's samples."""

from autograde.fixtures.numbered_net import BUFFERS, SIZES

LENGTHS = {**SIZES, **BUFFERS}


def whole(*states):
    """Whether each has as many numbers of each name as the check's model has; None is none."""
    return all(state is None or {name: len(own) for name, own in state.items()} == LENGTHS for state in states)


def known(batches, samples):
    """Whether batches, by rank, have some of so many samples each, and nothing else."""
    every = [ids for own in batches for ids in own]
    return all(ids and 0 <= min(ids) <= max(ids) < samples for ids in every)
