"""Calls of `add_shares`."""

import torch

from autograde.contract.call_probe import CallProbe
from autograde.contract.evidence import Array, Evidence, Values
from autograde.probes.simulated_node import simulated_node


class Seen(Evidence):
    """What a rank returned: all of it, and the first of three values, `c`."""

    results: Values
    c: Array


def call(add_shares, rank, call):
    """One call, on simulated nodes of `local_size` ranks each."""
    a, b = (rank.argument(name, torch.tensor(call[name], dtype=torch.int64)) for name in "ab")
    with simulated_node(rank.rank % call["local_size"], call["local_size"]):
        value = add_shares(a, b)
    results = Values.of(value, 3)
    return Seen(results, Array.of(None if results.kind else next(iter(value), None)))


PROBE = CallProbe(Seen, call, needs="horovod")
