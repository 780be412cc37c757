"""Calls of `distributed_path`, with a `distributed_gradient` that notes which samples each rank gives it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence, Points, judged_in_places
from autograde.probes.simulated_node import simulated_node

from ..shared.samples import rate_of, samples

MOST = 1000  # steps that are kept


@judged_in_places(before="an order is new if one sample has another place")
class Seen(Evidence):
    """What a rank returned, and what it did.

    shares: by call of `distributed_gradient`, numbers of the samples, -1 for a pair that is none. before: the same of
    the call before.
    """

    path: Points
    shares: list[list[int]]
    before: list[list[int]]


def names(rank: CallRank, case: dict) -> dict[str, Callable]:
    """A right `distributed_gradient`, to which each rank sends its samples."""

    def distributed_gradient(m: Any, n: Any, x: Any, y: Any) -> tuple[float, float]:
        """The gradient over the samples of all ranks."""
        own = [*zip(x.tolist(), y.tolist(), strict=True)]
        rank.notes["shares"].append([rank.notes["known"].get(pair, -1) for pair in own])
        pairs = np.array([pair for of_rank in rank.comm.allgather(own) for pair in of_rank]).reshape(-1, 2)
        error = 2 * (float(m) * pairs[:, 0] + float(n) - pairs[:, 1])
        return (float((error * pairs[:, 0]).mean()), float(error.mean())) if len(pairs) else (0.0, 0.0)

    return {"distributed_gradient": distributed_gradient}


def call(distributed_path: Callable, rank: CallRank, call: dict) -> Seen:
    """One call, on simulated nodes of `local_size` ranks; global generators are in another state each time."""
    x, y = (rank.argument(name, torch.from_numpy(own)) for name, own in zip("xy", samples(call), strict=True))
    before = rank.notes.get("shares", [])[:MOST]
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    rank.notes |= {"known": {pair: number for number, pair in enumerate(pairs)}, "shares": []}
    for set_seed in (torch.manual_seed, random.seed, np.random.seed):
        set_seed(1000 * rank.rank + rank.number)
    start = tuple(call["start"][rank.rank])
    with simulated_node(rank.rank % call["local_size"], call["local_size"]):
        path = distributed_path(x, y, call["batch_size"], rate_of(call), call["epochs"], start, call["seed"])
    return Seen(Points.of(path, MOST), rank.notes["shares"][:MOST], before)


PROBE = CallProbe(Seen, call, names, needs="horovod")
