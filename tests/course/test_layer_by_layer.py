"""A chain of layers whose passes a subclass surrounds: in order, with the gradients of the chain itself."""

from __future__ import annotations

import torch
from torch import nn

from course.models.layer_by_layer import LayerByLayer


class Told(LayerByLayer):
    """Writes down its passes."""

    def __init__(self, layers: list[nn.Module]) -> None:
        super().__init__(layers)
        self.own, self.passes = nn.Parameter(torch.zeros(1)), []

    def forward_pass(self, number, compute) -> None:
        self.passes.append(("forward", number))
        compute()

    def backward_pass(self, number, compute) -> None:
        assert self.layers[number].weight.grad is None
        compute()
        assert self.layers[number].weight.grad is not None
        self.passes.append(("backward", number))


def made() -> tuple[list[nn.Module], torch.Tensor]:
    torch.manual_seed(0)
    return [nn.Linear(3, 4), nn.Linear(4, 2)], torch.ones(5, 3)


def test_each_layer_makes_its_pass_in_both_directions_with_the_chains_own_gradients():
    (layers, x), (alone, _) = made(), made()
    model = Told(layers)
    y = model(x)
    y.square().sum().backward()
    nn.Sequential(*alone)(x).square().sum().backward()
    assert model.passes == [("forward", 0), ("forward", 1), ("backward", 1), ("backward", 0)]
    for one, other in zip(layers, alone, strict=True):
        assert torch.allclose(one.weight.grad, other.weight.grad)


def test_only_what_a_subclass_registers_is_a_parameter_and_the_gradient_of_x_comes_back():
    layers, x = made()
    model = Told(layers)
    assert [*model.parameters()] == [model.own]
    x.requires_grad_()
    model(x).sum().backward()
    assert torch.allclose(x.grad, (layers[1].weight @ layers[0].weight).sum(0).expand(5, 3))


def test_without_gradients_there_is_no_backward_pass():
    layers, x = made()
    with torch.no_grad():
        assert not Told(layers)(x).requires_grad
