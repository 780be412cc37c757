"""Bytes behind tensors, those that an optimizer keeps, and those that autograd keeps for the backward pass."""

from __future__ import annotations

import torch

from course.models.memory import kept_for_backward, memory, optimizer_memory


def test_what_views_share_counts_once_and_as_a_whole():
    whole = torch.zeros(100)
    assert memory([whole]) == 400
    assert memory([whole[:3], whole[50:], None]) == 400
    assert memory([whole[:3].clone(), torch.zeros(2, dtype=torch.float64)]) == 12 + 16
    assert memory([]) == 0


def test_an_optimizer_keeps_nothing_before_its_first_step():
    weight = torch.nn.Parameter(torch.zeros(10))
    weight.grad = torch.ones(10)
    plain, momentum = torch.optim.SGD([weight], 0.1), torch.optim.SGD([weight], 0.1, momentum=0.9)
    assert optimizer_memory(momentum) == 0
    plain.step()
    momentum.step()
    assert (optimizer_memory(plain), optimizer_memory(momentum)) == (0, 40)


def test_activations_are_what_the_backward_pass_needs_besides_parameters():
    layer, x = torch.nn.Linear(5, 7), torch.ones(3, 5)
    with kept_for_backward(without=layer.parameters()) as kept:
        y = layer(x).tanh()
    assert memory(kept) == 4 * (3 * 5 + 3 * 7), "the input of the layer, and the output of tanh"
    y.sum().backward()
    assert torch.allclose(layer.bias.grad, (1 - y**2).sum(0))


def test_nothing_is_kept_without_gradients():
    with torch.no_grad(), kept_for_backward() as kept:
        torch.nn.Linear(5, 7)(torch.ones(3, 5)).tanh()
    assert kept == []
