"""The simulated GPU against torch's rules: small programs, and what each does on a machine with a GPU."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from course.simulated.gpu.block import gpu, simulated_gpu

CPU, CUDA, REFUSED, NOT_AN_ARRAY = "cpu", "cuda", "refused", "not an array"

# Program: what it gives on a GPU. c, c0, ci: on the CPU [2, 2], [] and int64 [2]; g, g0, gi: the same on the GPU.
PROGRAMS = {
    "g": CUDA,
    "c": CPU,
    "g + g": CUDA,
    "g + c": REFUSED,
    "c + g": REFUSED,
    "g + c0": CUDA,
    "c0 + g": CUDA,
    "g0 + c0": CUDA,
    "c + g0": REFUSED,
    "g * 2": CUDA,
    "2 - g": CUDA,
    "g == c": REFUSED,
    "g == c0": CUDA,
    "g.add_(c0)": CUDA,
    "c0.clone().add_(g0)": REFUSED,
    "c.clone().add_(g)": REFUSED,
    "g.clone().add_(c)": REFUSED,
    "torch.add(g, g, out=torch.empty(2, 2))": REFUSED,
    "g @ c": REFUSED,
    "g @ g": CUDA,
    "torch.mm(c, g)": REFUSED,
    "F.linear(g, c)": REFUSED,
    "F.linear(c, g)": REFUSED,
    "F.linear(g, g, c[0])": REFUSED,
    "F.cross_entropy(g, ci)": REFUSED,
    "F.cross_entropy(g, gi)": CUDA,
    "F.cross_entropy(c, gi)": REFUSED,
    "F.mse_loss(g, c)": REFUSED,
    "F.embedding(ci, g)": REFUSED,
    "F.embedding(gi, c)": REFUSED,
    "F.embedding(gi, g)": CUDA,
    "F.layer_norm(g, (2,), c[0])": REFUSED,
    "F.batch_norm(g, c[0], g[1], training=False)": REFUSED,
    "F.scaled_dot_product_attention(g[None], g[None], c[None])": REFUSED,
    "torch.cat([g, c])": REFUSED,
    "torch.stack([g0, c0])": REFUSED,
    "torch.stack([g, g])": CUDA,
    "torch.where(g > 0, g, c)": "not known",
    "torch.where(g > 0, g, 0.0)": CUDA,
    "g[ci]": CUDA,
    "g[gi]": CUDA,
    "c[gi]": REFUSED,
    "g[c > 0]": CUDA,
    "put(g.clone(), ci, g)": CUDA,
    "put(g.clone(), gi, c)": REFUSED,
    "put(g.clone(), gi, c0)": CUDA,
    "put(c.clone(), gi, c)": REFUSED,
    "put(c.clone(), ci, g)": REFUSED,
    "g.gather(0, ci[None])": REFUSED,
    "g.index_select(0, ci)": REFUSED,
    "g.masked_fill(c > 0, 1.0)": REFUSED,
    "g.masked_fill(g > 0, c0)": CUDA,
    "torch.equal(g, c)": REFUSED,
    "c.clone().copy_(g)": CPU,
    "g.clone().copy_(c)": CUDA,
    "g.cpu()": CPU,
    "g.cpu() + c": CPU,
    "c.cuda() + g": CUDA,
    "c.to(device) + g": CUDA,
    "c.to(g) + g": CUDA,
    "c.to('cuda')": CUDA,
    "c.to(device=device, dtype=torch.float64)": CUDA,
    "g.to('cpu', torch.float64)": CPU,
    "g.double()": CUDA,
    "g.to(torch.float64)": CUDA,
    "g.T.reshape(-1)": CUDA,
    "g.detach()": CUDA,
    "g.clone().requires_grad_().detach()": CUDA,
    "copy.deepcopy(g)": CUDA,
    "torch.zeros(2)": CPU,
    "torch.zeros(2, device='cuda')": CUDA,
    "torch.zeros(2, device=device)": CUDA,
    "torch.tensor([1.0], device=device)": CUDA,
    "torch.tensor([g0.item()])": CPU,
    "torch.zeros_like(g)": CUDA,
    "torch.zeros_like(g, device='cpu')": CPU,
    "g.new_zeros(2)": CUDA,
    "g.new_tensor([1.0])": CUDA,
    "torch.full_like(c, 1.0, device=device)": CUDA,
    "torch.arange(2, device=g.device)": CUDA,
    "torch.from_numpy(np.ones(2))": CPU,
    "g.numpy()": NOT_AN_ARRAY,
    "np.asarray(g)": NOT_AN_ARRAY,
    "np.asarray(g.cpu())": "ndarray",
    "g.tolist()": "list",
    "g0.item()": "float",
    "float(g0)": "float",
    "g.is_cuda": True,
    "c.is_cuda": False,
    "g.device.type": "cuda",
    "g.get_device() == g.device.index": True,
    "c.get_device()": -1,
    "torch.cuda.is_available()": True,
    "torch.device('cuda', torch.cuda.current_device()) == g.device": True,
    '"device=\'cuda:" in repr(g)': True,
    "g.sum() / len(g)": CUDA,
    "g.max(1).indices": CUDA,
    "(g.argmax(1) == ci).sum()": REFUSED,
    "(g.argmax(1).cpu() == ci).sum()": CPU,
    "F.dropout(g)": CUDA,
    "grad_of(g, g)": CUDA,
    "grad_of(c, c)": CPU,
    "grad_of(g, c0)": CUDA,
    "torch.nn.Linear(2, 2)(g)": REFUSED,
    "torch.nn.Linear(2, 2).to(device)(g)": CUDA,
    "torch.nn.Linear(2, 2, device=device)(g)": CUDA,
    "torch.nn.Linear(2, 2).cuda().cpu()(c)": CPU,
    "copy.deepcopy(torch.nn.Linear(2, 2).to(device))(g)": CUDA,
    "torch.nn.MultiheadAttention(2, 1).to(device)(g, g, g)[0]": CUDA,
    "torch.isin(g, c)": "not known",
    "trained(torch.optim.SGD, momentum=0.9)": CUDA,
    "trained(torch.optim.AdamW)": CUDA,
    "trained(torch.optim.Adam, foreach=False)": CUDA,
    "clipped()": CUDA,
}


def put(tensor: torch.Tensor, index: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """`tensor`, of which some rows are others now."""
    tensor[index] = values
    return tensor


def grad_of(tensor: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    """The gradient of a sum."""
    leaf = tensor.clone().requires_grad_()
    (leaf * factor).tanh().sum().backward()
    return leaf.grad + leaf.detach()


def model_with_gradients() -> torch.nn.Module:
    """A model on the GPU, after a backward pass."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 2)).cuda()
    F.cross_entropy(model(torch.ones(2, 2, device="cuda")), torch.tensor([0, 1]).cuda()).backward()
    return model


