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
# # 09 Inside DistributedDataParallel
#
# After this lab you can
#
# - say what [DistributedDataParallel](GLOSSARY.md#distributeddataparallel) does before the first step, in a backward
#   pass, and after it,
# - write it yourself: a [broadcast](GLOSSARY.md#broadcast), [hooks](GLOSSARY.md#hook), [buckets](GLOSSARY.md#bucket),
#   and handles that are waited for late,
# - see on a timeline which part of the communication is hidden behind the backward pass, and which is not,
# - choose a bucket size, and say what it has to do with the network's [latency](GLOSSARY.md#latency),
# - explain why all [ranks](GLOSSARY.md#rank), processes with a number, have to send the same buckets in the same order,
#   and what happens where they do not.
#
# The idea in one sentence: **{{idea}}**
#
# **Before you start.** {{needs}} From PyTorch: modules, parameters, and what `backward` leaves in `.grad`; from Python:
# closures, and in the last TODO `contextlib.contextmanager`. Each rank has its own copy of the model and its own part
# of the [global batch](GLOSSARY.md#global-batch).
#
# **Lecture.** [10 Inside DistributedDataParallel](../../course/lectures/10_inside_ddp.ipynb) shows buckets and
# [overlap](GLOSSARY.md#overlap) as films, and what hangs.
#
# **Time:** about {{minutes}} minutes.
#
# Run the cells from top to bottom. Where a cell says `# YOUR CODE HERE`, replace that line and the one below it with
# your code and run the cell. The next cell runs your code on the ranks and tells you what it saw. Check as often as you
# like: nothing can break, even if your code hangs. Grading runs the same check on new numbers, with a few more cases of
# the same kinds.
#
# Stuck? Below each check that has not passed yet, you can read how to unfold a hint. There are three for each TODO.
# They cost no points; your instructor sees how many are used.
#
# **Only the cell with your code is handed in and run: import in it what it uses.**
#
# Some cells are folded, as the next one is: what is in them is not what the lab is about. Run them like all others.

# %% folded=true
# Imports for the given cells: nothing to learn here.
import textwrap
import time

import torch
import torch.distributed as dist
from IPython.display import display
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

from autograde.notebook import Checker, needs
from course.simulated.all_reduce import slow_all_reduce
from course.simulated.layer_stack import LayerStack
from course.world import COMM, World
from course.world.meeting import meet

# %% [markdown]
# This cell starts the [world](GLOSSARY.md#world), which is four ranks that will run your code, and loads the checks:

# %%
world = World(4)
check = Checker(world)

# %% [markdown]
# Six things are true in all TODOs of this lab:
#
# - the ranks communicate in the default [process group](GLOSSARY.md#process-group) of `torch.distributed`, and all of
#   them make the same calls;
# - *trained* parameters are those of `module.parameters()` that require a gradient, each once, in that order;
# - averages are taken over all ranks: the sum of what they have, divided by their number, in whatever order you add and
#   divide;
# - what lies in `.grad` before a backward pass counts: `backward` adds to it, as it always does;
# - models may be on a GPU, and of any type: create your own tensors with the device and the dtype of those that they
#   replace (`torch.zeros_like`); some tensors are not contiguous, as they are stored by columns;
# - call functions as `dist.all_reduce(...)`, with the module's name: later, this lab puts a slow network behind it.
#
# And DistributedDataParallel is not used inside: you are writing it.
#
# ## 1. All begin alike
#
# Averaged gradients keep models equal that are equal. So first, everybody has to get rank 0's numbers: by a
# broadcast. Which numbers? The parameters that an optimizer changes, those that are
# frozen, and the [buffers](GLOSSARY.md#buffer): tensors that belong to the model and are not trained. Not all of them
# are in the [state dict](GLOSSARY.md#state-dict).

# %% todo="broadcast_state"
import torch
import torch.distributed as dist


