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
# # 12 Models that do not fit
#
# After this lab you can
#
# - split a layer over [ranks](GLOSSARY.md#rank), processes with a number, so that each holds a part of the weights,
# - split a network between its layers, and keep all parts busy: a [pipeline](GLOSSARY.md#pipeline),
# - share out the optimizer state, which only the optimizer needs,
# - show of each split that it computes what one process computes, forward *and* backward,
# - say what each split saves in memory, and what it sends for that.
#
# The idea in one sentence: **{{idea}}**
#
# **Before you start.** {{needs}} From PyTorch: modules, and what `backward` leaves in `.grad`. Functions with a
# backward pass of your own are explained where you need them.
#
# **Lecture.** [12 When the model does not fit](../../course/lectures/12_model_parallel.ipynb) shows these cuts at work,
# as films and on ranks.
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
import time

import torch
import torch.distributed as dist
from IPython.display import display
from torch import nn
from torch.optim import AdamW

from autograde.notebook import Checker, needs
from course.lab.figures.schedule_movie import schedule_movie
from course.models.memory import kept_for_backward, memory, optimizer_memory
from course.simulated.stage import SlowStage
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
# ## 1. Two functions
#
# Until now each rank had the whole model, and a part of the [batch](GLOSSARY.md#batch). That is
# [data parallelism](GLOSSARY.md#data-parallelism), and it ends where the model does not fit on one GPU. Then the ranks
# split the model, and each works on the *same* samples.
#
# Say x is the same on all ranks, and each rank computes a part of the result from it; the parts are summed:
#
# $$y = \sum_r h_r(x).$$
#
# Forward, the ranks have to sum $h_r(x)$. And backward? The gradient of y is the same for each of the parts, so all of
# them can begin at once, with no communication. But x went into all parts, and its gradient is the *sum* of what comes
# back from each of them. (All ranks now have the same y, and compute the same loss from it: it is *one* loss, of which
# each has a copy. `torch.distributed.nn.functional.all_reduce` sums going back as well, since there the losses of the
# ranks are added up. With that here, gradients would be `size` times too large.) Two functions do this, which
# Megatron-LM, NVIDIA's library for large language models, calls f and g:
#
# | | forward | backward |
# |---|---|---|
# | f: `copy_to_ranks` | passes x on | sums the gradients over the ranks |
# | g: `sum_over_ranks` | sums over the ranks | passes the gradient on |
#
# Forget f's sum, and the outputs are right on all ranks while the gradients are not. Nobody gets an error.
#
# A function with a backward pass of its own is a class. Here is one that gives x, and turns the gradient round:


# %%
class TurnedRound(torch.autograd.Function):
    """Gives x; going back, minus the gradient."""

    @staticmethod
    def forward(ctx, x, group):  # ctx takes notes for backward
        ctx.group = group
        return x.view_as(x)  # a tensor of its own, on the same memory

    @staticmethod
    def backward(ctx, gradient):
        return -gradient, None  # one for each argument of forward: a group has none


x = torch.ones(3, requires_grad=True)
TurnedRound.apply(x, None).sum().backward()
x.grad

# %% [markdown]
# Inside of `forward` and `backward` autograd does not watch, so they may communicate. Outside it does: it knows no
# gradient for `dist.all_reduce`, and warns where it has to pass one ("an autograd kernel was not registered"). Which
# ranks take part is up to the [process group](GLOSSARY.md#process-group) that you are given.
#
# [gloo](GLOSSARY.md#gloo), the [backend](GLOSSARY.md#backend) on CPUs, adds up numbers as they lie in memory: if a
# tensor is transposed on one rank only, entries get mixed up, and there is no error. `clone()` keeps the layout;
# `clone(memory_format=torch.contiguous_format)` writes the entries row after row, as `contiguous()` would, but always
# into new memory. (`contiguous()` returns the *same* tensor where it is contiguous already.)
#
# The cell below has two functions to write. The next TODO uses them both.

# %% todo="copy_to_ranks"
import torch
import torch.distributed as dist


