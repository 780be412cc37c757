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
# # 14 Where does the time go?
#
# After this lab you can
#
# - count the operations of a training step, before anything is measured,
# - say of each [rank](GLOSSARY.md#rank)'s time how much goes into computing, how much into communication that is
#   [hidden](GLOSSARY.md#overlap) behind it, how much into communication that is not, and how much into neither,
# - find the rank that all others wait for, although no two ranks' clocks agree.
#
# The idea in one sentence: **a step takes as long as its slowest chain of work, so look for where a rank waits, and
# whom it waits for, before you change anything.**
#
# **Before you start.** You need the [all-reduce](GLOSSARY.md#all-reduce) of lab 03 and the
# [overlap](GLOSSARY.md#overlap) of lab 09. From Python: lists, dicts, sorting.
#
# **Time:** 90 to 120 minutes.
#
# Run the cells from top to bottom. Where a cell says `# YOUR CODE HERE`, replace that line and the one below it with
# your code and run the cell. The next cell runs your code and tells you what it saw. Check as often as you like:
# nothing can break, even if your code hangs. Grading runs the same check on new numbers.
#
# Stuck? Below each check that has not passed yet, you can read how to unfold a hint. There are three for each TODO.
# They cost no points; your instructor sees how many are used.
#
# **Only the cell with your code is handed in and run: import in it what it uses.**
#
# Some cells are folded, as the next one is: what is in them is not what the lab is about. Run them like all others.

# %% folded=true
# Imports for the given cells: nothing to learn here.
from autograde.notebook import Checker, needs
from course.world import World

# %% [markdown]
# This cell starts the [world](GLOSSARY.md#world), which is four ranks that will run your code, and loads the checks:

# %%
world = World(4)
check = Checker("checks", world)

# %% [markdown]
# ## 1. What a step has to compute

# %% [markdown]
# ## 2. What is hidden, and what is not

# %% [markdown]
# ## 3. Who is late?

# %% [markdown]
# ## 4. Which of six?


# %% todo="diagnose"
def diagnose(trace: list) -> str:
    """The one of six causes that makes a step slow.

    trace: by rank, from one rank on, the spans of one step, as `clocked_step` gives them:
    `Span(kind, start, end, name)`, in seconds. Returns one of these texts:

    "loader": a rank, or each, waits for its batch, in a span of kind "loading".
    "synchronisation": on a rank, or on each, the device has nothing to do because the
        process has waited for a number of it, in spans of kind "wait".
    "recomputation": each rank computes the forward pass of some layers twice: two
        spans of kind "compute" have the same name, such as "forward 3".
    "imbalance": one rank computes longer than the others, who wait for it in their
        all-reduces, spans of kind "communication".
    "late bucket": there is at most one all-reduce for each layer, and the last one
        goes on for long after all ranks have computed their last gradient.
    "small all-reduces": there is one for each parameter, so several for each layer,
        and some of them go on for long after that.

    Several may leave spans in one trace. One of them costs at least a tenth of the
    step, which would be so much shorter without it; each other one costs less than a
    twentieth. `exposed` and `late_rank` are not there when the check runs: do without.

    Example: spans "loading" from 0 to 3, "forward 0" from 3 to 4 and "backward 0" from
    4 to 6, on one rank, are "loader".
    """
    ### BEGIN SOLUTION

    def seconds(spans, kind):
        return sum(span.end - span.start for span in spans if span.kind == kind)

    computed = [seconds(spans, "compute") for spans in trace]
    own = [span for span in trace[0] if span.kind == "compute"]
    once = {span.name: span.end - span.start for span in own}
    layers = [name for name in once if name.startswith("backward")]
    sent = [span.end for span in trace[0] if span.kind == "communication"]
    last = max(span.end for spans in trace for span in spans if span.name in layers)
    network = "small all-reduces" if len(sent) > len(layers) else "late bucket"
    costs = {
        "loader": max(seconds(spans, "loading") for spans in trace),
        "synchronisation": max(seconds(spans, "wait") for spans in trace),
        "recomputation": sum(span.end - span.start for span in own) - sum(once.values()),
        "imbalance": max(computed) - min(computed),
        network: max(sent, default=0.0) - last,
    }
    return max(costs, key=costs.get)
    ### END SOLUTION