def broadcast_state(module: torch.nn.Module) -> None:
    """Give all ranks rank 0's parameters and buffers.

    Whoever holds one of the module's tensors, or a view of one, sees the new numbers.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        for tensor in [*module.parameters(), *module.buffers()]:
            dist.broadcast(tensor, src=0)
    ### END SOLUTION


# %% check="broadcast_state"
check("broadcast_state")

# %% [markdown]
# Once is enough for parameters: from then on all ranks make the same steps. Buffers are another matter. BatchNorm's
# running mean follows the samples that a *rank* sees, and nobody averages it. Here are the running means of four ranks
# that begin alike and see other samples. With your function before each step, all of them follow rank 0's samples.
# (DistributedDataParallel does this for the *buffers* only, before each forward pass in training, unless you say
# `broadcast_buffers=False`. It sends the parameters once, when the model is wrapped.)


# %%
def running_means(broadcast, steps: int) -> list[float]:
    """One running mean of this rank after each step.

    broadcast: what is called before each; None: nothing is.
    """
    torch.manual_seed(0)
    norm = torch.nn.BatchNorm1d(1)
    samples = torch.Generator().manual_seed(1 + dist.get_rank())
    means = []
    for _ in range(steps):
        if broadcast is not None:
            broadcast(norm)
        norm(torch.randn(8, 1, generator=samples) + 1)
        means.append(norm.running_mean.item())
    return means


drift = {"each rank its own": world.run(running_means, None, 20, init="torch")}
with needs("broadcast_state"):
    means = world.run(running_means, broadcast_state, 20, init="torch")
    drift["rank 0's before each step"] = means
for way, means in drift.items():
    last = [f"rank {rank}: {own[-1]:.3f}" for rank, own in enumerate(means)]
    print(f"{way:27}", "  ".join(last))

# %% [markdown]
# Step by step, without a broadcast and with it: one line for each rank.

# %% folded=true
# Draws the running mean of each rank, step by step, without your broadcast and with it.
from course.lab.figures.buffer_drift import buffer_drift_picture

buffer_drift_picture(drift)

# %% [markdown]
# The validation loss of such a model depends on which rank you ask. (The second line's numbers differ a little, too:
# the last step's samples came after the last broadcast.)
#
# ## 2. After the backward pass
#
# Now the simplest way to average gradients: when `backward` has returned, go through the parameters, one all-reduce for
# each. There is one trap. On some rank, a parameter may have no gradient at all, because this rank's samples did not
# need it. An all-reduce is a [collective](GLOSSARY.md#collective): a rank that leaves it out makes the others wait, or
# worse, it meets them with the next one.

# %% todo="average_gradients"
import torch
import torch.distributed as dist


def average_gradients(module: torch.nn.Module) -> None:
    """Average the gradients of `module` over all ranks; called after a backward pass.

    On some rank `.grad` may be None where a parameter has a gradient on another one.
    Afterwards each trained parameter has one, on all ranks. The order of the
    all-reduces is the same on all ranks. Parameters and buffers stay as they are.
    """
    ### BEGIN SOLUTION
    size = dist.get_world_size()
    for parameter in module.parameters():
        if parameter.requires_grad:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            dist.all_reduce(parameter.grad)
            parameter.grad /= size
    ### END SOLUTION


# %% check="average_gradients"
check("average_gradients")

# %% [markdown]
# How long does a step take? To see that on a laptop, here is a model of 16 layers that *sleep*: each takes 2.5 ms
# forward and 12 ms backward, and has 98 kB of gradients. And a simulated network on which an all-reduce goes round a
# ring, at 1.5 ms for a message and 25 MB/s, one all-reduce after the other. What is added up is real; only the waiting
# is made up.
#
# `step_times`, in the folded cell, makes steps on it. What it is to do about gradients comes as a function
# `attach(model)`. That is called once, before the first step, and gives a function that is called after each backward
# pass. `run_steps(attach)` calls `step_times` on all ranks.

# %% folded=true
# Makes steps of the sleeping model on the simulated network, and takes their times.
LAYERS, FORWARD, BACKWARD = 16, 0.0025, 0.012  # number, and seconds of each layer
LATENCY, BANDWIDTH = 0.0015, 25e6  # seconds of a message; bytes in a second
LAYER_BYTES = 4 * LayerStack.WEIGHTS


def step_times(comm, attach, latency: float, steps: int = 4) -> dict:
    """Steps of the sleeping layers on the simulated network.

    On each rank: the `seconds` of the fastest step, and, of the last one, its seconds,
    and when its backward pass and those of its layers began and ended. In seconds.
    """
    model = LayerStack(LAYERS, FORWARD, BACKWARD)
    finish = attach(model)
    # DistributedDataParallel has a forward pass of its own.
    forward = getattr(finish, "forward", model)
    times = []
    with slow_all_reduce(latency, BANDWIDTH):
        for _ in range(steps):
            model.zero_grad()
            model.notes.clear()
            meet(comm)
            began = time.perf_counter()
            loss = forward(torch.ones(1))
            backward = time.perf_counter()
            loss.backward()
            ended = time.perf_counter()
            finish()
            times.append(time.perf_counter() - began)
    layers = [(layer, start - began, end - began) for layer, start, end in model.notes]
    moments = {"backward": (backward - began, ended - began), "layers": layers}
    return {"seconds": min(times), "last": times[-1], **moments}


def run_steps(attach, latency: float = LATENCY) -> dict:
    """`step_times` on all ranks: the slowest's `seconds`, what each saw and sent."""
    ranks = world.run(step_times, COMM, attach, latency, init="torch", deadline=60)
    slowest = max(each["seconds"] for each in ranks)
    return {"seconds": slowest, "ranks": ranks, "events": world.events}