def copy_to_ranks(x: torch.Tensor, group=None) -> torch.Tensor:
    """x as it is; going back, the sum of the gradients of all ranks.

    x: the same on all ranks of `group`, a process group that this rank is in. None: the
    default group. What is returned may share its memory.
    One all-reduce in the backward pass, none in the forward pass, each over `group`.
    Neither x nor the gradient that arrives is changed. Either may be transposed, or
    expanded (several entries in one place of the memory), and the values count, not the
    layout. Autograd must not warn that it knows no gradient for a call.
    """
    ### BEGIN SOLUTION

    class CopyToRanks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            total = gradient.clone(memory_format=torch.contiguous_format)
            dist.all_reduce(total, group=group)
            return total

    return CopyToRanks.apply(x)
    ### END SOLUTION


def sum_over_ranks(x: torch.Tensor, group=None) -> torch.Tensor:
    """The sum of the ranks' x, on all of them; going back, the gradient as it is.

    x: of the same shape on all ranks of `group`.
    One all-reduce in the forward pass, also under `torch.no_grad()`, and none in the
    backward pass. For the rest, see `copy_to_ranks`.
    """
    ### BEGIN SOLUTION

    class SumOverRanks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            total = x.clone(memory_format=torch.contiguous_format)
            dist.all_reduce(total, group=group)
            return total

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    return SumOverRanks.apply(x)
    ### END SOLUTION


# %% check="copy_to_ranks"
check("copy_to_ranks")

# %% [markdown]
# Look at both in one small sum. Rank r computes (r + 1) x, and y is the sum over the ranks, so dy/dx is 10 on four
# ranks, and all of them should know it:


# %%
def gradient_of_a_sum() -> tuple[float, float]:
    """y and dy/dx, as this rank knows them."""
    x = torch.tensor(2.0, device=own_device(), requires_grad=True)
    y = sum_over_ranks((dist.get_rank() + 1) * copy_to_ranks(x))
    y.backward()
    return y.item(), x.grad.item()


with needs("copy_to_ranks"):
    for rank, (y, gradient) in enumerate(world.run(gradient_of_a_sum, init="torch")):
        print(f"rank {rank}: y = {y}, dy/dx = {gradient}")

# %% [markdown]
# ## 2. Within a layer
#
# A block of a transformer is mostly this: a matrix that makes many hidden units of a few inputs, an activation for each
# unit by itself, and a matrix back. A hidden unit is a row of the first weight, which `nn.Linear` keeps as `[out, in]`,
# and a column of the second. (Megatron-LM writes x from the left, so its columns are your rows.) So give each rank some
# of the hidden units. No rank needs another rank's hidden units. The output is a sum over all of them: so each rank
# computes its part of the sum, and g adds the parts up. x goes into all parts, so it passes through f first.
#
# The ranks' parts are cut as `torch.tensor_split` does: 9 hidden units on 4 ranks are 3, 2, 2 and 2.

# %% todo="ParallelMLP"
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import linear


class ParallelMLP(nn.Module):
    """An MLP with one hidden layer, of which each rank has some of the hidden units.

    mlp: nn.Sequential(nn.Linear(d, h), activation, nn.Linear(h, o)), with biases, the
    same on all ranks; it stays as it is. The activation works on each number by itself,
    and has no parameters. h is at least the number of ranks.
    group: a process group that this rank is in; None: the default group.
    """

    def __init__(self, mlp: nn.Sequential, group=None) -> None:
        """Take this rank's part of `mlp`.

        Of the h hidden units, in order, the ranks of `group` have those that
        `tensor_split` gives. Parameters: `w1` [h_r, d], `b1` [h_r], `w2` [o, h_r],
        copies of what is this rank's, and `b2` [o], all of it, on all ranks. There are
        no others, and the module holds no more memory than these need. (A slice such as
        `weight[:3]` keeps the whole weight alive.)
        """
        ### BEGIN SOLUTION
        super().__init__()
        first, self.activation, second = mlp
        self.group = group
        units = torch.arange(first.out_features, device=first.weight.device)
        own = units.tensor_split(dist.get_world_size(group))[dist.get_rank(group)]
        self.w1 = nn.Parameter(first.weight.detach()[own])  # an index tensor copies
        self.b1 = nn.Parameter(first.bias.detach()[own])
        self.w2 = nn.Parameter(second.weight.detach()[:, own])
        self.b2 = nn.Parameter(second.bias.detach().clone())
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """mlp(x), on all ranks of the group.

        x: [..., d], the same on all ranks. Going back, the gradients of x and `b2` are
        those that `mlp` gives, on all ranks; those of `w1`, `b1`, `w2` are the slices
        of `mlp`'s. You can use `copy_to_ranks` and `sum_over_ranks`: the check brings
        its own. In the forward pass there is one all-reduce, with as many numbers as
        the output; in the backward pass one, with as many as x (it may be left out
        where x needs no gradient).
        """
        ### BEGIN SOLUTION
        hidden = self.activation(linear(copy_to_ranks(x, self.group), self.w1, self.b1))
        return sum_over_ranks(linear(hidden, self.w2), self.group) + self.b2
        ### END SOLUTION


