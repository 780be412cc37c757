"""States of models in evidence: whether they are whole."""

from autograde.fixtures.numbered_net import BUFFERS, SIZES

LENGTHS = {**SIZES, **BUFFERS}


def whole(*states):
    """Whether each has as many numbers of each name as the check's model has; None is none."""
    return all(state is None or {name: len(own) for name, own in state.items()} == LENGTHS for state in states)