def taken(way: str) -> dict:
    """The run of a way, as taken above or below."""
    if way not in ways:
        raise NotImplementedError()
    return ways[way]


# %% [markdown]
# Two ways to begin with: nothing is sent at all, and your loop after the backward pass.


# %%
def nothing(model):
    """Nothing is sent."""
    return lambda: None


def one_by_one(model):
    """Your loop over the parameters, after the backward pass."""
    return lambda: average_gradients(model)


ways = {"nothing sent": run_steps(nothing)}
with needs("average_gradients"):
    ways["one by one, after backward"] = run_steps(one_by_one)
for way, run in ways.items():
    print(f"{way:28} {1000 * run['seconds']:6.0f} ms")

# %% [markdown]
# On four ranks, each all-reduce is $2 (N - 1) = 6$ messages long: 9 ms, and the bytes. Sixteen of them one after the
# other double the step, and all that time the ranks have nothing to do.
#
# ## 3. During the backward pass
#
# `backward` begins with the last layer. When it comes to the first, the last one's gradient has long been ready, so it
# might as well be on its way. Three things make that possible:
#
# - `parameter.register_post_accumulate_grad_hook(f)` has `f(parameter)` called in each backward pass, as soon as
#   `parameter.grad` is complete: once, also where the parameter is used twice. It is called with the *parameter*, and
#   has to return None. On a frozen parameter the method raises an error, and where the parameter is not used, `f` is
#   not called.
# - `dist.all_reduce(tensor, async_op=True)` starts the all-reduce and returns a handle. `handle.wait()` returns when
#   the sum is there. Before that, nobody knows what is in `tensor`: neither read nor change it.
# - a function inside your function remembers what it needs between the hooks and the end of the step.

# %% todo="overlap_backward"
from collections.abc import Callable

import torch
import torch.distributed as dist


def overlap_backward(module: torch.nn.Module) -> Callable[[], None]:
    """Average the gradients of `module` while its backward pass runs.

    Called once for a module. From then on, in each backward pass, hooks start the
    all-reduces.
    Returns a function without arguments, which is called after each backward pass: one
    pass and this call are a step. There may be any number of steps. In each pass all
    ranks use all trained parameters, in one and the same order. Parameters and buffers
    stay as they are.
    """
    ### BEGIN SOLUTION
    size = dist.get_world_size()
    started = []

    def start(parameter: torch.nn.Parameter) -> None:
        started.append((parameter, dist.all_reduce(parameter.grad, async_op=True)))

    def finish() -> None:
        for parameter, handle in started:
            handle.wait()
            parameter.grad /= size
        started.clear()

    for parameter in module.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(start)
    return finish
    ### END SOLUTION


# %% check="overlap_backward"
check("overlap_backward")

# %%
with needs("overlap_backward"):
    ways["one by one, from hooks"] = run_steps(overlap_backward)
for way, run in ways.items():
    print(f"{way:28} {1000 * run['seconds']:6.0f} ms")

