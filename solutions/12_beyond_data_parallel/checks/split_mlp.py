"""What a split MLP has, gives and sums, by rank, right and wrong: worked out in one process."""

import torch
from torch.nn.functional import linear

from autograde.rubric import once

from ..shared.mlps import input_of, mlp_of, upstream_of
from .groups import members_of


@once
def whole(call):
    """The MLP, its input and its output, after a pass in each direction."""
    mlp, x = mlp_of(call.arguments), input_of(call.arguments).requires_grad_()
    y = mlp(x)
    y.backward(upstream_of(call.arguments))
    return mlp, x, y.detach()


def by_size(call):
    """On how many ranks it is."""
    return len(members_of(call))


def split(call):
    """By rank, its hidden units."""
    return torch.arange(call.arguments["sizes"][1]).tensor_split(by_size(call))


def parts(call, tensors, shares):
    """By rank, its part of (w1, b1, w2, b2)."""
    w1, b1, w2, b2 = (each.detach() for each in tensors)
    return [{"w1": w1[own], "b1": b1[own], "w2": w2[:, own], "b2": b2} for own in shares]


def every_nth(call):
    """By rank, every n-th hidden unit."""
    n = by_size(call)
    return [torch.arange(call.arguments["sizes"][1])[rank::n] for rank in range(n)]


def parameters(call, shares=None):
    """By rank. shares: its hidden units; None: those that are due."""
    return parts(call, whole(call)[0].parameters(), shares or split(call))


def gradients(call, factor=1.0, names=()):
    """By rank, the gradients of its parameters, and of x if that needs one. factor: times those of these names."""
    mlp, x, _ = whole(call)
    every = parts(call, [each.grad for each in mlp.parameters()], split(call))
    every = [{**own, "x": x.grad} if call.arguments["leaf"] else own for own in every]
    return [{name: each * (factor if name in names else 1.0) for name, each in own.items()} for own in every]


def outputs(call, of=lambda mlp, x, y, size: y):
    """On all ranks the same. of: the MLP, its input and its output, and on how many ranks."""
    mlp, x, y = whole(call)
    return [{"y": of(mlp, x.detach(), y, by_size(call)).detach()}] * by_size(call)


def giving(of):
    """For `changed`: what is returned on all ranks, see `outputs`."""
    return lambda call: outputs(call, of)


def hidden_part(call, own, x):
    """What a rank's hidden units add to the output, without the bias."""
    return linear(whole(call)[0][1](linear(x, own["w1"], own["b1"])), own["w2"])


def own_outputs(call):
    mlp, x, _ = whole(call)
    return [{"y": (hidden_part(call, own, x) + mlp[2].bias).detach()} for own in parameters(call)]


def own_gradients_of_x(call):
    """By rank, the gradients where that of x is what comes back through its own hidden units."""
    found = []
    for own, right in zip(parameters(call), gradients(call), strict=True):
        x = input_of(call.arguments).requires_grad_()
        hidden_part(call, own, x).backward(upstream_of(call.arguments))
        found.append({**right, "x": x.grad} if call.arguments["leaf"] else right)
    return found


def due(call):
    return {"construct": parameters, "forward": outputs, "backward": gradients}[call.arguments["way"]](call)


def sums(call):
    """How many all-reduces a pass may make; of the making of a part, nothing is asked."""
    way = call.arguments["way"]
    return () if way == "construct" else (0, 1) if way == "backward" and not call.arguments["leaf"] else (1,)


def bytes_summed(call):
    _, x, y = whole(call)
    return (y if call.arguments["way"] == "forward" else x).nbytes