# %% check="ParallelMLP"
check("ParallelMLP")

# %% [markdown]
# Here the ranks make one pass in each direction, and say which shapes their parameters have.


# %%
def forward_and_backward(batch: int) -> dict[str, tuple]:
    """One pass in each direction, with a barrier between them.

    Returns the shapes of this rank's parameters.
    """
    torch.manual_seed(0)
    layers = (nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))
    mlp = nn.Sequential(*layers).to(own_device())
    part = ParallelMLP(mlp)
    y = part(torch.randn(batch, 64, device=own_device(), requires_grad=True))
    dist.barrier()
    y.sum().backward()
    return {name: tuple(each.shape) for name, each in part.named_parameters()}


# %% [markdown]
# Below are each rank's parts of the two weights, with x on the left, in the ranks' own shapes; and the bytes that a
# rank hands over in f and g. Nothing is sent between the two matrices.

# %% folded=true
# Draws the two weights, cut by hidden units, and the bytes that cross between ranks.
from course.lab.figures.matrices import bytes_by_pass, matrices_picture

with needs("copy_to_ranks", "ParallelMLP"):
    shapes = world.run(forward_and_backward, 32, init="torch")
    display(matrices_picture(shapes, (32, 64), bytes_by_pass(world.events[0])))

# %% [markdown]
# ## 3. Between layers: a plan
#
# Another way to split a network: rank 0 has the first layers, rank 1 the next ones. What one [stage](GLOSSARY.md#stage)
# has computed goes on to the next. That sends little, but while one stage works, the others have nothing to do. So the
# batch is cut into [micro-batches](GLOSSARY.md#micro-batch), and a stage goes on with the next one as soon as it has
# handed on the last.
#
# Plan before you send. In one *tick*, a stage makes one forward pass, ("F", i), or one backward pass, ("B", i), of
# micro-batch i, or nothing: `None`, a *[bubble](GLOSSARY.md#bubble)*. With 2 stages and 2 micro-batches, this is a
# plan:
#
# | stage | tick 0 | 1 | 2 | 3 | 4 | 5 |
# |---|---|---|---|---|---|---|
# | 0 | F 0 | F 1 | . | . | B 0 | B 1 |
# | 1 | . | F 0 | F 1 | B 0 | B 1 | . |


# %% todo="pipeline_schedule"
def pipeline_schedule(stages: int, micro_batches: int) -> list[list]:
    """A plan: what each stage of a pipeline does, tick by tick. No communication.

    stages: from 1 to 6. micro_batches: at least 1.
    Returns a list for each stage, all of 2 (stages + micro_batches - 1) entries, which
    are the fewest ticks there can be. An entry is ("F", i), ("B", i), or None.
    Each stage makes the forward and the backward pass of each micro-batch once. What a
    pass needs has to be done in an *earlier* tick. F of a micro-batch needs its F on
    stage s - 1; B needs its B on stage s + 1, and on the last stage its own F.
    Any such plan is right.
    """
    ### BEGIN SOLUTION
    plan = []
    for stage in range(stages):
        before, behind = [None] * stage, [None] * (stages - 1 - stage)
        forward = [("F", i) for i in range(micro_batches)]
        backward = [("B", i) for i in range(micro_batches)]
        plan.append(before + forward + behind + behind + backward + before)
    return plan
    ### END SOLUTION


# %% check="pipeline_schedule"
check("pipeline_schedule")