# %% [markdown]
# Better. But an all-reduce takes about 15 ms here, and a layer's backward pass 12: the network falls further and
# further behind. Of the 15 ms, 9 are latency. They are the same for one layer's gradients and for two layers'.
#
# ## 4. Buckets
#
# So let several gradients share an all-reduce: in a bucket. Which ones? Those that are ready one
# after the other. Nobody knows that order beforehand, but the parameters' order *backwards* is a good guess.


# %% todo="assign_buckets"
def assign_buckets(sizes: list[int], limit: int) -> list[list[int]]:
    """Which gradients share an all-reduce.

    sizes: bytes of each trained parameter's gradient, above 0. limit: the most bytes
    that a bucket may have.
    Returns a list of buckets, each a list of indices into `sizes`. The indices go from
    the last to the first, as a backward pass reaches them, and each is there once. A
    bucket takes the next gradient unless that would make it larger than `limit`; then
    this gradient begins a new bucket. A gradient that is larger than `limit` has a
    bucket of its own. No bucket is empty; for no sizes there are no buckets.

    Example: assign_buckets([40, 10, 30, 20], 50) is [[3, 2], [1, 0]].
    """
    ### BEGIN SOLUTION
    buckets, room = [], 0
    for index in reversed(range(len(sizes))):
        if not buckets or sizes[index] > room:
            buckets.append([])
            room = limit
        buckets[-1].append(index)
        room -= sizes[index]
    return buckets
    ### END SOLUTION


# %% check="assign_buckets"
check("assign_buckets")

# %% [markdown]
# The buckets of the sleeping model, by limit. (DistributedDataParallel's rule is a little different: it closes a bucket
# once the limit is reached. By default the limit is 25 MiB, and the first bucket's 1 MiB, so that something leaves
# early.)

# %%
with needs("assign_buckets"):
    for layers in (1, 2, 4, 8, 16):
        limit = layers * LAYER_BYTES
        buckets = assign_buckets([LAYER_BYTES] * LAYERS, limit)
        count, first = len(buckets), buckets[0]
        size = f"{layers:2} layers, {limit / 1e3:5.0f} kB"
        print(f"{size}: {count:2} buckets, the first is {first}")

# %% [markdown]
# ## 5. The reducer
#
# What is left is the heart of DistributedDataParallel, its *reducer*. When the last gradient of a bucket is ready, the
# bucket goes. But there is a rule, and whoever writes a reducer forgets it at first (Li and
# others, [*PyTorch Distributed: Experiences on Accelerating Data Parallel Training*](https://arxiv.org/abs/2006.15704),
# 2020, section 3.2.3). All-reduces are matched by their *order*: the first of this
# rank with the first of the others. And the order in which gradients become ready may differ by rank. So **a bucket
# goes when it is complete and all buckets before it are gone**. A bucket that is complete too early waits for its turn.
#
# Two ranks, and what they would send without the rule and with it. Rank 1 uses two layers in the other order:
#
# | | buckets become complete | sent as they become complete | sent by the rule |
# |---|---|---|---|
# | rank 0 | 0, 1, 2 | 0, 1, 2 | 0, 1, 2 |
# | rank 1 | 0, 2, 1 | 0, **2, 1** | 0, then 1 and 2 |
#
# Without it, bucket 1 of one rank is added to bucket 2 of the other. If they have the same size, nobody notices. Else,
# [gloo](GLOSSARY.md#gloo) aborts the process.
#
# And with [gradient accumulation](GLOSSARY.md#gradient-accumulation) over several
# [micro-batches](GLOSSARY.md#micro-batch), only the last backward pass of a step is to send anything. So there is a
# [`no_sync()`](GLOSSARY.md#no_sync), as in DistributedDataParallel. (Yours looks at the backward pass only.
# DistributedDataParallel decides in the *forward* pass: with it, that has to be in the block, too, or else all
# gradients are sent.)

# %% todo="Reducer"
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist


