# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 13 Fully sharded
#
# After this lab you can
#
# - say what a [rank](GLOSSARY.md#rank), a process with a number, keeps for each parameter of a model, and what of it
#   [ZeRO](GLOSSARY.md#zero) shares out in each of its [stages](GLOSSARY.md#stage),
# - cut a layer's weights into [shards](GLOSSARY.md#shard), put them together just before the layer computes, and free
#   them right after,
# - leave each rank its own part of the mean gradient alone,
# - show that a model trained so has the losses of plain data parallel training, and count what that costs in bytes,
# - trade time for memory where [activations](GLOSSARY.md#activations) are what does not fit.
#
# The idea in one sentence: **{{idea}}**
#
# **Before you start.** {{needs}} From PyTorch: modules, parameters, and what `backward` leaves in `.grad`; from Python:
# classes, and what `with` does. You need not have done lab 12; its last section is the first step of what you do here.
#
# **Lecture.** [12 When the model does not fit](../../course/lectures/12_model_parallel.ipynb), section 6, shows sharded
# weights at work; [13 What fills a GPU](../../course/lectures/13_what_fills_a_gpu.ipynb) says when you need them.
#
# **Time:** about {{minutes}} minutes.
#
# Run the cells from top to bottom. Where a cell says `# YOUR CODE HERE`, replace that line and the one below it with
# your code and run the cell. The next cell runs your code on the ranks and tells you what it saw. Check as often as you
# like: nothing can break, even if your code hangs. Grading runs the same check on new numbers.
#
# Stuck? Below each check that has not passed yet, you can read how to unfold a hint. There are three for each TODO.
# They cost no points; your instructor sees how many are used.
#
# **Only the cell with your code is handed in and run: import in it what it uses.**
#
# Some cells are folded, as the next one is: what is in them is not what the lab is about. Run them like all others.

# %% folded=true
# Imports for the given cells: nothing to learn here.
import torch
import torch.distributed as dist
from IPython.display import display
from torch import nn

from autograde.notebook import Checker, needs
from course.models.memory import kept_for_backward, memory
from course.world import World

# %% [markdown]
# This cell starts the [world](GLOSSARY.md#world), which is four ranks that will run your code, and loads the checks:

# %%
world = World(4)
check = Checker(world)


def own_device() -> torch.device:
    """This rank's GPU, where the process group is one of GPUs; else the CPU."""
    if dist.get_backend() == "nccl":
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


# %% [markdown]
# ## 1. What a rank keeps
#
# Large models are trained in [mixed precision](GLOSSARY.md#mixed-precision): weights and gradients are bfloat16, with 2
# bytes each. But a bfloat16 has no more than three digits, and a training step changes most weights by less than that.
# So the optimizer adds its updates up in a copy of the weights in float32, the *[master
# weights](GLOSSARY.md#master-weight)*, of 4 bytes. And Adam keeps two numbers for each parameter, a mean of its
# gradients and one of their squares, in float32 as well.
#
# In data parallel training every rank keeps all of that. ZeRO ([Rajbhandari and others,
# 2020](https://arxiv.org/abs/1910.02054)) shares it out in three stages. Which is worth most?


# %% todo="memory_per_rank"
def memory_per_rank(parameters: int, ranks: int, stage: int) -> dict[str, float]:
    """Bytes that a rank keeps from step to step, by what they are for.

    parameters: how many the model has. ranks: how many train it. stage: of ZeRO, from
    0 to 3.
    Returns a dict with the keys "weights" and "gradients" (bfloat16), "optimizer"
    (Adam's two numbers, float32) and "master weights" (float32).
    A shard is 1 / ranks of the whole, not rounded.

    Example: 1000 parameters on 4 ranks in stage 1 are 2000, 2000, 2000 and 1000 bytes.
    """
    ### BEGIN SOLUTION
    size = {"weights": 2, "gradients": 2, "optimizer": 8, "master weights": 4}
    shared_from = {"weights": 3, "gradients": 2, "optimizer": 1, "master weights": 1}
    whole = {name: parameters * each for name, each in size.items()}
    shared = [name for name in whole if stage >= shared_from[name]]
    return whole | {name: whole[name] / ranks for name in shared}
    ### END SOLUTION