# %% [markdown]
# Your plan for 4 stages and 8 micro-batches, as a film: bubbles are grey, and below each stage you see of how many
# micro-batches it keeps [activations](GLOSSARY.md#activations), from the forward pass until the backward pass. Below it
# is another plan: 1F1B (one forward, one backward), or, if that is yours, GPipe's (all forward passes first; [Huang and
# others, 2019](https://arxiv.org/abs/1811.06965)). Both take equally many ticks. Which of the two is better, and why?

# %%
with needs("pipeline_schedule"):
    display(schedule_movie(pipeline_schedule(4, 8)))

# %% [markdown]
# GPipe makes all forward passes first, so it keeps all M micro-batches. With 1F1B, stage s of p keeps p - s at most,
# however many there are. In both, each stage idles for 2 (p - 1) of 2 (M + p - 1) ticks.
#
# ## 4. Forward through the pipeline
#
# Now with messages, in GPipe's order: all forward passes first. Each rank is a stage. It gets its input from the rank
# before, and sends its output to the next one. Autograd ends where a message begins. So the input that came is a new
# *leaf*, a tensor that no operation of autograd has made; you will need its gradient, and ask for it by
# `requires_grad_()`. And the output is sent without its graph, the record of operations by which autograd goes back.
#
# What arrives is written into the memory of the tensor that you give to `dist.recv`, and nobody compares shapes or
# dtypes. gloo sends and receives contiguous tensors only, and a send waits until its message is received.

# %% todo="forward_passes"
import torch
import torch.distributed as dist


def forward_passes(stage, micro_batches: list[torch.Tensor]) -> list[tuple]:
    """The forward passes of this rank's stage, micro-batch by micro-batch, in order.

    Default process group; rank r is stage r. stage(x): maps [b, d] to [b, d], in the
    dtype and on the device of x. Its output need not be contiguous.
    micro_batches: tensors [b_i, d], on all ranks; the b_i may differ. Rank 0 has the
    values. On the others they are nan: only shape, dtype and device count there.
    Input comes from rank - 1, output goes to rank + 1, in one message for each
    micro-batch, sent before the next pass begins. A pass begins when its own input is
    there, and waits for no later one. There is no other communication, and on one rank
    none at all. No argument is changed.
    Returns for each micro-batch (input, output). The output has its graph. On rank 0
    the input is the tensor that was given; elsewhere it is a new leaf that requires a
    gradient, in memory of its own.
    """
    ### BEGIN SOLUTION
    rank, size = dist.get_rank(), dist.get_world_size()
    passes = []
    for x in micro_batches:
        if rank > 0:
            x = torch.empty(x.shape, dtype=x.dtype, device=x.device)
            dist.recv(x, rank - 1)
            x.requires_grad_()
        y = stage(x)
        passes.append((x, y))
        if rank < size - 1:
            dist.send(y.detach().contiguous(), rank + 1)
    return passes
    ### END SOLUTION


# %% check="forward_passes"
check("forward_passes")

# %% [markdown]
# ## 5. And backward
#
# The last rank knows the loss. Each of the others gets the gradient of its output from the next rank, goes back through
# its own graph from there (`y.backward(gradient)` does that for a y that is not a scalar), and finds the gradient of
# its input in `.grad`: that is what the rank before it waits for.

# %% todo="backward_passes"
import torch
import torch.distributed as dist


def backward_passes(passes: list[tuple], losses: list[torch.Tensor] | None) -> None:
    """The backward passes of this rank's stage, in the order of the micro-batches.

    Default process group; rank r is stage r.
    passes: for each micro-batch (input, output), as `forward_passes` returns them.
    losses: on the last rank a scalar for each micro-batch, computed from its output.
    Their sum is the mean loss of the batch: do not scale them. None on the other ranks.
    For each micro-batch in order: the gradient of the output comes from rank + 1, the
    gradient of the input goes to rank - 1, in one message of the same shape, sent
    before the next backward pass begins. A pass begins when its own gradient is there,
    and waits for no later one. No other communication, on one rank none.
    Afterwards the parameters of the stage have in `.grad` what was there before, plus
    the gradient of the mean loss. Nothing is set to zero.
    """
    ### BEGIN SOLUTION
    rank, size = dist.get_rank(), dist.get_world_size()
    for number, (x, y) in enumerate(passes):
        if rank == size - 1:
            losses[number].backward()
        else:
            gradient = torch.empty(y.shape, dtype=y.dtype, device=y.device)
            dist.recv(gradient, rank + 1)
            y.backward(gradient)
        if rank > 0:
            dist.send(x.grad.contiguous(), rank - 1)
    ### END SOLUTION