class Reducer:
    """Averages the gradients of `module` in buckets, while its backward passes run.

    buckets: lists of indices of trained parameters, as `assign_buckets` makes them: the
    bucket that is sent first comes first. There is one reducer for a module, and all
    gradients are of one type. See also the rules at the top of the notebook.

    In a backward pass outside of `no_sync`, a bucket is complete when each of its
    gradients has been accumulated in this pass. It is sent then, or when those before
    it have been: all ranks send the same buckets in the same order, in whatever order
    their own gradients become ready.
    For each `finish()` there are exactly len(buckets) all-reduces, of just the buckets'
    bytes, and no other communication. Parameters and buffers stay as they are.
    """

    def __init__(self, module: torch.nn.Module, buckets: list[list[int]]) -> None:
        """Set the hooks."""
        ### BEGIN SOLUTION
        trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
        self.buckets = [[trained[index] for index in bucket] for bucket in buckets]
        self.number = {parameter: number for number, bucket in enumerate(self.buckets) for parameter in bucket}
        self.sending = True
        self.start_over()
        for parameter in trained:
            parameter.register_post_accumulate_grad_hook(self.ready)
        ### END SOLUTION

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """In its block, backward passes send nothing, and gradients add up in `.grad`,
        as they always do; the next pass outside of it sends the sums. When the block is
        left, also by an error, sending goes on; of blocks in each other, when the outer
        one is left."""
        ### BEGIN SOLUTION
        before, self.sending = self.sending, False
        try:
            yield
        finally:
            self.sending = before
        ### END SOLUTION

    def finish(self) -> None:
        """Called after each backward pass outside of `no_sync`. Sends what has not been
        sent, in order. A `.grad` that is None counts as zero, as that of a parameter
        which this rank did not use; any other counts as it is. Waits. Then `.grad` of
        each trained parameter has the average."""
        ### BEGIN SOLUTION
        while len(self.sent) < len(self.buckets):
            self.send()
        for bucket, (row, handle) in zip(self.buckets, self.sent, strict=True):
            handle.wait()
            row /= dist.get_world_size()
            for parameter, part in zip(bucket, row.split([each.numel() for each in bucket]), strict=True):
                parameter.grad.copy_(part.view_as(parameter))
        self.start_over()

    def start_over(self) -> None:
        """Nothing is ready, and nothing has been sent."""
        self.missing = [len(bucket) for bucket in self.buckets]
        self.sent = []

    def ready(self, parameter: torch.nn.Parameter) -> None:
        """Called when a gradient has been accumulated."""
        if self.sending:
            self.missing[self.number[parameter]] -= 1
            while len(self.sent) < len(self.buckets) and self.missing[len(self.sent)] == 0:
                self.send()

    def send(self) -> None:
        """Send the next bucket; what this rank did not use is zero in it."""
        parts = []
        for parameter in self.buckets[len(self.sent)]:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            parts.append(parameter.grad.flatten())
        row = torch.cat(parts)
        self.sent.append((row, dist.all_reduce(row, async_op=True)))
        ### END SOLUTION


# %% check="Reducer"
check("Reducer")

# %% [markdown]
# Now hold it beside torch's own. The same model and the same samples on four ranks, three steps: once with your
# reducer, once with DistributedDataParallel. Each rank begins with other weights. (The last digit may differ: other
# buckets add the same numbers in another order.)


# %%
def trained(wrap: bool, limit: int) -> float:
    """The sum of a model's weights after three steps with DDP, or else your reducer."""
    torch.manual_seed(dist.get_rank())
    layers = (torch.nn.Linear(20, 30), torch.nn.Tanh(), torch.nn.Linear(30, 10))
    model = torch.nn.Sequential(*layers).double()
    forward, finish = model, None
    if wrap:
        forward = DistributedDataParallel(model)
    else:
        broadcast_state(model)
        sizes = [parameter.nbytes for parameter in model.parameters()]
        finish = Reducer(model, assign_buckets(sizes, limit)).finish
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for _ in range(3):
        optimizer.zero_grad()
        forward(torch.randn(8, 20, dtype=torch.float64)).square().mean().backward()
        if finish is not None:
            finish()
        optimizer.step()
    return sum(parameter.sum().item() for parameter in model.parameters())


sums = {"DistributedDataParallel": world.run(trained, True, 0, init="torch")}
with needs("broadcast_state", "assign_buckets", "Reducer"):
    sums["your reducer"] = world.run(trained, False, 3000, init="torch")
for way, values in sums.items():
    print(f"{way:24}", "  ".join(f"{value:.13f}" for value in values))