# %% check="memory_per_rank"
check("memory_per_rank")

# %% [markdown]
# Here is a model of 7.5 billion parameters on 64 ranks, by your function: the numbers of the first figure in the paper.

# %% folded=true
# Draws what a rank keeps in each stage, in stacked bars.
from course.lab.figures.stage_bars import stage_bars

with needs("memory_per_rank"):
    stages = {stage: memory_per_rank(7_500_000_000, 64, stage) for stage in range(4)}
    display(stage_bars(stages, "7.5 billion parameters on 64 ranks"))

# %% [markdown]
# The first stage saves most, and costs nothing: lab 12 showed that a reduce-scatter and an all-gather take the place of
# the all-reduce. Two parts stay whole on every rank, though, and 30 GB do not get fewer with more ranks. Only where
# weights and gradients are shared out as well does a model of any size fit on enough ranks. That is stage 3, or *fully
# sharded data parallel*, [FSDP](GLOSSARY.md#fsdp) in PyTorch, and you write it now. (Models that are compared here are
# float64, so that you can see the last digits.)

# %% [markdown]
# ## 2. Shards
#
# Each rank keeps some rows of each parameter: its shard. Messages are simplest where all shards have the same shape, so
# the rows are rounded up, and where a parameter has no more rows, zeros fill the shard up. PyTorch's `fully_shard` cuts
# this way, too.

# %% todo="shard"
import torch