# %% check="backward_passes"
check("backward_passes")

# %% [markdown]
# With both, a step of training is a few lines. (This is [gradient accumulation](GLOSSARY.md#gradient-accumulation),
# over micro-batches.)


# %%
def pipeline_step(stage, micro_batches, targets, optimizer) -> float | None:
    """One step with the mean of squared errors; the loss, on the last rank."""
    optimizer.zero_grad()
    passes = forward_passes(stage, micro_batches)
    losses = None
    if dist.get_rank() == dist.get_world_size() - 1:
        entries = sum(each.numel() for each in targets)
        pairs = zip(passes, targets, strict=True)
        losses = [(y - target).square().sum() / entries for (_, y), target in pairs]
    backward_passes(passes, losses)
    optimizer.step()
    return None if losses is None else sum(losses).item()


# %% [markdown]
# Is it the step that one process makes? Each rank has one block of a network, and beside it the whole network, which it
# trains by itself. Below are the loss, and how far the parameters of each rank are from those of one process after five
# steps:

# %% folded=true
# Makes five steps in the pipeline and five in one process, and compares them.
WIDTH, HIDDEN = 64, 256


def blocks(count: int) -> nn.Sequential:
    """A network of some blocks, each with one hidden layer: the same on all ranks."""
    torch.manual_seed(0)
    network = nn.Sequential()
    for _ in range(count):
        layers = (nn.Linear(WIDTH, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, WIDTH))
        network.append(nn.Sequential(*layers))
    return network.to(own_device())


