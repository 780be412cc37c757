"""What probes of distributed training run on the ranks: the student's function, with an AwkwardTranslator.

Each function gets a case as plain JSON and gives plain JSON. Whoever judges builds the same model from the case's seed.
"""

from __future__ import annotations

import os
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from autograde.probes import described, meet, nothing_starts_or_ends
from course.awkward_translator import AwkwardTranslator, state_row
from course.checkpointed import group_device
from course.ddp_trace import recorded_wrapping, trace_passes, watch_buffers
from course.sentences import PAD, collate, loss_fn

MOST = 400  # entries of a trace that are told


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


def wrapped(case: dict, rank: int) -> DistributedDataParallel:
    """The case's model, wrapped; before that, every rank has other weights."""
    torch.manual_seed(1000 + rank)
    return DistributedDataParallel(AwkwardTranslator(case["seed"] + rank, norm=case["norm"]).to(group_device()))


def loader_run(subject: Any, case: dict, rank: int) -> dict:
    """Runs on each rank: what the student's loader yields in each epoch. The ranks play those of two nodes."""
    os.environ["LOCAL_RANK"] = str(rank % 2)
    torch.manual_seed(rank)
    make_loader = subject.load(collate=collate, PAD=PAD, loss_fn=loss_fn)
    loader = make_loader([(source, target) for source, target in case["pairs"]], case["batch_size"], case["seed"])
    epochs: list = []
    try:
        for epoch in case["epochs"]:
            getattr(loader.sampler, "set_epoch", lambda epoch: None)(epoch)
            epochs.append([])
            for src, tgt_in, tgt_out in loader:
                tensors = (src, tgt_in, tgt_out)
                if any(tensor.dim() != 2 or tensor.dtype != torch.int64 for tensor in tensors):
                    raise TypeError(f"{[(tensor.dtype, list(tensor.shape)) for tensor in tensors]}")
                epochs[-1].append([tensor.tolist() for tensor in tensors])
    except Exception as error:
        return {"epochs": None, "problem": f"{type(error).__name__}: {error}"}
    return {"epochs": epochs, "problem": None}


def wrapping_run(subject: Any, case: dict, rank: int) -> dict:
    """Runs on each rank: `parallelize` for the CPU, with one backward pass, or for a GPU that is not there."""
    os.environ["LOCAL_RANK"] = str(rank % 2)
    played = rank % 2 if case["played"] else None
    device = torch.device("cuda", played) if case["played"] else group_device()
    model = AwkwardTranslator(case["seed"] + rank, norm=True)
    calls: list[dict] = []
    seen = {"calls": calls, "kind": "", "fits": False, "device": str(device), "refused": False}
    seen |= {"parameters": None, "gradient": None}
    parallelize = subject.load()
    with recorded_wrapping(calls, played):
        try:
            returned = parallelize(model, device)
        except ValueError:  # what DistributedDataParallel raises for device_ids that do not fit
            if not any(call["device_ids"] for call in calls):
                raise
            return seen | {"refused": True}
    seen["kind"], seen["fits"] = type(returned).__name__, getattr(returned, "module", None) is model
    seen["fits"] &= isinstance(returned, DistributedDataParallel)
    if played is None and seen["fits"]:
        src, tgt_in, tgt_out = (tensor.to(device) for tensor in collate(case["pairs"][rank]))
        loss_fn(returned(src, tgt_in), tgt_out).backward()
        seen |= {"parameters": state_row(model), "gradient": gradient_row(model)}
    return seen


def step_run(subject: Any, case: dict, comm: Any) -> dict:
    """Runs on each rank: some steps of plain SGD, each with something in `.grad` beforehand."""
    model = wrapped(case, comm.rank)
    optimizer = torch.optim.SGD(trained(model), lr=case["lr"])
    trace, calls, tried = trace_passes(model, optimizer), [], []
    model.eval()
    with nothing_starts_or_ends(tried):
        train_step = subject.load(PAD=PAD, collate=collate, loss_fn=loss_fn)
        for batches in case["calls"]:
            fill_gradients(model, left_in_grad(case, comm.rank, sum(each.numel() for each in trained(model))))
            trace.clear()
            if calls:
                meet(comm)
            value = train_step(model, [collate(pairs) for pairs in batches[comm.rank]], optimizer, loss_fn)
            seen = {"result": described(value), "parameters": state_row(model.module)}
            calls.append(seen | {"trace": trace[:MOST]})
    return {"calls": calls}


def validation_run(subject: Any, case: dict, comm: Any) -> dict:
    """Runs on each rank: validation, of a model that comes in one mode and then in the other."""
    model = wrapped(case, comm.rank)
    watch_buffers(model)
    trace, calls, tried = trace_passes(model), [], []
    count = sum(each.numel() for each in trained(model))
    with nothing_starts_or_ends(tried):
        validate = subject.load(PAD=PAD, collate=collate, loss_fn=loss_fn)
        for mode in case["modes"]:
            model.train(mode == "train")
            fill_gradients(model, left_in_grad(case, comm.rank, count))
            trace.clear()
            if calls:
                meet(comm)
            loader = DataLoader(case["shares"][comm.rank], case["batch_size"], collate_fn=collate)
            seen = {"result": described(validate(model, loader, loss_fn)), "trace": trace[:MOST]}
            seen |= {"mode": "train" if model.training and model.module.training else "eval"}
            calls.append(seen | {"state": whole_state(model.module), "gradient": gradient_row(model)})
    return {"calls": calls}