def shard(parameter: torch.Tensor, rank: int, size: int) -> torch.Tensor:
    """The rows of a parameter that this rank keeps. No communication.

    parameter: [n, ...], of one dimension or more, with n > 0.
    Returns a tensor [c, ...] with c = ceil(n / size), of the parameter's dtype and on
    its device; it may be an `nn.Parameter`, or not.

    Example: 5 rows on 4 ranks are c = 2 rows each: 0 and 1, 2 and 3, 4 and zeros, and
    zeros alone.
    """
    ### BEGIN SOLUTION
    rows = -(-len(parameter) // size)  # rounded up
    own = parameter.detach()[rank * rows : (rank + 1) * rows]
    result = parameter.detach().new_zeros(rows, *parameter.shape[1:])
    result[: len(own)] = own
    return result
    ### END SOLUTION


# %% check="shard"
check("shard")

# %% [markdown]
# ## 3. Weights, for as long as they are needed
#
# A layer is a module, and while it does not compute, its parameters should take no memory. PyTorch can do that: below a
# tensor there is a *storage*, and that can be made smaller and larger. The tensor keeps its shape, and stays the same
# object, so everybody who knows the parameter goes on knowing it:


# %%
# `memory` counts the bytes behind tensors.
parameter = nn.Linear(3, 2).weight
print("before:", memory([parameter]), "bytes")
parameter.untyped_storage().resize_(0)
print("freed: ", memory([parameter]), "bytes, and the shape is", [*parameter.shape])
parameter.untyped_storage().resize_(parameter.nbytes)
parameter.data.copy_(torch.ones(2, 3))
print("filled:", parameter.tolist())

# %% [markdown]
# `data` is the same storage without autograd's notice. That matters: a forward pass remembers the weights for the
# backward pass, and if autograd sees them change in between, `backward` stops with an error. Here they come back as
# they were, so autograd need not know that they had gone.
#
# Before the layer computes, its weights come from all ranks, by an all-gather. A message takes a while, and that can be
# hidden: the all-gather *starts* when the object below is made, and is waited for when its `with` block is entered. So
# the object for the next layer can be made while this layer still computes.
#
# `dist.all_gather_into_tensor(row, own, async_op=True)` sends `own`, a tensor of one dimension, to all ranks, and
# fills `row`, which is as long as all of them together, in the order of the ranks. It returns a handle; `handle.wait()`
# returns when `row` is full. One all-gather should do for all parameters of a layer. So each rank sends its shards one
# after the other, and what arrives looks like this, for a weight and a bias on three ranks:
#
# | from rank 0 | | from rank 1 | | from rank 2 | |
# |---|---|---|---|---|---|
# | weight, shard 0 | bias, shard 0 | weight, shard 1 | bias, shard 1 | weight, shard 2 | bias, shard 2 |
#
# Once the weights are in their parameters, nobody needs that row any more. Let go of it then, and of the handle, which
# knows it: else the row is there for as long as your object is, and takes as much memory as the weights do.

# %% todo="gathered"
import torch
import torch.distributed as dist
from torch import nn


class gathered:
    """A `with` block in which a layer has its weights.

    layer: a module whose parameters have their shapes, but hold no memory.
    shards: this rank's shard of each parameter, in the order of `layer.parameters()`.
    A parameter has the shape [n, ...], each shard of it [c, ...]. All ranks' shards of
    it, one after the other, are its rows; what is behind row n is no part of it. All
    have one dtype, float32 or float64, and one device.

    The shards and the parameters stay the same objects; an error in the block goes on.
    """

    def __init__(self, layer: nn.Module, shards: list[torch.Tensor]) -> None:
        """Start the all-gather. The parameters are left alone, without memory."""
        ### BEGIN SOLUTION
        self.layer, self.shards, self.size = layer, shards, dist.get_world_size()
        own = torch.cat([each.detach().flatten() for each in shards])
        self.row = own.new_empty(self.size * len(own))
        self.handle = dist.all_gather_into_tensor(self.row, own, async_op=True)
        ### END SOLUTION

    def __enter__(self) -> None:
        """Wait, and give the parameters their memory and weights; let the row go."""
        ### BEGIN SOLUTION
        self.handle.wait()
        by_rank = self.row.view(self.size, -1)
        columns = by_rank.split([each.numel() for each in self.shards], dim=1)
        for parameter, rows in zip(self.layer.parameters(), columns, strict=True):
            parameter.untyped_storage().resize_(parameter.nbytes)
            rows = rows.reshape(-1, *parameter.shape[1:])
            parameter.data.copy_(rows[: len(parameter)])
        del self.row, self.handle  # which knows the row, too
        ### END SOLUTION

    def __exit__(self, *error) -> None:
        """Free the parameters' memory. `error`: what ended the block, if it was one."""
        ### BEGIN SOLUTION
        for parameter in self.layer.parameters():
            parameter.untyped_storage().resize_(0)
        ### END SOLUTION


# %% check="gathered"
check("gathered")

# %% [markdown]
# How long does a layer keep its weights? Here your blocks follow each other over four layers, each made while the one
# before it computes, and the bytes that all layers' weights take are written down in each block.


# %%
def bytes_held(count: int) -> list[int]:
    """Bytes behind the weights of all layers: before, in each of the blocks, after."""
    layers = [nn.Linear(64, 64).to(own_device()) for _ in range(count)]
    parameters = [each for layer in layers for each in layer.parameters()]
    shards = []
    for layer in layers:
        place = dist.get_rank(), dist.get_world_size()
        shards.append([shard(each, *place) for each in layer.parameters()])
        for each in layer.parameters():
            each.untyped_storage().resize_(0)
    held, block = [memory(parameters)], gathered(layers[0], shards[0])
    for number in range(count):
        now = block
        if number + 1 < count:
            block = gathered(layers[number + 1], shards[number + 1])
        with now:
            held.append(memory(parameters))
    return [*held, memory(parameters)]


with needs("shard", "gathered"):
    held = world.run(bytes_held, 4, init="torch")[0]
    print("bytes behind the weights of four layers:", held)

# %% [markdown]
# One layer at a time, whatever their number. (The row of the next layer, which is on its way, comes on top: that makes
# two.)
#
# ## 4. Gradients, of which a rank keeps its shard
#
# After its backward pass, a layer has a gradient for each weight, on each rank another one. The optimizer will need
# their mean, and on this rank only for the rows of its own shards. That is what a reduce-scatter is for:
# `dist.reduce_scatter_tensor(mean, row)` sums the `row`s of all ranks, cuts the sum into equally long pieces, and
# leaves piece r, in `mean`, on rank r. Both have one dimension. So `row` has to have what is meant for rank 0 first, of
# *all* parameters, then what is meant for rank 1: the order in which weights arrive in section 3.
#
# Where gradients of several [micro-batches](GLOSSARY.md#micro-batch) are added up before a step, the ranks need not
# send anything until the last one: that is `sync=False`. It costs memory, as whole gradients stay on every rank.

# %% todo="reduce_scattered"
import torch
import torch.distributed as dist
from torch import nn


def reduce_scattered(layer: nn.Module, shards: list, sync: bool = True) -> None:
    """After a backward pass: keep of a layer's gradients this rank's shard of the mean.

    layer: its parameters [n, ...] have their gradients in `.grad`; None on some rank
    counts as zeros. The parameters may hold no memory by now; you need their shapes.
    shards: this rank's shard [c, ...] of each parameter, in order, as in `gathered`.
    `shard` and `gathered` are not there when the check runs: do without them.
    Returns nothing: what is kept is in `.grad` of the shards.
    """
    ### BEGIN SOLUTION
    if not sync:
        return
    size, columns = dist.get_world_size(), []
    for parameter, own in zip(layer.parameters(), shards, strict=True):
        rows = own.new_zeros(size * len(own), *own.shape[1:])
        if parameter.grad is not None:
            rows[: len(parameter)] = parameter.grad
        columns.append(rows.view(size, -1))
        parameter.grad = None
    row = torch.cat(columns, dim=1).flatten()
    mean = row.new_empty(len(row) // size)
    dist.reduce_scatter_tensor(mean, row)
    parts = (mean / size).split([each.numel() for each in shards])
    for own, part in zip(shards, parts, strict=True):
        own.grad = part.view_as(own) + (0 if own.grad is None else own.grad)
    ### END SOLUTION


# %% check="reduce_scattered"
check("reduce_scattered")

# %% [markdown]
# ## 5. All together
#
# Now a model of layers, one after the other. `LayerByLayer` is given: a module that, in both directions, hands each
# layer's pass to a method, which you write. `compute()` makes the pass. Then, in a backward pass, the layer's
# parameters have their gradients.
#
# ```python
# class LayerByLayer(nn.Module):
#     def __init__(self, layers): ...                   # any iterable; self.layers is a list of them
#     def forward_pass(self, number, compute): ...      # of layer self.layers[number]
#     def backward_pass(self, number, compute): ...     # of the same, later, from the last layer to the first
# ```
#
# Yours calls `super().__init__(layers)` first. In a forward pass the last layer has no next one, in a backward pass the
# first layer has none.
#
# `layers` are in a plain list, so PyTorch does not count their parameters as the model's. What the optimizer finds in
# `model.parameters()` is what *you* put into the module: the shards. They have to be `nn.Parameter`s, in an attribute
# where PyTorch looks for them, such as an `nn.ParameterList`, or an `nn.ModuleList` of these.

# %% todo="FullySharded"
import torch
import torch.distributed as dist
from torch import nn

from course.models.layer_by_layer import LayerByLayer


class FullySharded(LayerByLayer):
    """Layers of which each rank keeps shards, and the weights of the one that computes.

    You can use `shard`, `gathered` and `reduce_scattered`: the check has right ones.
    """

    def __init__(self, layers) -> None:
        """Keep this rank's shards, and free the layers' parameters. `sync` is True.

        layers: an iterable of modules, the same on all ranks, each with parameters, all
        of which are trained. A weight that two modules of a layer share is one
        parameter, with one shard.
        """
        ### BEGIN SOLUTION
        super().__init__(layers)
        self.sync, self.ahead, self.shards = True, {}, nn.ModuleList()
        rank, size = dist.get_rank(), dist.get_world_size()
        for layer in self.layers:
            own = [nn.Parameter(shard(each, rank, size)) for each in layer.parameters()]
            self.shards.append(nn.ParameterList(own))
            for each in layer.parameters():
                each.untyped_storage().resize_(0)
        ### END SOLUTION

    def forward_pass(self, number, compute) -> None:
        """Make the forward pass of layer `number`, with its weights."""
        ### BEGIN SOLUTION
        with self.weights(number, number + 1):
            compute()
        ### END SOLUTION

    def backward_pass(self, number, compute) -> None:
        """Make its backward pass, with its weights; keep shards of its gradients."""
        ### BEGIN SOLUTION
        with self.weights(number, number - 1):
            compute()
        reduce_scattered(self.layers[number], self.shards[number], self.sync)

    def weights(self, number, following):
        """The block of a layer. That of the one that follows is made, too."""
        for each in (number, following):
            if each in range(len(self.layers)) and each not in self.ahead:
                self.ahead[each] = gathered(self.layers[each], self.shards[each])
        return self.ahead.pop(number)
        ### END SOLUTION


# %% check="FullySharded"
check("FullySharded")

# %% [markdown]
# Does it train as everybody else does? Here are four blocks, and three ways to train them on four ranks, each of which
# has samples of its own: data parallel, with an all-reduce for each parameter; PyTorch's own `fully_shard`, applied to
# each block and to the whole; and yours.


# %%
def blocks(count: int) -> nn.Sequential:
    """Blocks of two matrices, the same on all ranks."""
    torch.manual_seed(0)
    model = nn.Sequential()
    for _ in range(count):
        layers = nn.Linear(32, 130), nn.GELU(), nn.Linear(130, 32)
        model.append(nn.Sequential(*layers))
    return model.double().to(own_device())


def trained(make, steps: int) -> list[float]:
    """This rank's losses. `make` makes a model of blocks.

    It gives it together with what is called after each backward pass.
    """
    model, finish = make(blocks(4))
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    samples, losses = torch.Generator().manual_seed(dist.get_rank()), []
    for _ in range(steps):
        x = torch.randn(16, 32, generator=samples, dtype=torch.float64).to(own_device())
        loss = (model(x) - x.flip(1)).square().mean()
        loss.backward()
        finish()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


# %% [markdown]
# The three ways:


# %%
def data_parallel(layers):
    def finish() -> None:
        for parameter in layers.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()

    return layers, finish


def torchs_own(layers):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(own_device().type, (dist.get_world_size(),))
    for each in [*layers, layers]:
        fully_shard(each, mesh=mesh)
    return layers, lambda: None


def yours(layers):
    return FullySharded(layers), lambda: None


# %%
losses, events = {}, {}
for way in (data_parallel, torchs_own, yours):
    with needs("shard", "gathered", "reduce_scattered", "FullySharded"):
        losses[way.__name__] = world.run(trained, way, 4, init="torch")[0]
        events[way.__name__] = world.events
for name, own in losses.items():
    print(f"{name:14}", "  ".join(f"{loss:.13f}" for loss in own))

# %% [markdown]
# The same losses, to the last digits or nearly so (who adds up in another order rounds otherwise). And what did it
# cost? For each byte that a rank brings, a [collective](GLOSSARY.md#collective) that goes round a ring sends $2 (N - 1)
# / N$ bytes in an all-reduce, and half of that in a reduce-scatter. In an all-gather a rank brings its shard alone,
# which goes to $N - 1$ others.

# %%
SENT = {
    "allreduce": lambda size: 2 * (size - 1) / size,
    "reduce_scatter": lambda size: (size - 1) / size,
    "allgather": lambda size: size - 1,
}


def sent_in_a_step(own: list[dict], steps: int = 4) -> float:
    """Bytes that a rank sends in a step, by the events of its run."""
    return sum(SENT[each["kind"]](world.size) * each["bytes"] for each in own) / steps


for name, by_rank in events.items():
    kinds = [each["kind"] for each in by_rank[0]]
    there = [kind for kind in SENT if kind in kinds]
    counts = ", ".join(f"{kinds.count(kind) // 4} {kind}" for kind in there)
    sent = sent_in_a_step(by_rank[0])
    times = sent / sent_in_a_step(events["data_parallel"][0])
    print(f"{name:14} {sent / 1e3:6.0f} kB a step, {times:.2f} times: {counts}")

# %% [markdown]
# Half as much again: the weights come twice, for the forward and for the backward pass, and the gradients go once. Data
# parallel training sends each of them once. (Rounded up rows make it a little more: 130 rows on 4 ranks are 132.)
#
# And what is it good for? This is what rank 0 holds of the four blocks' weights in a step of yours, noted each time a
# block computes. Step through it: the light bars are its shards, the dark ones whole weights.

# %% folded=true
# A film of the weights that rank 0 holds, from notes of your own run.
from course.lab.figures.held_film import held_film
from course.lab.figures.noted_step import noted_step


def step_of_yours():
    """What this rank holds at each moment of a step."""
    x = torch.ones(4, 32, dtype=torch.float64, device=own_device())
    return noted_step(FullySharded, blocks(4), x)


with needs("shard", "gathered", "reduce_scattered", "FullySharded"):
    moments, whole = world.run(step_of_yours, init="torch")[0]
    display(held_film(moments, whole))

# %% [markdown]
# Not in the film: the row of the next block, which is on its way, and the gradients. And the optimizer state, which is
# where most of the memory was: the optimizer was made of the shards, so it keeps them for the shards alone. All of it
# together, after a step, on each rank:

# %% folded=true
# Measures what each rank keeps after a step, data parallel and yours, and draws it.
from course.figures.splitting.memory_bars import memory_bars
from course.models.memory import optimizer_memory


def kept_after_a_step(make) -> dict[str, int]:
    """Bytes by what they are for."""
    layers = blocks(4)
    model, finish = make(layers)
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    x = torch.ones(16, 32, dtype=torch.float64, device=own_device())
    model(x).square().mean().backward()
    finish()
    optimizer.step()
    both = [*layers.parameters(), *model.parameters()]
    return {
        "weights": memory(both),
        "gradients": memory(each.grad for each in both),
        "optimizer": optimizer_memory(optimizer),
    }


with needs("shard", "gathered", "reduce_scattered", "FullySharded"):
    ways = {"data parallel": data_parallel, "yours": yours}
    measured = {}
    for name, way in ways.items():
        measured[name] = world.run(kept_after_a_step, way, init="torch")
    display(memory_bars(measured))

# %% [markdown]
# A quarter of everything, on four ranks.
#
# ## 6. What no sharding cuts
#
# There is something else in memory, of which we have not spoken: activations. Between the two passes, each layer keeps
# what its backward pass will need, and that grows with the samples, not with the ranks. It can be had for time: keep a
# layer's *input* alone, and when the backward pass comes, compute the layer once more. That is called *activation
# [recomputation](GLOSSARY.md#recomputation)*, or activation checkpointing ([Chen and others,
# 2016](https://arxiv.org/abs/1604.06174)).
#
# You need a `torch.autograd.Function`, a function with a backward pass of its own. Here is one that gives x, and turns
# the gradient round:


# %%
class TurnedRound(torch.autograd.Function):
    """Gives x; going back, minus the gradient."""

    @staticmethod
    def forward(ctx, x, factor):  # ctx takes notes for backward
        ctx.save_for_backward(x)
        return x.view_as(x)  # a tensor of its own, on the same memory

    @staticmethod
    def backward(ctx, gradient):
        print("saved:", ctx.saved_tensors[0])  # what forward saved
        return -gradient, None  # one for each argument of forward


x = torch.ones(3, requires_grad=True)
TurnedRound.apply(x, 1.0).sum().backward()
x.grad

# %% [markdown]
# Inside of `forward` and `backward` autograd does not watch. In `backward` you want it to: `torch.enable_grad()` is a
# block in which it does. There, compute the layer anew, from a *leaf*: a tensor with the values of x and no graph
# behind it, which needs a gradient itself. Go back through that with `y.backward(gradient)`: it adds up the gradients
# of the layer's parameters, as ever, and gives the leaf its own.
#
# Two traps. Autograd calls `backward` of a function only if one of the tensors that went into it needs a gradient, and
# the samples that go into a first layer do not; so its parameters go in as well. And a layer with dropout throws dice:
# computed again, it has to throw the same ones. `torch.get_rng_state()` and `torch.set_rng_state(state)` read and set
# where the random numbers are; after a block of `torch.random.fork_rng()` they are where they were before it. (That is
# for the CPU, on which your function is checked. A GPU draws from numbers of its own, `torch.cuda.get_rng_state()`.)

# %% todo="checkpointed"
import torch
from torch import nn


def checkpointed(layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """layer(x), of which only x is kept for the backward pass.

    layer: a module that takes one tensor and returns one; it may draw random numbers.
    x: of floats; it may need a gradient, or not.
    """
    ### BEGIN SOLUTION

    class Checkpointed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, *parameters):  # autograd does not watch in here
            ctx.save_for_backward(x)
            ctx.random, ctx.count = torch.get_rng_state(), len(parameters)
            return layer(x)

        @staticmethod
        def backward(ctx, gradient):
            x = ctx.saved_tensors[0].detach().requires_grad_()
            with torch.random.fork_rng(), torch.enable_grad():
                torch.set_rng_state(ctx.random)
                y = layer(x)
            y.backward(gradient)
            return x.grad, *[None] * ctx.count

    return Checkpointed.apply(x, *layer.parameters())
    ### END SOLUTION


# %% check="checkpointed"
check("checkpointed")

# %% [markdown]
# What does it save, and what does it cost? Blocks as before, two to eight of them, 512 samples, in this notebook's own
# process: the bytes that wait for the backward pass, and how often blocks are called in a step.

# %% folded=true
# Counts activations and calls, with all of them kept and with blocks computed again.
from course.lab.figures.kept_picture import kept_picture


def kept_and_called(count: int, again: bool) -> tuple[int, int]:
    """Bytes of activations between the passes, and calls of blocks in a step."""
    model, calls = nn.Sequential(), []
    for _ in range(count):
        layers = nn.Linear(32, 130), nn.GELU(), nn.Linear(130, 32)
        model.append(nn.Sequential(*layers))
    for layer in model:
        layer.register_forward_hook(lambda *_: calls.append(1))
    with kept_for_backward(without=model.parameters()) as kept:
        y = torch.ones(512, 32)
        for layer in model:
            y = checkpointed(layer, y) if again else layer(y)
        size = memory(kept)
    y.sum().backward()
    return size, len(calls)


with needs("checkpointed"):
    kept = {"all kept": {}, "computed again": {}}
    for count in (2, 4, 6, 8):
        for name, own in kept.items():
            own[count], calls = kept_and_called(count, name == "computed again")
            print(f"{count} blocks, {name}: {own[count] / 1e6:.2f} MB, {calls} calls")
    display(kept_picture(kept))

# %% [markdown]
# A step is a forward pass and a backward pass of twice its work. One forward pass more makes that a third more. For
# that, a block keeps its input, and nothing of what it works out on its way. Both savings go together, as the block
# that is computed again finds its weights gathered for the backward pass:


# %%
class Recomputed(nn.Module):
    """A layer that keeps its input alone."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return checkpointed(self.layer, x)


def both(layers):
    return FullySharded(map(Recomputed, layers)), lambda: None


with needs("shard", "gathered", "reduce_scattered", "FullySharded", "checkpointed"):
    losses["both"] = world.run(trained, both, 4, init="torch")[0]
    print("  ".join(f"{loss:.13f}" for loss in losses["both"]))

# %% [markdown]
# ## What you saw
#
# Answer first, then unfold.
#
# <details><summary>Sharded weights: is that model parallelism?</summary>
#
# No. Each rank computes the whole model, on its own samples. Only what lies around while nothing is computed with it is
# shared out. So nothing has to be known about the layers, and more ranks work on more samples.
#
# </details>
#
# <details><summary>Why are bytes 1.5 times those of data parallel training, and not twice?</summary>
#
# An all-reduce is a reduce-scatter and an all-gather. Stage 3 has one reduce-scatter and two all-gathers: three halves.
#
# </details>
#
# <details><summary>The backward pass needs the weights again. Why not keep them?</summary>
#
# Between its two passes a layer waits for all layers behind it. Kept, the weights of all layers would be there at once,
# at the end of the forward pass. That saves an all-gather and is ZeRO's stage 2, more or less:
# `reshard_after_forward=False`.
#
# </details>
#
# <details><summary>What may go wrong where an optimizer is made before the model is sharded?</summary>
#
# It holds the whole parameters, which are empty now, and knows nothing of the shards. Make it of the sharded model's
# `parameters()`.
#
# </details>
#
# <details><summary>Two layers share a weight. What then?</summary>
#
# If each of them shards it, there are two copies, and each gets a part of the gradient. What shares weights has to be
# sharded together, as one layer: newer versions of `fully_shard` refuse anything else.
#
# </details>
#
# ## What comes next
#
# This is what large models are trained with: `fully_shard` in PyTorch (FSDP2), or DeepSpeed's ZeRO, mostly together
# with the cuts of lab 12: [tensor parallelism](GLOSSARY.md#tensor-parallelism) within a [node](GLOSSARY.md#node),
# sharded [data parallelism](GLOSSARY.md#data-parallelism) around it. How a model in shards is saved, and loaded on
# another number of ranks, is in lecture [11 When a rank dies](../../course/lectures/11_failures.ipynb), section 7.
# Read:
#
# - Rajbhandari and others, [*ZeRO: Memory Optimizations Toward Training Trillion Parameter
#   Models*](https://arxiv.org/abs/1910.02054) (2020)
# - Zhao and others, [*PyTorch FSDP: Experiences on Scaling Fully Sharded Data
#   Parallel*](https://arxiv.org/abs/2304.11277) (2023)
# - Chen and others, [*Training Deep Nets with Sublinear Memory Cost*](https://arxiv.org/abs/1604.06174) (2016)
#
# ## Two questions
#
# They count no points. The first answer is a number: write it in place of `None`, and run the cell to hear whether it
# is right. The second answer is a text: double-click the cell, write a few sentences, and run it. Your instructor reads
# it. Both are handed in.
#
# **1. How many GPUs?** A model of 70 billion parameters is to be trained in mixed precision with Adam, fully sharded,
# on GPUs of 80 GB. You leave 20 GB of each for activations and for the layers that are gathered just then. How many
# GPUs do you need at least? Use your `memory_per_rank` in a new cell. And does stage 2 do with more of them?

# %% answer="gpus_needed"
check.answer("gpus_needed", None)

# %% [markdown]
# **2. Always?** "Stage 3 saves most, so we always use it," says a colleague. Her model needs 40 GB in stage 1, on 16
# GPUs of 80 GB, on two nodes that a slow network joins, and each step accumulates the gradients of 8 micro-batches.
# What do you tell her? What is sent in a step in her way, and in yours?

# %% [markdown] answer="always"
# It fits in stage 1, so there is nothing to save, and she pays for it. In stage 3 the weights are gathered twice for
# each micro-batch, 16 times a step, over the slow network, whatever `no_sync` does: that spares reduce-scatters only.
# In stage 1 or plain data parallel training a step sends gradients once, after the last micro-batch, and the new
# weights once: a reduce-scatter and an all-gather, so her way sends more than eight times as much. Stage 2 would be as
# good as stage 1 in what it sends if gradients are not scattered in each micro-batch. If she wants larger batches, more
# memory for activations may be a reason for stage 3; recomputing them, or sharding within a node only, with a whole
# replica on each node, are cheaper ways.