def samples(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and targets, the same on all ranks."""
    draw = torch.Generator().manual_seed(1)
    inputs, targets = torch.randn(2, count, WIDTH, generator=draw).to(own_device())
    return inputs, targets


def pipeline_and_one_process(steps: int) -> tuple[float | None, float, float]:
    """Losses after some steps, and the largest difference of this rank's parameters."""
    rank, size = dist.get_rank(), dist.get_world_size()
    stage, whole = blocks(size)[rank], blocks(size)
    inputs, targets = samples(32)
    own = torch.optim.SGD(stage.parameters(), 0.1)
    one = torch.optim.SGD(whole.parameters(), 0.1)
    for _ in range(steps):
        # The last micro-batch is smaller.
        loss = pipeline_step(stage, inputs.split(5), targets.split(5), own)
        one.zero_grad()
        expected = (whole(inputs) - targets).square().mean()
        expected.backward()
        one.step()
    pairs = zip(stage.parameters(), whole[rank].parameters(), strict=True)
    return loss, expected.item(), max((a - b).abs().max().item() for a, b in pairs)


with needs("forward_passes", "backward_passes"):
    results = world.run(pipeline_and_one_process, 5, init="torch")
    loss, expected, _ = results[-1]
    print(f"loss: {loss:.6f} in the pipeline, {expected:.6f} in one process")
    for rank, (_, _, apart) in enumerate(results):
        print(f"rank {rank}: parameters differ by {apart:.1e} at most")

# %% [markdown]
# And does it run like the plan? Here are stages that take 50 ms in each direction. They sleep instead of computing, so
# four of them run at once on a few cores; messages are real. Before the clock starts, a step opens the connections.


# %%
def timed_step(micro_batches: int) -> list[tuple[str, float, float]]:
    """When this rank's stage made which pass, in seconds since all ranks met."""
    stage = SlowStage(4, 0.05).to(own_device())
    optimizer = torch.optim.SGD(stage.parameters(), 0.1)
    given = [torch.ones(2, 4, device=own_device())] * micro_batches
    pipeline_step(stage, given[:1], given[:1], optimizer)
    stage.passes.clear()
    dist.barrier()
    begun = time.perf_counter()
    pipeline_step(stage, given, given, optimizer)
    return [(kind, begin - begun, end - begun) for kind, begin, end in stage.passes]


# %% [markdown]
# A step with 8 micro-batches, by the clock: the passes of each stage, and the messages between them. Find the bubbles
# of your plan, and what is there besides.

# %% folded=true
# Draws the passes of all stages by the clock, and how long each stage was idle.
from course.figures.splitting.clock_picture import clock_picture, idle_shares

with needs("forward_passes", "backward_passes"):
    passes = world.run(timed_step, 8, init="torch")
    print("idle, by stage:", *(f"{share:.0%}" for share in idle_shares(passes)))
    display(clock_picture(passes, world.events))

# %% [markdown]
# ## 6. The optimizer state
#
# Adam and AdamW, the usual optimizers of transformers, keep two numbers for each weight; SGD with
# [momentum](GLOSSARY.md#momentum) one. In data parallel training all ranks keep all of them, and all of them compute
# the same update. That is waste: let each rank update a [shard](GLOSSARY.md#shard) of the parameters, and keep the
# optimizer state of that shard alone. This is what [ZeRO](GLOSSARY.md#zero) ([Rajbhandari and others,
# 2020](https://arxiv.org/abs/1910.02054)) begins with.
#
# The ranks need the mean gradient of *their own shard* only: a reduce-scatter, where there was an all-reduce. After the
# update they need each other's parameters: an all-gather. And a ring's all-reduce is these two, one after the other: as
# you saw in lab 04, nothing more is sent.
#
# Shards have to be equally long. So write all parameters in one row, one after the other, and fill it up with zeros. An
# optimizer steps on any leaf, by what is in its `.grad`; the leaf need not require a gradient.

# %% todo="ShardedOptimizer"
import torch
import torch.distributed as dist
from torch.nn.functional import pad


class ShardedOptimizer:
    """An optimizer of which each rank keeps a shard of the state, on the default group.

    parameters: an iterable of the model's parameters, the same on all ranks: of any
    shapes, of one dtype, on one device. Together they have P numbers.
    make([tensor]): returns a torch.optim.Optimizer for it, such as SGD with momentum or
    AdamW, which treats each number by itself.
    """

    def __init__(self, parameters, make) -> None:
        """Call `make` once, with a list of one tensor: this rank's shard.

        In one row are all parameters in order, each row by row, and zeros up to a
        length of size * c, with c = ceil(P / size). Rank r's shard is entries r c to
        (r + 1) c of it: c numbers, in memory of its own that holds no more than these.
        Nothing is communicated yet.
        """
        ### BEGIN SOLUTION
        self.parameters = [*parameters]
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        row = torch.cat([each.detach().reshape(-1) for each in self.parameters])
        self.length = -(-len(row) // self.size)  # rounded up
        self.padding = self.size * self.length - len(row)
        start = self.rank * self.length
        self.shard = pad(row, (0, self.padding))[start : start + self.length].clone()
        self.optimizer = make([self.shard])
        ### END SOLUTION

    def step(self) -> None:
        """All parameters as after one process' step with the ranks' mean gradient.

        Afterwards they have the same bits on all ranks, in the memory where they were.
        Gradients are in `.grad` of the parameters, and stay as they are. A `.grad` that
        is None counts as zeros. (Torch's optimizers would skip that parameter; the one
        process that you are compared with gets zeros, too.) One reduce-scatter and one
        all-gather, of torch.distributed, and no other communication.
        """
        ### BEGIN SOLUTION
        gradients = [torch.zeros_like(each) if each.grad is None else each.grad for each in self.parameters]
        gradients = pad(torch.cat([each.reshape(-1) for each in gradients]), (0, self.padding))
        self.shard.grad = torch.empty_like(self.shard)
        dist.reduce_scatter_tensor(self.shard.grad, gradients)
        self.shard.grad /= self.size
        self.optimizer.step()
        row = torch.empty_like(gradients)
        dist.all_gather_into_tensor(row, self.shard)
        parts = row.split([*(each.numel() for each in self.parameters), self.padding])
        with torch.no_grad():
            for parameter, part in zip(self.parameters, parts, strict=False):
                parameter.copy_(part.view(parameter.shape))
        ### END SOLUTION


# %% check="ShardedOptimizer"
check("ShardedOptimizer")

# %% [markdown]
# ## 7. What each split saves, and what it sends
#
# One network, one step with AdamW, in five ways. Each rank adds up what is behind its tensors, each piece of memory
# once: weights, gradients, optimizer state, and the activations that autograd keeps for the backward pass. The folded
# cell has the function that makes this step on a rank.


# %% folded=true
# Makes one step in one of the five ways, and counts the bytes behind its tensors.
def measured_step(way: str, blocks_in_all: int, batch: int) -> dict[str, int]:
    """Bytes of this rank after a step, by what they are for."""
    rank, size = dist.get_rank(), dist.get_world_size()
    model, (inputs, targets) = blocks(blocks_in_all), samples(batch)
    if way == "tensor parallel":
        model = nn.Sequential(*(ParallelMLP(block) for block in model))
    elif way == "pipeline":
        model = model[rank]
    elif way != "one process":  # data parallel, of a kind
        inputs = inputs.tensor_split(size)[rank].clone()
        targets = targets.tensor_split(size)[rank].clone()
    parameters = [*model.parameters()]
    made = []

    def make(tensors) -> AdamW:
        made.append(AdamW(tensors, 0.001))
        return made[0]

    sharded = way == "sharded optimizer"
    optimizer = ShardedOptimizer(parameters, make) if sharded else make(parameters)
    with kept_for_backward(without=parameters) as kept:
        if way == "pipeline":
            passes = forward_passes(model, inputs.split(max(1, batch // 4)))
        else:
            loss = (model(inputs) - targets).square().mean()
        activations = memory(kept)
        kept.clear()
    if way == "pipeline":
        pairs = zip(passes, targets.split(max(1, batch // 4)), strict=True)
        last, entries = rank == size - 1, targets.numel()
        losses = [(y - target).square().sum() / entries for (_, y), target in pairs]
        backward_passes(passes, losses if last else None)
    else:
        loss.backward()
    if way == "data parallel":
        for each in parameters:
            dist.all_reduce(each.grad)
            each.grad /= size
    optimizer.step()
    share = memory(made[0].param_groups[0]["params"]) if sharded else 0
    return {
        "weights": memory(parameters),
        "gradients": memory(each.grad for each in parameters),
        "optimizer": share + optimizer_memory(made[0]),
        "activations": activations,
    }


# %% [markdown]
# What rank 0 needs in each way:

# %%
# Which TODOs each way of splitting needs.
WAYS = {
    "one process": [],
    "data parallel": [],
    "sharded optimizer": ["ShardedOptimizer"],
    "tensor parallel": ["copy_to_ranks", "ParallelMLP"],
    "pipeline": ["forward_passes", "backward_passes"],
}
used = {}
for way, todos in WAYS.items():
    ranks = 1 if way == "one process" else world.size
    given = (way, world.size, 128)
    with needs(*todos):
        used[way] = world.run(measured_step, *given, size=ranks, init="torch")
for way, by_rank in used.items():
    sizes = [f"{name} {size / 1e3:.0f} kB " for name, size in by_rank[0].items()]
    print(f"{way:18}", *sizes)

# %% [markdown]
# The same for all ranks, in stacked bars. For each way: which part gets smaller than in one process, and which does
# not?

# %% folded=true
# Draws the memory of each rank in stacked bars, by the way of splitting.
from course.figures.splitting.memory_bars import memory_bars

memory_bars(used)

# %% [markdown]
# Data parallelism saves activations only, as each rank has fewer samples. The sharded optimizer saves what the
# optimizer keeps. [Tensor parallelism](GLOSSARY.md#tensor-parallelism) cuts the weights and all that comes with them,
# and the hidden activations; but inputs and outputs of a block are kept whole on every rank. In the pipeline each
# block, with its activations, is on one rank only.
#
# And what does it cost? Here are the bytes that a rank hands over in one step, for some batch sizes. Mind both
# directions: which line depends on the batch, and which does not?

# %% folded=true
# Measures the bytes that a rank sends in a step, for five batch sizes, and draws them.
from course.lab.figures.bytes_of_a_step import bytes_of_a_step_picture, bytes_sent

sent = {}
for way in ("data parallel", "tensor parallel"):
    with needs(*WAYS[way]):
        for batch in (8, 32, 128, 512, 2048):
            world.run(measured_step, way, world.size, batch, init="torch")
            sent.setdefault(way, {})[batch] = bytes_sent(world.events)
bytes_of_a_step_picture(sent)

# %% [markdown]
# Data parallelism sends gradients, as many as there are weights, whatever the batch is. Tensor parallelism sends
# activations: two all-reduces for each block and step (one for the first block, whose input needs no gradient), of the
# size of the batch, and the next layer waits for each of them. That is why it stays within a [node](GLOSSARY.md#node),
# where the connections are fast; pipelines go between nodes, and data parallelism is outermost:
# [replicas](GLOSSARY.md#replica) of the whole arrangement, each with other samples.
#
# ## What you saw
#
# Answer first, then unfold.
#
# <details><summary>All outputs are right on all ranks. What may still be wrong?</summary>
#
# The gradients. Without f's sum, the layers below get a part of theirs. Compare both with one process.
#
# </details>
#
# <details><summary>Why is <code>b2</code> added after the sum?</summary>
#
# Before it, each rank would add it once, so the output had it as often as there are ranks. Divided by their number, the
# output would be right, and its gradient too small.
#
# </details>
#
# <details><summary>GPipe and 1F1B take equally many ticks. Why does everybody use 1F1B?</summary>
#
# It keeps the activations of at most as many micro-batches as there are stages. GPipe keeps all of them.
#
# </details>
#
# <details><summary>What does the sharded optimizer send more than data parallelism?</summary>
#
# Nothing: a ring's all-reduce is a reduce-scatter and an all-gather.
#
# </details>
#
# ## What comes next
#
# Frameworks put these together: Megatron-LM splits within layers and between them, and DeepSpeed and PyTorch's
# [FSDP](GLOSSARY.md#fsdp) cut gradients and weights into shards, too, after the optimizer state. You have written the
# parts that they are made of. Read:
#
# - Shoeybi and others, [*Megatron-LM: Training Multi-Billion Parameter Language Models Using Model
#   Parallelism*](https://arxiv.org/abs/1909.08053) (2019), for f and g
# - Huang and others, [*GPipe: Efficient Training of Giant Neural Networks using Pipeline
#   Parallelism*](https://arxiv.org/abs/1811.06965) (2019)
# - Rajbhandari and others, [*ZeRO: Memory Optimizations Toward Training Trillion Parameter
#   Models*](https://arxiv.org/abs/1910.02054) (2020)
# - Narayanan and others, [*Efficient Large-Scale Language Model Training on GPU Clusters Using
#   Megatron-LM*](https://arxiv.org/abs/2104.04473) (2021), for all of them together
#
# ## Two questions
#
# They count no points. The first answer is a number: write it in place of `None`, and run the cell to hear whether it
# is right. The second answer is a text: double-click the cell, write a few sentences, and run it. Your instructor reads
# it. Both are handed in.
#
# **1. Less than a fifth.** With 4 stages, from how many micro-batches on is each rank idle for less than a fifth of the
# time, by your plan? Count the bubbles of `pipeline_schedule(4, M)`. Then measure with as many, in a new cell:
# `idle_shares(world.run(timed_step, M, init="torch"))`, with your number for `M`. What does the clock say, and where
# does the rest go?

# %% answer="micro_batches"
check.answer("micro_batches", None)

# %% [markdown]
# **2. Two nodes.** You have two nodes with four GPUs each. GPUs of one node are joined by a fast connection, the nodes
# by a slow one. The weights, gradients and the optimizer state of your model need the memory of three GPUs. How do you
# split, and why? Say what crosses the slow connection in a step.

# %% [markdown] answer="two_nodes"
# For example: the model over the four GPUs of a node, within its layers, and both nodes data parallel. Tensor
# parallelism sends activations twice for each block in each direction, and waits for them, so it needs the fast
# connection. The slow one then carries the gradients of each GPU's quarter, once a step, and that can hide behind the
# backward pass. Also right: a pipeline with a stage on each node, in which little crosses, the activations of one layer
# and their gradients, but with bubbles; it needs enough micro-batches. A sharded optimizer alone may do, if weights and
# gradients fit: with Adam they are half of the numbers, so 1.5 GPUs in this example, and that does not fit.
