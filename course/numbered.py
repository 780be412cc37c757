"""Samples that can be told apart, and a small model that notes which of them it is shown.

For the checks of training code on several ranks: what a rank drew, and in which mode its model was, is read off the
model's own inputs, whoever made the batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import Dataset, Sampler

FEATURES, HIDDEN, CLASSES = 3, 4, 3

# Numbers in each entry of a NumberedNet's state dict.
SIZES = {"weight": 12, "bias": 4, "frozen": 16, "unused": 2, "norm.weight": 4, "norm.bias": 4}
BUFFERS = {"norm.running_mean": 4, "norm.running_var": 4, "norm.num_batches_tracked": 1}
TRAINED = (
    "weight",
    "bias",
    "norm.weight",
    "norm.bias",
)  # parameters that the output depends on, and that are not frozen


class NumberedSet(Dataset):
    """`count` samples (float32 [1 + FEATURES], int): the first feature is the sample's number, the others are noise.

    seed: of noise and labels, so that two processes have the same. labels: instead of random ones. first: the number of
    sample 0, where two sets are to be told apart.
    """

    def __init__(self, count: int, seed: int, labels: Sequence[int] | None = None, first: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(count, FEATURES, generator=generator)
        self.inputs = torch.cat([torch.arange(float(first), float(first + count))[:, None], noise], 1)
        drawn = torch.randint(CLASSES, (count,), generator=generator).tolist()
        self.labels = drawn if labels is None else list(labels)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.inputs[index].clone(), self.labels[index]

    def batch(self, ids: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs [B, 1 + FEATURES] and labels [B] of some samples."""
        return self.inputs[list(ids)], torch.tensor([self.labels[number] for number in ids])


def ids_of(inputs: torch.Tensor) -> list[int]:
    """The numbers of the samples in a batch of inputs [B, 1 + FEATURES]."""
    return [int(number) for number in inputs.reshape(len(inputs), -1)[:, 0].tolist()]


class NumberedNet(torch.nn.Module):
    """Inputs [B, 1 + FEATURES] of a NumberedSet -> logits [B, CLASSES], in float64 whatever the inputs are.

    Two layers share a weight; between them are a BatchNorm and a frozen layer; no output depends on `unused`.
    seed: of all parameters and buffers. follows: how fast the BatchNorm's buffers follow the batches. dropout: share
    that is dropped in train mode. record: called with the model and the batch's ids at each forward pass.
    """

    def __init__(
        self,
        seed: int,
        *,
        follows: float = 0.1,
        dropout: float = 0.0,
        record: Callable[[NumberedNet, list[int]], None] | None = None,
    ) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)

        def values(*shape: int) -> torch.Tensor:
            return torch.randn(shape, generator=generator, dtype=torch.float64)

        self.weight = torch.nn.Parameter(values(HIDDEN, FEATURES))
        self.bias = torch.nn.Parameter(values(HIDDEN))
        self.frozen = torch.nn.Parameter(values(HIDDEN, HIDDEN), requires_grad=False)
        self.unused = torch.nn.Parameter(values(2))
        self.norm = torch.nn.BatchNorm1d(HIDDEN, momentum=follows, dtype=torch.float64)
        self.dropout = torch.nn.Dropout(dropout)
        with torch.no_grad():
            self.norm.weight.copy_(1 + 0.3 * values(HIDDEN))
            self.norm.bias.copy_(0.3 * values(HIDDEN))
            self.norm.running_mean.copy_(0.5 * values(HIDDEN))
            self.norm.running_var.copy_(0.5 + values(HIDDEN) ** 2)
            self.norm.num_batches_tracked.fill_(int(torch.randint(1000, (), generator=generator)))
        self.record = record

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """inputs [B, 1 + FEATURES] -> logits [B, CLASSES]."""
        if self.record is not None:
            self.record(self, ids_of(inputs))
        hidden = torch.tanh(inputs[:, 1:].double() @ self.weight.T + self.bias)
        hidden = torch.tanh(self.dropout(self.norm(hidden)) @ self.frozen)
        return 2 * hidden @ self.weight


def state_of(model: torch.nn.Module) -> dict[str, list[float]]:
    """A model's state dict as plain numbers."""
    return {name: values.detach().double().flatten().tolist() for name, values in model.state_dict().items()}


def vector_of(state: Mapping[str, Sequence[float | None]], names: Sequence[str] = TRAINED) -> torch.Tensor:
    """Some entries of what `state_of` gives in one row; NaN for what is not there or not finite."""
    row = [value for name in names for value in state.get(name) or [None]]
    return torch.tensor([float("nan") if value is None else value for value in row], dtype=torch.float64)


def leave_gradient(model: torch.nn.Module, dataset: NumberedSet, ids: Sequence[int]) -> None:
    """Let `.grad` of all parameters hold the gradient of the mean cross-entropy of some samples, by a backward pass."""
    for parameter in model.parameters():
        parameter.grad = None
    inputs, labels = dataset.batch(ids)
    cross_entropy(model(inputs), labels).backward()


class GivenOrder(Sampler[int]):
    """A sampler whose orders are known beforehand. It notes the epochs that it is told.

    orders: ids to draw in an epoch, by its number; `other` in any epoch else. `passes` lists, for each pass, the epoch
    told last before it, None where there is none.
    """

    def __init__(self, orders: Mapping[int, Sequence[int]], other: Sequence[int]) -> None:
        self.orders, self.other = orders, other
        self.told: list[int] = []
        self.passes: list[int | None] = []

    def set_epoch(self, epoch: int) -> None:
        """Note the epoch."""
        self.told.append(int(epoch))

    def __iter__(self) -> object:
        self.passes.append(self.told[-1] if self.told else None)
        return iter(self.orders.get(self.passes[-1], self.other))

    def __len__(self) -> int:
        return len(self.other)
