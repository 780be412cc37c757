"""A small model with what trips up hand-written training code: tied weights, frozen weights, unused weights."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import torch

from course import shares
from course.line_fit import TOLERANCE, exact

Batch = tuple[torch.Tensor, torch.Tensor]

SIZES = {
    "weight": 12,
    "bias": 4,
    "frozen": 16,
    "unused": 2,
}  # numbers in each parameter of AwkwardNet as problems have it


class AwkwardNet(torch.nn.Module):
    """Two layers that share one weight, in float64: inputs [B, d] -> hidden [B, h] -> outputs [B, d].

    seed: of the weights, so that two processes can build the same model. awkward: with a frozen layer between the two,
    and a parameter that no output depends on; without it, every parameter gets a gradient. record: called with the
    inputs of each forward pass, also of a copy of the model.
    """

    def __init__(
        self,
        seed: int,
        width: int = 3,
        hidden: int = 4,
        *,
        awkward: bool = True,
        record: Callable[[torch.Tensor], None] | None = None,
    ) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)

        def parameter(*shape: int, trained: bool = True) -> torch.nn.Parameter:
            values = torch.randn(shape, generator=generator, dtype=torch.float64)
            return torch.nn.Parameter(values, requires_grad=trained)

        self.weight, self.bias = parameter(hidden, width), parameter(hidden)
        self.frozen = parameter(hidden, hidden, trained=False) if awkward else None
        self.unused = parameter(2) if awkward else None
        self.record = record

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """inputs [B, d] -> outputs [B, d]."""
        if self.record is not None:
            self.record(inputs)
        hidden = torch.tanh(inputs @ self.weight.T + self.bias)
        if self.frozen is not None:
            hidden = torch.tanh(hidden @ self.frozen)
        return hidden @ self.weight


def draw_awkward_problem(rng: random.Random, sizes: Sequence[int], loss: str, *, awkward: bool) -> dict:
    """A model (by its seed), micro-batches of `sizes` samples and a loss, as plain JSON for a check's case.

    loss: "mse" (targets [B, 3]) or "cross_entropy" (class numbers [B]). The awkward model starts with `left_over`, a
    gradient of `weight` and `bias` in one row.
    """

    def rows(count: int) -> list[list[float]]:
        return [[exact(rng.uniform(-1, 1)) for _ in range(3)] for _ in range(count)]

    targets = [rows(size) if loss == "mse" else [rng.randrange(3) for _ in range(size)] for size in sizes]
    left_over = [exact(rng.uniform(-1, 1)) for _ in range(16)] if awkward else []
    problem = {"seed": rng.randrange(2**31), "awkward": awkward, "left_over": left_over}
    return problem | {"loss": loss, "inputs": [rows(size) for size in sizes], "targets": targets}


def build_model(problem: dict, record: Callable[[torch.Tensor], None] | None = None) -> AwkwardNet:
    """The model of a problem, with what is left over in `.grad`."""
    model = AwkwardNet(problem["seed"], awkward=problem["awkward"], record=record)
    if problem["left_over"]:
        left_over = torch.tensor(problem["left_over"], dtype=torch.float64)
        model.weight.grad, model.bias.grad = left_over[:12].reshape(4, 3).clone(), left_over[12:].clone()
    return model


def loss_function(problem: dict) -> torch.nn.Module:
    """The loss of a problem: the mean over its batch."""
    return {"mse": torch.nn.MSELoss, "cross_entropy": torch.nn.CrossEntropyLoss}[problem["loss"]]()


def micro_batches(problem: dict) -> list[Batch]:
    """The micro-batches of a problem, as pairs (inputs, targets)."""
    kind = torch.float64 if problem["loss"] == "mse" else torch.int64
    pairs = zip(problem["inputs"], problem["targets"], strict=True)
    return [(torch.tensor(inputs, dtype=torch.float64), torch.tensor(targets, dtype=kind)) for inputs, targets in pairs]


def mean_gradient(problem: dict, batches: Sequence[Batch]) -> torch.Tensor:
    """Gradient of the mean loss over `batches` taken as one batch, by autograd: `weight` and `bias` in one row."""
    model = build_model(problem)
    inputs, targets = (torch.cat(parts) for parts in zip(*batches, strict=True))
    loss = loss_function(problem)(model(inputs), targets)
    return torch.cat([grad.flatten() for grad in torch.autograd.grad(loss, [model.weight, model.bias])])


def gradient_mistakes(problem: dict, gradient: Sequence[float | None]) -> list[tuple[str, str]]:
    """What is wrong with a gradient of `weight` and `bias` in one row, of which the mean over all samples is due.

    Returns keys of mistakes, each with a sentence: how much of each micro-batch, and of what lay in `.grad` before, is
    in it. None stands for a number that is not finite.
    """
    batches, left_over = micro_batches(problem), problem["left_over"]
    got = torch.tensor([math.nan if each is None else each for each in gradient], dtype=torch.float64)
    due = mean_gradient(problem, batches)
    if bool(((got - due).abs() <= TOLERANCE * due.abs().max()).all()):
        return []
    parts = [mean_gradient(problem, [batch]) for batch in batches]
    if left_over:
        parts.append(torch.tensor(left_over, dtype=torch.float64))
    weights = shares.weights_of(got, parts)
    if weights is None:
        text = "`.grad` is no sum of the micro-batches' gradients at these parameters, however each is weighted."
        return [("wrong-gradient", text)]
    found = []
    if left_over and abs(weights[-1]) > 1e-3:
        found = [("gradient-carried-over", "The gradient that lay in `.grad` before the call is still in it.")]
    sizes, weights = [len(inputs) for inputs, _ in batches], weights[: len(batches)]
    if bool((weights.abs() <= 1e-3).all()):
        return [*found, ("no-gradient", "`.grad` holds nothing of any micro-batch.")]
    key = shares.averaging_mistake(weights, sizes)
    if key or not found:  # weights that are almost right are wrong, too
        counts = ", ".join(f"{round(weight, 3) + 0:g}" for weight in weights.tolist())
        text = f"Micro-batches of {', '.join(map(str, sizes))} samples: their mean gradients count {counts} times."
        found.append((key or "wrong-weights", f"{text} That is {shares.MISTAKES[key or 'wrong-weights']}."))
    return found
