"""The model of the checks of lab 10, its gradients, and what lies in `.grad` before a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from autograde.fixtures.awkward_translator import AwkwardTranslator
from course.models.translator.sentences import PAD, collate, loss_fn

GIVEN: Mapping[str, Any] = {"PAD": PAD, "collate": collate, "loss_fn": loss_fn}  # what the lab gives by name
STEEP = 40.0  # by which logits are multiplied where gradients are to be large


def given_names(rank: Any, case: dict) -> dict[str, Any]:
    """What a student's cell finds by name where it needs no more than the lab gives."""
    return {**GIVEN}


class SteepTranslator(AwkwardTranslator):
    """An AwkwardTranslator whose gradients are so large that clipping them to the usual norm of 1 changes them."""

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """src [B, S], tgt_in [B, T] -> logits [B, T, VOCABULARY]."""
        return STEEP * super().forward(src, tgt_in)


def token_loss(model: nn.Module, batch: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, int, int]:
    """The loss of a batch summed over its tokens, how many these are, and how many with padding."""
    source, shifted, target = batch
    return loss_fn(model(source, shifted), target), int((target != PAD).sum()), target.numel()


def trained(model: nn.Module) -> list[nn.Parameter]:
    """The parameters that are not frozen."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def gradients_of(model: nn.Module) -> Tensor:
    """All gradients of the trained parameters, [d]; 0 where there is none."""
    grads = [torch.zeros_like(each) if each.grad is None else each.grad for each in trained(model)]
    return torch.cat([grad.detach().flatten() for grad in grads])


def parameters_of(model: nn.Module) -> Tensor:
    """All parameters in a row, frozen ones too."""
    return torch.cat([each.detach().flatten() for each in model.parameters()])


def state_of(model: nn.Module) -> Tensor:
    """All parameters and buffers in a row of float64."""
    return torch.cat([value.detach().flatten().double() for value in model.state_dict().values()])


def left_in_grad(seed: int, rank: int, model: nn.Module) -> Tensor:
    """What lies in `.grad` of a rank before a call, [d]."""
    generator = torch.Generator().manual_seed(seed + 31 * rank)
    return torch.randn(sum(each.numel() for each in trained(model)), generator=generator, dtype=torch.float64)


def fill_gradients(model: nn.Module, numbers: Tensor) -> None:
    """Put `numbers` [d] into `.grad` of the trained parameters."""
    for parameter, own in zip(trained(model), numbers.split([each.numel() for each in trained(model)]), strict=True):
        parameter.grad = own.reshape(parameter.shape).to(parameter.device)
