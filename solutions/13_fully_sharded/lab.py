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
# - say what a rank keeps for each parameter of a model, and what of it [ZeRO](GLOSSARY.md#zero) shares out in each of
#   its stages,
# - cut a layer's weights into [shards](GLOSSARY.md#shard), put them together just before the layer computes, and free
#   them right after,
# - leave each [rank](GLOSSARY.md#rank) its own part of the mean gradient alone,
# - show that a model trained so has the losses of plain data parallel training, and count what that costs in bytes,
# - trade time for memory where activations are what does not fit.
#
# The idea in one sentence: **a rank needs the whole of a layer only while that layer computes: the rest of the time, a
# share will do.**
#
# **Before you start.** You need the [all-reduce](GLOSSARY.md#all-reduce) of lab 03 and the
# [reduce-scatter](GLOSSARY.md#reduce-scatter) and [all-gather](GLOSSARY.md#all-gather) of lab 04. From PyTorch:
# modules, parameters, and what `backward` leaves in `.grad`; from Python: classes, and what `with` does. Lab 12 is no
# condition; its last section is the first step of what you do here.
#
# **Lecture.** [12 When the model does not fit](../../course/lectures/12_model_parallel.ipynb), section 5, shows sharded
# weights at work.
#
# **Time:** about 150 minutes.
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
from course.models.memory import memory
from course.world import COMM, World

# %% [markdown]
# This cell starts the [world](GLOSSARY.md#world), which is four ranks that will run your code, and loads the checks:

# %%
world = World(4)
check = Checker("checks", world)

# %% [markdown]
# ## 1. What a rank keeps
#
# Large models are trained in mixed precision: weights and gradients are bfloat16, with 2 bytes each. But the last digit
# of a bfloat16 is the third one, and a training step changes most weights by less than that. So the optimizer adds its
# updates up in a copy of the weights in float32, the *master weights*, of 4 bytes. And Adam keeps two numbers for each
# parameter, a mean of its gradients and one of their squares, in float32 as well.
#
# In data parallel training every rank keeps all of that. ZeRO ([Rajbhandari and others,
# 2020](https://arxiv.org/abs/1910.02054)) shares it out in three stages. Which is worth most?


# %% todo="memory_per_rank"
def memory_per_rank(parameters: int, ranks: int, stage: int) -> dict[str, float]:
    """Bytes that a rank keeps from step to step, by what they are for.

    parameters: of the model. ranks: that train it. stage: of ZeRO, from 0 to 3.
    Returns a dict with the keys "weights" and "gradients" (bfloat16), "optimizer"
    (Adam's two numbers, float32) and "master weights" (float32).
    A share is 1 / ranks of the whole, not rounded. What is checked:
    - stage 0: each rank keeps everything
    - stage 1: each rank keeps a share of the optimizer's numbers and of the master
      weights
    - stage 2: and of the gradients
    - stage 3: and of the weights

    Example: 1000 parameters on 4 ranks in stage 1 are 2000, 2000, 2000 and 1000 bytes.
    """
    ### BEGIN SOLUTION
    size = {"weights": 2, "gradients": 2, "optimizer": 8, "master weights": 4}
    shared_from = {"weights": 3, "gradients": 2, "optimizer": 1, "master weights": 1}
    return {name: parameters * each / (ranks if stage >= shared_from[name] else 1) for name, each in size.items()}
    ### END SOLUTION


# %% check="memory_per_rank"
check("memory_per_rank")

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
    its device. What is checked:
    - it has the parameter's rows from rank * c on, and zeros where there are none
    - it has memory of its own, no more than it needs, and no graph behind it
    - the parameter stays as it is

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
layer = nn.Linear(3, 2)
storage = layer.weight.untyped_storage()
print("before:", storage.nbytes(), "bytes")
storage.resize_(0)
print("freed: ", storage.nbytes(), "bytes, and the shape is", [*layer.weight.shape])
storage.resize_(layer.weight.nbytes)
layer.weight.data.copy_(torch.ones(2, 3))
print("filled:", layer.weight.tolist())

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

# %% todo="gathered"
import torch
import torch.distributed as dist
from torch import nn


class gathered:
    """A `with` block in which a layer has its weights.

    layer: a module whose parameters have their shapes, but hold no memory.
    shards: this rank's shard of each, in the order of `layer.parameters()`: [c, ...] for
    a parameter [n, ...], of which the ranks' shards, one after the other, are the rows;
    what is behind row n is not part of it. All are of one dtype, on one device.
    What is checked:
    - in the block, each parameter has its weights, and the memory for them
    - after the block, also if an error ends it, no parameter holds any memory
    - one all-gather for the layer: it is started when the object is made, and waited
      for when the block is entered
    - a backward pass in a later block finds the weights of a forward pass in this one

    The shards and the parameters stay the same objects; an error in the block goes on.
    """

    def __init__(self, layer: nn.Module, shards: list[torch.Tensor]) -> None:
        """Start the all-gather. The parameters are left alone."""
        ### BEGIN SOLUTION
        self.layer, self.shards, self.size = layer, shards, dist.get_world_size()
        own = torch.cat([each.detach().flatten() for each in shards])
        self.row = own.new_empty(self.size * len(own))
        self.handle = dist.all_gather_into_tensor(self.row, own, async_op=True)
        ### END SOLUTION

    def __enter__(self) -> None:
        """Wait, and give the parameters their memory and their weights."""
        ### BEGIN SOLUTION
        self.handle.wait()
        by_rank = self.row.view(self.size, -1)
        columns = by_rank.split([each.numel() for each in self.shards], dim=1)
        for parameter, rows in zip(self.layer.parameters(), columns, strict=True):
            parameter.untyped_storage().resize_(parameter.nbytes)
            rows = rows.reshape(-1, *parameter.shape[1:])
            parameter.data.copy_(rows[: len(parameter)])
        del self.row
        ### END SOLUTION

    def __exit__(self, *error) -> None:
        """Free the parameters' memory. `error`: what ended the block, if anything did."""
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
    layers = [nn.Linear(64, 64) for _ in range(count)]
    parameters = [each for layer in layers for each in layer.parameters()]
    shards = []
    for layer in layers:
        shards.append([shard(each, dist.get_rank(), dist.get_world_size()) for each in layer.parameters()])
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
    print("bytes behind the weights of four layers:", world.run(bytes_held, 4, init="torch")[0])

# %% [markdown]
# One layer at a time, whatever their number. (The row of the next layer, which is on its way, comes on top: that makes
# two.)
#
# ## 4. Gradients, of which a rank keeps its share
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


def reduce_scattered(layer: nn.Module, shards: list[torch.Tensor], sync: bool = True) -> None:
    """After a backward pass: keep of a layer's gradients this rank's share of the mean.

    layer: its parameters [n, ...] have their gradients in `.grad`; None on some rank
    counts as zeros. That the parameters hold no memory themselves does not matter.
    shards: this rank's shard [c, ...] of each parameter, in order, as in `gathered`.
    What is checked:
    - the mean of the ranks' gradients is added to `.grad` of the shards, each has its
      own rows of it, and zeros behind the last row (a `.grad` of None counts as zeros)
    - one reduce-scatter for the layer, and no other communication
    - afterwards the parameters of the layer have no gradient (None)
    - with sync=False nothing is sent, and nothing changes
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
