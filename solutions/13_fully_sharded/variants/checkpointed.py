"""Right answers to `checkpointed`, and mistakes that people make."""

ANSWERS = """
== with_autograd_grad
import torch
def checkpointed(layer, x):
    ps = list(layer.parameters())
    class Again(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, *ps):
            ctx.x = x.detach()
            ctx.state = torch.get_rng_state()
            with torch.no_grad():
                return layer(x)
        @staticmethod
        def backward(ctx, dy):
            before = torch.get_rng_state()
            torch.set_rng_state(ctx.state)
            with torch.enable_grad():
                x = ctx.x.requires_grad_(True)
                y = layer(x)
            torch.set_rng_state(before)
            return torch.autograd.grad(y, [x, *ps], dy)
    return Again.apply(x, *ps)
== with_one_dummy
import torch
def checkpointed(layer, x):
    class Again(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, dummy):
            ctx.x, ctx.state = x, torch.get_rng_state()
            return layer(x)
        @staticmethod
        def backward(ctx, dy):
            x = ctx.x.detach().requires_grad_()
            with torch.enable_grad(), torch.random.fork_rng():
                torch.set_rng_state(ctx.state)
                torch.autograd.backward(layer(x), dy)
            return x.grad, None
    return Again.apply(x, torch.ones((), requires_grad=True))
== state_among_the_saved < with_one_dummy
            ctx.x, ctx.state = x, torch.get_rng_state() >>>             ctx.save_for_backward(x, torch.get_rng_state())
            x = ctx.x.detach().requires_grad_() >>>             x, state = ctx.saved_tensors\\n            x = x.detach().requires_grad_()
torch.set_rng_state(ctx.state) >>> torch.set_rng_state(state)
== x_only: no-gradient-without-x, recomputed < with_one_dummy
, dummy): >>> ):
            return x.grad, None >>>             return x.grad
, torch.ones((), requires_grad=True)) >>> )
== no_grad_again: not-watched, recomputed < with_one_dummy
torch.enable_grad(), >>>
== detached: parameters-without-gradients, recomputed
import torch
def checkpointed(layer, x):
    with torch.no_grad():
        y = layer(x)
    return x + (y - x).detach() if y.shape == x.shape else y.detach() + 0 * x.sum()
== gradient_dropped: gradient-of-x-missing, recomputed < with_one_dummy
            return x.grad, None >>>             return None, None
== not_detached: gradient-of-x-twice, recomputed < with_one_dummy
ctx.x.detach().requires_grad_() >>> ctx.x
== turned_gradient: another-value, recomputed < with_one_dummy
            return x.grad, None >>>             return -x.grad, None
== both_ways: gradients-added-twice, recomputed < with_autograd_grad
            return torch.autograd.grad(y, [x, *ps], dy) >>>             found = torch.autograd.grad(y, [x, *ps], dy, retain_graph=True)\\n            torch.autograd.backward(y, dy, inputs=ps)\\n            return found
== plain_call: results-kept, recomputed
def checkpointed(layer, x):
    return layer(x)
== graph_kept: results-kept, recomputed
import torch
def checkpointed(layer, x):
    class Again(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, dummy):
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.y = layer(ctx.x)
            return ctx.y.detach()
        @staticmethod
        def backward(ctx, dy):
            ctx.y.backward(dy)
            return ctx.x.grad, None
    return Again.apply(x, torch.ones((), requires_grad=True))
== called_twice_ahead: never-recomputed, recomputed < with_one_dummy
            return layer(x) >>>             layer(x)\\n            torch.set_rng_state(ctx.state)\\n            return layer(x)
== by_the_library: library-called, recomputed
import torch.utils.checkpoint
def checkpointed(layer, x):
    return torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)
== other_dropout: other-random-numbers, dropout < with_one_dummy
                torch.set_rng_state(ctx.state)\\n >>>
== set_back: random-numbers-set-back, dropout < with_one_dummy
torch.enable_grad(), torch.random.fork_rng() >>> torch.enable_grad()
== gradient_of_ones: another-value, recomputed < with_one_dummy
torch.autograd.backward(layer(x), dy) >>> layer(x).sum().backward()
== rounded: float32, mixed < with_one_dummy
            return layer(x)\\n >>>             return layer(x).float().double()\\n
== nothing: another-kind, recomputed
def checkpointed(layer, x):
    layer(x)
== by_the_bound_name: library-called, reader
from torch.utils.checkpoint import checkpoint
def checkpointed(layer, x):
    return checkpoint(layer, x, use_reentrant=False)
== forward_in_a_fork: random-numbers-set-back, reader < with_one_dummy
            return layer(x)\\n >>>             with torch.random.fork_rng():\\n                return layer(x)\\n
== state_set_after_forward: random-numbers-set-back, reader < with_one_dummy
            return layer(x)\\n >>>             y = layer(x)\\n            torch.set_rng_state(ctx.state)\\n            return y\\n
== gradients_replaced: another-value, reader < with_autograd_grad
            return torch.autograd.grad(y, [x, *ps], dy) >>>             found = torch.autograd.grad(y, [x, *ps], dy)\\n            for p, own in zip(ps, found[1:]):\\n                p.grad = own\\n            return found[0], *[None for _ in ps]
== x_made_to_need_one: x-needs-a-gradient, reader < with_one_dummy
    return Again.apply(x, >>>     return Again.apply(x.requires_grad_(),
"""
