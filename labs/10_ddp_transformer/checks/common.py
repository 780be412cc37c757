"""What several TODOs of lab 10 share: the model as steps find it, its losses and gradients."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from autograde.fixtures.awkward_translator import AwkwardTranslator
from autograde.fixtures.stepped import group_device
from course.models.sentences import PAD, loss_fn

Batch = tuple[Tensor, Tensor, Tensor]  # src, tgt_in, tgt_out
STEEP = 40.0  # by which logits are multiplied where gradients are to be large


class SteepTranslator(AwkwardTranslator):
    """An AwkwardTranslator whose gradients are so large that clipping them to the usual norm of 1 changes them."""

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """src [B, S], tgt_in [B, T] -> logits [B, T, VOCABULARY]."""
        return STEEP * super().forward(src, tgt_in)


def token_loss(model: torch.nn.Module, batch: Batch) -> tuple[Tensor, int, int]:
    """The loss of a batch summed over its tokens, how many these are, and how many with padding."""
    src, tgt_in, tgt_out = batch
    return loss_fn(model(src, tgt_in), tgt_out), int((tgt_out != PAD).sum()), tgt_out.numel()


def trained(model: torch.nn.Module) -> list[torch.nn.Parameter]:
    """The parameters that are not frozen."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def gradient_row(model: torch.nn.Module) -> list[float]:
    """All gradients of the trained parameters; 0 where there is none."""
    grads = [torch.zeros_like(each) if each.grad is None else each.grad for each in trained(model)]
    return torch.cat([grad.flatten() for grad in grads]).tolist()


def whole_state(model: torch.nn.Module) -> list[float]:
    """All parameters and buffers in one list."""
    return [float(number) for value in model.state_dict().values() for number in value.flatten().tolist()]


def left_in_grad(case: dict, rank: int, count: int) -> torch.Tensor:
    """What lies in `.grad` of a rank before a call, [count]."""
    return torch.randn(count, generator=torch.Generator().manual_seed(case["seed"] + 31 * rank), dtype=torch.float64)


def fill_gradients(model: torch.nn.Module, numbers: torch.Tensor) -> None:
    """Put `numbers` into `.grad` of the trained parameters."""
    for parameter, own in zip(trained(model), numbers.split([each.numel() for each in trained(model)]), strict=True):
        parameter.grad = own.reshape(parameter.shape).to(parameter.device)


def wrapped(case: dict, rank: int, kind: type[AwkwardTranslator] = AwkwardTranslator) -> DistributedDataParallel:
    """The case's model, wrapped; before that, every rank has other weights."""
    torch.manual_seed(1000 + rank)
    device = group_device()
    ids = [device] if device.type == "cuda" else None
    return DistributedDataParallel(kind(case["seed"] + rank, norm=case["norm"]).to(device), device_ids=ids)