# %% check="diagnose"
check("diagnose")

# %% [markdown]
# ## 5. Fetch ahead

# %% todo="prefetched"
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor


def prefetched(loader: Iterable, depth: int) -> Iterator:
    """Yield the batches of `loader` in order; fetch the next ones while one is in use.

    loader: an iterable, perhaps without an end; `next` of its iterator takes a while, and
    must not be called by two threads at the same time. depth: 1 or more.

    A batch is in use from when it is yielded until the next one is asked for. In this
    time a thread fetches on, until the `depth` batches behind it are there; it may fetch
    one more, but no further. An error that the loader raises is raised here, where the
    batch would have come that could not be fetched.

    No thread stays behind, neither at the end, nor after an error, nor if the consumer
    stops early: then the generator is closed (Python calls its `close`).

    Example: with a loader of "abcde" and depth 2, while "a" is in use, "b" and "c" are
    fetched, and perhaps "d".
    """
    ### BEGIN SOLUTION
    batches, end = iter(loader), object()
    with ThreadPoolExecutor(1) as pool:  # waits for its thread when the block is left
        ahead = deque(pool.submit(next, batches, end) for _ in range(depth))
        while (batch := ahead.popleft().result()) is not end:
            ahead.append(pool.submit(next, batches, end))
            yield batch
    ### END SOLUTION


# %% check="prefetched"
check("prefetched")

# %% [markdown]
# ## 6. Repair a step

# %%
import torch
import torch.distributed as dist


def slow_step(model, micro_batches, loss_fn) -> float:
    """One step's gradients. Returns the mean loss of all micro-batches of all ranks.

    Afterwards `.grad` of each parameter is the mean of its gradients in them. Frozen
    parameters, which need no gradient, are left alone.
    """
    model.zero_grad()
    total = 0.0
    for x, y in micro_batches:
        loss = loss_fn(model(x), y) / len(micro_batches)
        loss.backward()
        with torch.no_grad():  # for the log
            total += loss_fn(model(x), y).item() / len(micro_batches)
    for parameter in model.parameters():
        if parameter.requires_grad:
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
    mean = torch.tensor(total)
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size()


# %% todo="repaired_step"
import torch
import torch.distributed as dist


def repaired_step(model, micro_batches: list, loss_fn) -> float:
    """What `slow_step` does, without what makes it slow.

    micro_batches: at least one pair (x, y), as many on all ranks. loss_fn: of outputs
    and y, a tensor of one number. Each parameter gets a gradient, except frozen ones.
    All tensors have one dtype. In `.grad` there may be something when the function is
    called. The optimizer's step comes later, and is not yours.

    Example: with 24 parameters and 4 micro-batches, `slow_step` waits for the device 5
    times, makes 25 all-reduces and 8 forward passes; yours waits once, and makes one or
    two all-reduces and 4 forward passes.
    """
    ### BEGIN SOLUTION
    model.zero_grad()
    total = torch.zeros(())
    for x, y in micro_batches:
        loss = loss_fn(model(x), y) / len(micro_batches)
        loss.backward()
        total = total + loss.detach()
    trained = [each for each in model.parameters() if each.requires_grad]
    row = torch.cat([each.grad.flatten() for each in trained] + [total.view(1)])
    dist.all_reduce(row)
    row /= dist.get_world_size()
    parts = row.split([each.numel() for each in trained] + [1])
    for parameter, part in zip(trained, parts, strict=False):
        parameter.grad = part.view_as(parameter)
    return parts[-1].item()
    ### END SOLUTION


# %% check="repaired_step"
check("repaired_step")

# %% [markdown]
# ## What comes next
#
# ## Two questions
#
# They count no points. The first answer is a number: write it in place of `None`, and run the cell to hear whether it
# is right. (The key is in `questions.toml`, next to this notebook. Find your own number first.) The second answer is a
# text: double-click the cell, write a few sentences, and run it. Your instructor reads it. Both are handed in.