# %% [markdown]
# ## 6. How much is hidden?
#
# The sleeping layers again: one step in five ways. `DistributedDataParallel` gets the same buckets, of two layers each,
# and the simulated network, too. (Printed is the fastest of four steps; the picture below shows the last one, which may
# be slower.)


# %%
def in_buckets(layers: int):
    """An `attach` for `step_times`: your reducer, with so many layers in a bucket."""

    def attach(model):
        buckets = assign_buckets([LAYER_BYTES] * LAYERS, layers * LAYER_BYTES)
        return Reducer(model, buckets).finish

    return attach


def torchs_own(model):
    """DistributedDataParallel; it calls `dist.all_reduce` for buckets of two layers."""
    wrapper = DistributedDataParallel(model, bucket_cap_mb=2 * LAYER_BYTES / 2**20)
    wrapper.register_comm_hook(None, allreduce_hook)

    def finish() -> None:
        """Its backward pass has waited already."""

    finish.forward = wrapper
    return finish


with needs("assign_buckets", "Reducer"):
    ways["in buckets of two layers"] = run_steps(in_buckets(2))
ways["DistributedDataParallel"] = run_steps(torchs_own)
for way, run in ways.items():
    print(f"{way:28} {1000 * run['seconds']:6.0f} ms")

# %% [markdown]
# One step in each of these ways: the forward and the backward pass, the all-reduces below them, and in
# another colour what is *not hidden*: there the rank has nothing to do but wait.

# %% folded=true
# Draws one step in each way as a timeline, with the communication that nothing hides.
from course.figures.overlap.steps_picture import steps_picture

steps_picture(ways, LATENCY, BANDWIDTH)

# %% [markdown]
# And your own reducer at work, from the notes of the same run: gradients appear from the last layer on, fill buckets,
# and leave, while the backward pass goes on.

# %% folded=true
# Draws the backward pass of your reducer, layer by layer, as a film.
from course.lab.figures.bucket_movie import bucket_movie

with needs("assign_buckets", "Reducer"):
    two_layers = assign_buckets([LAYER_BYTES] * LAYERS, 2 * LAYER_BYTES)
    run = taken("in buckets of two layers")
    display(bucket_movie(run, two_layers, LATENCY, BANDWIDTH))

# %% [markdown]
# What is left over, beyond the time with nothing sent, is what the backward pass could *not* hide: the last bucket at
# least, as nothing is computed any more when it becomes complete.
#
# ## 7. Which bucket size?
#
# Small buckets pay the latency again and again. Large ones leave late, and the last one is long. Somewhere between is
# the best one.

# %%
sizes_tried = {layers: layers * LAYER_BYTES for layers in (1, 2, 4, 8, 16)}


def times_by_size(latency: float) -> dict[int, float]:
    """Seconds of a step by the bytes of a bucket."""
    times = {}
    for layers, size in sizes_tried.items():
        times[size] = run_steps(in_buckets(layers), latency)["seconds"]
    return times


by_size = {}
with needs("assign_buckets", "Reducer"):
    by_size = times_by_size(LATENCY)
for size, seconds in by_size.items():
    print(f"{size / 1e3:6.0f} kB {1000 * seconds:6.0f} ms")

# %% [markdown]
# Step time against bucket size: look for the lowest point, and for what is right and left of it.

# %% folded=true
# Draws the time of a step against the size of a bucket, and marks the best one.
from course.lab.figures.bucket_size_picture import bucket_size_picture

with needs("assign_buckets", "Reducer"):
    if not by_size:
        raise NotImplementedError()
    computing = taken("nothing sent")["seconds"]
    display(bucket_size_picture({"your reducer": by_size}, computing))

# %% [markdown]
# DistributedDataParallel's default is 25 MiB, made for GPUs with [NCCL](GLOSSARY.md#nccl). There, a backward pass and a
# network both get through far more bytes in the time of one latency. So the curve has the same shape, and its bottom is
# at far larger buckets.
#
# ## 8. What nobody used
#
# What does DistributedDataParallel do where a rank did not use a parameter? Unless it is told to look for them
# (`find_unused_parameters=True`), it waits for their gradients, and at the next forward pass it says so. Read the
# message, and find in it what you know now: the reduction that was not finished, and the indices of the parameters
# whose gradients did not come.


