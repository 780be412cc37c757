"""Calls of `sgd_path`, with an `mse_gradient` that returns numbers of one kind after the other."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from autograde.contract.call_probe import CallProbe, CallRank
from autograde.contract.evidence import Evidence, Points, judged_in_places

from ..shared.line import sample_gradients

SHAPES = (None, (), (1,))  # of the two numbers of `mse_gradient`; None: floats


class Walk(Evidence):
    """A path, and the names of the arguments that are not what they were."""

    path: Points
    changed: list[str]


@judged_in_places(runs="one of them has to be right")
class Seen(Evidence):
    """runs: for each kind of numbers with which the function works, its paths, by seed."""

    runs: list[list[Walk]]


def names(rank: CallRank, case: dict) -> dict[str, Callable]:
    """A right `mse_gradient` that does not show how it is derived, and works where autograd is off."""

    def mse_gradient(m: Any, n: Any, x: Any, y: Any) -> tuple[Any, Any]:
        rank.notes["asked"] = True
        with torch.inference_mode(False), torch.enable_grad():
            point = [[float(torch.as_tensor(value).detach()) for value in (m, n)]]
            xs, ys = (torch.as_tensor(values).reshape(-1).tolist() for values in (x, y))
            dm, dn = sample_gradients(xs, ys, point)[0].mean(0).tolist()
        if (shape := rank.notes["shape"]) is None:
            return dm, dn
        return tuple(torch.full(shape, value, dtype=x.dtype) for value in (dm, dn))

    return {"mse_gradient": mse_gradient}


def walk(sgd_path: Callable, rank: CallRank, call: dict, seed: int, luck: int) -> Walk:
    """One path. luck: the state of the global random generators."""
    for set_seed in (torch.manual_seed, random.seed, np.random.seed):
        set_seed(luck)
    dtype = getattr(torch, call["dtype"])
    x, y = (rank.argument(name, torch.tensor(call[name], dtype=dtype)) for name in "xy")
    path = sgd_path(x, y, call["batch_size"], call["lr"], call["epochs"], tuple(call["start"]), seed)
    return Walk(Points.of(path), rank.changed())


def call(sgd_path: Callable, rank: CallRank, call: dict) -> Seen:
    """For each kind of numbers a path by seed, as long as the function asks for a gradient at all."""
    runs, errors = [], []
    for shape in SHAPES:
        rank.notes |= {"shape": shape, "asked": False}
        try:
            runs.append([walk(sgd_path, rank, call, seed, luck) for luck, seed in enumerate(call["seeds"])])
        except NotImplementedError:
            raise
        except Exception as error:
            errors.append(error)
        if not rank.notes["asked"]:
            break
    if not runs:
        raise errors[0]
    return Seen(runs)


PROBE = CallProbe(Seen, call, names, deadline=20)