def trained(kind: type, **options: object) -> torch.Tensor:
    """A weight after two steps of an optimizer."""
    model = model_with_gradients()
    optimizer = kind(model.parameters(), lr=0.1, **options)
    for _ in range(2):
        optimizer.step()
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    optimizer.step()
    return model[0].weight


def clipped() -> torch.Tensor:
    """The norm of a model's gradients."""
    return torch.nn.utils.clip_grad_norm_(model_with_gradients().parameters(), 0.1)


def outcome(program: str, block) -> object:
    """What becomes of a program: the kind of device that its result is on, its type, or how it is refused."""
    c, c0, ci = torch.arange(4.0).reshape(2, 2), torch.tensor(2.0), torch.tensor([0, 1])
    with block as device:
        names = {"c": c, "c0": c0, "ci": ci, "device": device, "torch": torch, "F": F, "np": np, "copy": copy}
        names |= {"g": c.to(device), "g0": c0.to(device), "gi": ci.to(device)}
        names |= {each.__name__: each for each in (put, grad_of, trained, clipped)}
        try:
            result = eval(program, names)
        except TypeError as error:
            assert "can't convert cuda" in str(error)
            return NOT_AN_ARRAY
        except RuntimeError as error:
            assert any(word in str(error) for word in ("same device", "different devices")), error
            return REFUSED
        if isinstance(result, torch.Tensor):
            return result.device.type
        return result if isinstance(result, (bool, int, str)) else type(result).__name__


@pytest.mark.parametrize(("program", "expected"), [each for each in PROGRAMS.items() if each[1] != "not known"])
def test_a_program_does_what_it_does_on_a_gpu(program, expected):
    """On the machine's own GPU, too, where there is one: then it holds the table against torch itself."""
    assert outcome(program, simulated_gpu(1, 2)) == expected
    assert outcome(program, gpu(1, 2)) == expected


@pytest.mark.parametrize("program", [program for program, expected in PROGRAMS.items() if expected == "not known"])
def test_what_is_not_known_is_never_refused(program):
    assert outcome(program, simulated_gpu()) in (CPU, CUDA)


def test_afterwards_all_is_as_before():
    before = torch.cuda.is_available(), torch.cuda.device_count(), torch.get_default_device
    with simulated_gpu(1, 2):
        assert torch.cuda.device_count() == 2
        torch.cuda.set_device(0)
        assert torch.zeros(1, device="cuda").device == torch.device("cuda", 0)
    assert (torch.cuda.is_available(), torch.cuda.device_count(), torch.get_default_device) == before
    assert torch.ones(2).device.type == "cpu"


def test_the_numbers_are_those_of_the_cpu():
    torch.manual_seed(0)
    weights, inputs = torch.randn(3, 3), torch.randn(4, 3)
    with simulated_gpu() as device:
        moved = inputs.to(device) @ weights.to(device)
        assert moved.device == device
        moved = moved.cpu()
    assert torch.equal(moved, inputs @ weights)
    with simulated_gpu() as device:
        copied = inputs.to(device)
        copied.zero_()
    assert inputs.any()
