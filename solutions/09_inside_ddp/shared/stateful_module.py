"""A module with all kinds of parameters and buffers, and what is seen of them."""

from __future__ import annotations

from math import isfinite

import torch
from torch import nn

# The tensors of `StatefulModule`, by the names of `named_parameters` and `named_buffers`.
BY_COLUMNS = "turned"
TRAINED = ("weight", "turned", "norm.weight", "norm.bias")
FROZEN = ("frozen", "still")
SAVED = ("mask", "scale", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked")
UNSAVED = ("table",)
ALL = (*TRAINED, *FROZEN, *SAVED, *UNSAVED)


class StatefulModule(nn.Module):
    """Parameters of which some are frozen, one is used twice and one is stored by columns; buffers of several types, of
    which one is not saved. seed: of all numbers."""

    def __init__(self, seed: int, device: object = None) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)

        def drawn(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
            return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).to(device)

        self.weight = nn.Parameter(drawn(3, 2))
        self.turned = nn.Parameter(drawn(2, 4).T)
        self.frozen = nn.Parameter(drawn(3), requires_grad=False)
        self.still = nn.Parameter(drawn(2, dtype=torch.float16), requires_grad=False)
        self.norm = nn.BatchNorm1d(3).to(device)
        self.again = nn.Linear(2, 3, bias=False)
        self.again.weight = self.weight
        self.register_buffer("mask", drawn(9) > 0)
        self.register_buffer("scale", drawn(dtype=torch.float64))
        self.register_buffer("table", drawn(4), persistent=False)
        with torch.no_grad():
            for tensor in (self.norm.weight, self.norm.bias, self.norm.running_mean, self.norm.running_var):
                tensor.copy_(drawn(3))
            self.norm.num_batches_tracked.fill_(int(torch.randint(2**40, (), generator=generator)))

    def tensors(self) -> dict[str, torch.Tensor]:
        """All parameters and buffers, each once, by name."""
        return {**dict(self.named_parameters()), **dict(self.named_buffers())}


def numbers_by_name(module: StatefulModule) -> dict[str, list[float | None]]:
    """The numbers of all tensors; None stands for what is not finite."""
    rows = {name: tensor.detach().double().flatten().tolist() for name, tensor in module.tensors().items()}
    return {name: [each if isfinite(each) else None for each in row] for name, row in rows.items()}
