"""Fitting a line y = m x + n to samples: random problems, and gradients of the squared error by autograd."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import torch

from autograde.contract.findings import Findings
from autograde.contract.verdict import Finding
from autograde.verdicts import one_process

TOLERANCE = 2e-5  # relative: float32 arithmetic stays below it, a wrong factor or sample does not

finding = Findings("""
factor-two 1
You return half of the expected gradient: that of half the squared error. What does the square give when you
differentiate it?

swapped 1
dm and dn have changed places.

x-forgotten 1.5
dm has the value expected for dn. How far does a change of m move the line at x?
""")


def mistake(key: str) -> Finding:
    """The finding for a mistake in the gradient of a line's squared error."""
    return finding(key) if key in finding.known else one_process.finding(key, items="samples")


def exact(value: float) -> float:
    """`value` rounded so that float32 holds it exactly: a problem is then the same in both precisions."""
    return round(value * 2**16) / 2**16


def draw_line_problem(rng: random.Random, samples: int, dtype: str = "float64") -> dict:
    """Samples `x`, `y` scattered about a random line, and a point `start` = [m, n] at some distance from it.

    Plain numbers, for a check's case. The residuals are of the size of 1, so no two samples pull alike.
    """
    line = rng.uniform(-2, 2), rng.uniform(-2, 2)
    x = [exact(rng.uniform(-1.5, 2.5)) for _ in range(samples)]
    y = [exact(line[0] * value + line[1] + rng.uniform(-1, 1)) for value in x]
    start = [round(part * 8) / 8 + rng.choice((-1, 1)) * rng.randrange(8, 17) / 8 for part in line]
    return {"x": x, "y": y, "start": start, "dtype": dtype}


def tensors(problem: dict) -> tuple[torch.Tensor, torch.Tensor]:
    """x and y of a problem, each [n], in its dtype."""
    x, y = (torch.tensor(problem[name], dtype=getattr(torch, problem["dtype"])) for name in ("x", "y"))
    return x, y


def sample_gradients(x: Sequence[float], y: Sequence[float], points: Sequence | torch.Tensor) -> torch.Tensor:
    """Gradient of every sample's squared error at every one of `points` [T, 2], by autograd.

    x, y: n numbers each. Returns float64 [T, n, 2]; the last axis is (d/dm, d/dn).
    """
    x, y = (torch.as_tensor(values, dtype=torch.float64) for values in (x, y))
    own = torch.as_tensor(points, dtype=torch.float64)[:, None].repeat(1, len(x), 1).requires_grad_()
    return torch.autograd.grad(((own[..., 0] * x + own[..., 1] - y) ** 2).sum(), own)[0]


def gradient_mistakes(
    x: Sequence[float], y: Sequence[float], point: Sequence[float], pair: Sequence[float]
) -> list[str] | None:
    """Keys of the fewest mistakes that together make `pair` of the mean squared error's gradient at `point` = [m, n].

    Empty where `pair` is right, None where no mistakes explain it.
    """
    each = sample_gradients(x, y, [point])[0]
    columns = {(): (0, 1), ("swapped",): (1, 0), ("x-forgotten",): (1, 1)}
    sizes = {(): 1} if len(each) == 1 else {(): 1, ("sum-not-mean",): len(each)}
    halves, signs = {(): 1, ("factor-two",): 0.5}, {(): 1, ("wrong-sign",): -1}
    for choice in sorted(product(columns, sizes, halves, signs), key=lambda choice: len(sum(choice, ()))):
        column, size, half, sign = choice
        made = each[:, list(columns[column])] * sizes[size] * halves[half] * signs[sign]
        miss = (made.mean(0) - torch.tensor(pair, dtype=torch.float64)).abs().max()
        if miss <= TOLERANCE * made.abs().mean():
            return list(sum(choice, ()))
    return None


# What a right `mse_gradient` may return: floats, or tensors of shape [] or [1].
NUMBER_KINDS = ("float", "tensor", "tensor [1]")


def gradient_stand_in(kind: str, calls: list[str]) -> Callable[..., tuple[Any, Any]]:
    """A right `mse_gradient(m, n, x, y)` that does not show how it is derived.

    kind: one of NUMBER_KINDS, what its two numbers are. calls: gets an entry for each call. It works under
    `torch.no_grad()` and `torch.inference_mode()`, as the one that students write does.
    """

    def mse_gradient(m: Any, n: Any, x: Any, y: Any) -> tuple[Any, Any]:
        calls.append(kind)
        with torch.inference_mode(False), torch.enable_grad():
            here = [[float(torch.as_tensor(value).detach()) for value in (m, n)]]
            xs, ys = (torch.as_tensor(values).reshape(-1).tolist() for values in (x, y))
            pair = sample_gradients(xs, ys, here)[0].mean(0).tolist()
        if kind == "float":
            return tuple(pair)
        return tuple(torch.tensor([value] if kind == "tensor [1]" else value, dtype=x.dtype) for value in pair)

    return mse_gradient