# %%
def unused() -> str:
    """What DistributedDataParallel says about a layer that no loss depends on."""
    layers = {"used": torch.nn.Linear(2, 2), "unused": torch.nn.Linear(2, 2)}
    model = torch.nn.ModuleDict(layers)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = model

        def forward(self, x):
            return self.layers["used"](x)

    wrapper = DistributedDataParallel(Model())
    try:
        for _ in range(2):
            wrapper(torch.ones(1, 2)).sum().backward()
    except RuntimeError as error:
        return str(error)
    return "nothing"


for line in world.run(unused, init="torch")[0].splitlines():
    print(textwrap.fill(line, 100))

# %% [markdown]
# Your reducer sends zeros in their place. It pays with the time until `finish()`: the bucket of an unused parameter
# never becomes complete, and all that follow wait behind it. And afterwards `.grad` holds zeros, also of a parameter
# that *no* rank used. DistributedDataParallel leaves that one's `.grad` as it was, None: so an optimizer with
# [momentum](GLOSSARY.md#momentum) or weight decay moves it after your reducer, and leaves it alone after
# DistributedDataParallel. DistributedDataParallel pays in another way, and only if you ask for it: it walks through the
# graph after each forward pass, and marks as ready what is not in it.
#
# ## What you saw
#
# Answer first, then unfold.
#
# <details><summary>Why does a reducer need no communication to agree on what is sent next?</summary>
#
# The order of the buckets follows from the order of the parameters, which is the same on all ranks, and nobody deviates
# from it. What differs by rank is only *when* a bucket goes.
#
# </details>
#
# <details><summary>Why may nobody divide a gradient right after its all-reduce was started?</summary>
#
# Because nobody knows what is in it. If the sum comes later, it overwrites what was divided; if it is there already,
# all is well. So it may pass on a fast network and fail on a slow one.
#
# </details>
#
# <details><summary>What can a backward pass never hide?</summary>
#
# The last bucket: it is complete when the backward pass is over.
#
# </details>
#
# <details><summary>A rank has no gradient where another has one. Why not leave the all-reduce out?</summary>
#
# All-reduces are matched by their order. The others would add theirs to this rank's next one, or wait for ever.
#
# </details>
#
# ## What comes next
#
# Lab 10 trains a transformer with DistributedDataParallel: now you know what is in the box. (A lab that your course
# leaves out is not needed: go on with the next one that you have.)
#
# ## Two questions
#
# They count no points. The first answer is a number: write it in place of `None`, and run the cell to hear whether it
# is right. The second answer is a text: double-click the cell, write a few sentences, and run it. Your instructor reads
# it. Both are handed in.
#
# **1. A slower start.** Double the latency of the simulated network, on four ranks. Guess first: of the five bucket
# sizes, which is the best one now? Then call `times_by_size(2 * LATENCY)` in a new cell. By what factor has the best
# bucket size grown? (If two sizes are within 15 ms of each other, your machine decides which one is lower. Run it again
# when nothing else runs, or work it out: a bucket's all-reduce, latency and bytes, has to fit into the backward pass of
# its layers. Which is the smallest size for which it does?)

# %% answer="times_larger"
check.answer("times_larger", None)

# %% [markdown]
# **2. It works on my laptop.** A colleague has written a reducer that sends each bucket as soon as it is full. It gave
# the right losses on her laptop for weeks. On the cluster, with a model that leaves out layers at random, the losses
# are a little worse on some days, and on others the processes are aborted. What happens, how could it pass for so long,
# and how would you show it to her on two ranks?

# %% [markdown] answer="passed_for_weeks"
# All-reduces are matched by their order, not by what is in them. As long as all ranks have the same graph, their
# buckets get full in the same order, and all is well. Layers that are left out at random make the ranks' graphs differ:
# now one rank sends bucket 2 while another sends bucket 1. If both have the same size, the sum mixes gradients of
# different layers, without any error: a little worse. If the sizes differ, the backend aborts. To show it: two ranks,
# two layers that rank 1 uses in the other order, buckets of one layer each, of the same size; after one step compare
# each gradient with the mean that one process computes. With buckets of different sizes it crashes at once. The cure is
# an order that all ranks keep: a bucket waits until those before it are gone.
