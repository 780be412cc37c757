"""What several TODOs of lab 10 share: the model as checkpoints and steps find it, its losses and gradients."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from autograde.fixtures.awkward_translator import AwkwardTranslator, Pair
from autograde.probes.checkpoint_files import as_plain
from course.models.sentences import PAD, collate, loss_fn

from .on_host import OnHost

Batch = tuple[Tensor, Tensor, Tensor]  # src, tgt_in, tgt_out
STEPS = 2  # that the optimizer has made, so that it has a state of its own
STEEP = 40.0  # by which logits are multiplied where gradients are to be large


class SteepTranslator(AwkwardTranslator):
    """An AwkwardTranslator whose gradients are so large that clipping them to the usual norm of 1 changes them."""

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """src [B, S], tgt_in [B, T] -> logits [B, T, VOCABULARY]."""
        return STEEP * super().forward(src, tgt_in)


def host_batch(pairs: Sequence[Pair]) -> Batch:
    """What `collate` makes of the pairs, as tensors that know whether they were moved; see `OnHost`."""
    return tuple(tensor.as_subclass(OnHost) for tensor in collate(pairs))


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
    return DistributedDataParallel(kind(case["seed"] + rank, norm=case["norm"]).to(group_device()))


def after_steps(seed: int, kind: str, steps: int = STEPS) -> tuple[AwkwardTranslator, torch.optim.Optimizer]:
    """A model, on the device of the process group if there is one, and its optimizer after some steps.

    kind: "momentum" for SGD, or "adam". Learning rate, weights and gradients come from `seed` alone.
    """
    model = AwkwardTranslator(seed, norm=True).to(group_device())
    lr = 0.01 * (seed % 9 + 1)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if kind == "momentum":
        optimizer: torch.optim.Optimizer = torch.optim.SGD(parameters, lr, momentum=0.9)
    else:
        optimizer = torch.optim.AdamW(parameters, lr)
    generator = torch.Generator().manual_seed(seed + 1)
    for _ in range(steps):
        for parameter in parameters:
            drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.grad = drawn.to(parameter.device)
        optimizer.step()
    optimizer.zero_grad()
    return model, optimizer


def group_device() -> torch.device:
    """Where the default process group has its tensors; the CPU where there is no group."""
    on_gpu = dist.is_initialized() and dist.get_backend() == "nccl"
    return torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")


def state_of(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict:
    """What a checkpoint of these holds beside the epoch, as plain JSON. model: not wrapped."""
    return as_plain({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
