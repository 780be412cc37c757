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
# # 03 Pi on several ranks
#
# After this lab you can
#
# - share out a loop among any number of [ranks](GLOSSARY.md#rank), so that nothing is done twice or left out,
# - combine the parts of all ranks into one number, with mpi4py, torch.distributed and
#   [Horovod](GLOSSARY.md#horovod),
# - recognise a [deadlock](GLOSSARY.md#deadlock), and read from a report which rank is missing,
# - measure the [speed-up](GLOSSARY.md#speed-up) from more ranks, and say when there is none.
#
# A **rank** is a process with a number. All ranks run the same program, each in its own memory,
# and they exchange data by messages. **[MPI](GLOSSARY.md#mpi)**, the Message Passing Interface, is the standard by
# which they do so. This notebook is not a rank: it sends its functions to four of them.
#
# The idea in one sentence: **{{idea}}**
#
# **Before you start.** {{needs}} In a training, what the ranks sum up are gradients: lab 01, *Paths over a loss
# surface*, shows what these are. Lab 02, *Hello, ranks*, introduces ranks step by step; without it you find all you
# need here. You need Python functions, NumPy arrays (`arange`, arithmetic, `sum`) and, from section 3 on, PyTorch
# tensors. You need not know MPI.
#
# **Lecture.** [2 One program, many ranks](../../course/lectures/02_ranks.ipynb) introduces what this lab uses;
# [3 Talking to everybody at once](../../course/lectures/03_talking_to_everybody.ipynb) shows what it costs.
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
# Some cells are folded: what is in them is not what the lab is about. Run them like all others.
#
# ## The area under a curve
#
# The area under the curve $f(x) = 4 / (1 + x^2)$, from 0 to 1, is $\pi$. Cut it into $n$ slices of width $h$, each as
# high as the curve is in the *middle* of the slice, and add them up:
#
# $$\pi = \int_0^1 \frac{4}{1 + x^2}\, dx \approx \sum_{i=0}^{n-1} f(x_i)\, h, \qquad
# h = \frac{1}{n}, \quad x_i = \left(i + \tfrac12\right) h$$
#
# In Python:

# %%
import math

import numpy as np


def f(x: np.ndarray) -> np.ndarray:
    """4 / (1 + x^2), for a float64 array of any shape."""
    if not isinstance(x, np.ndarray) or x.dtype != np.float64:
        raise TypeError(f"f takes a float64 ndarray, not {type(x).__name__}")
    return 4.0 / (1.0 + x * x)


# %% [markdown]
# The slices do not depend on each other, so several ranks can share the work. Here, 14 slices are given to four ranks
# at random:

# %% folded=true
# Draws the slices, in the colours of the ranks that own them.
from course.lab.figures.slices import slices_picture
from course.models.midpoints import midpoints

owner = np.random.default_rng(1).permutation(14) % 4  # the rank that gets slice i
given = [midpoints(14, np.flatnonzero(owner == rank)) for rank in range(4)]
slices_picture(f, 14, given, "14 slices, given to 4 ranks at random", count="slices")

# %% [markdown]
# Any way to share out the slices is right, as long as each slice goes to exactly one rank. The shares are *fair* if
# their sizes differ by at most one slice. On one rank, the sum takes three lines:


# %%
def serial_pi(intervals: int) -> float:
    """Pi by the midpoint rule, on one rank."""
    h = 1 / intervals
    x = (np.arange(intervals) + 0.5) * h
    return float(np.sum(f(x)) * h)


for intervals in 1, 10, 100, 1000:
    pi = serial_pi(intervals)
    print(f"{intervals:5} intervals: {pi:.10f}, off by {abs(pi - math.pi):.1e}")

# %% [markdown]
# ## Four ranks
#
# The folded cell imports what the given cells use.

# %% folded=true
# Imports for the given cells: nothing to learn here.
import time

from IPython.display import display

from autograde.notebook import Checker, needs
from course.batch.record import record
from course.figures.ranks.timeline import timeline
from course.figures.scaling.speedup import speedup_picture
from course.processes.surroundings.machine import cores
from course.world import COMM, World

# %% [markdown]
# All ranks together are the **[world](GLOSSARY.md#world)**. This cell starts a world of four ranks, and loads the
# checks:

# %%
world = World(4)
check = Checker(world)

# %% [markdown]
# A cell that begins with `%%px` runs on all four ranks at once:

# %%
# %%px
from mpi4py import MPI

print(f"I am rank {MPI.COMM_WORLD.rank} of {MPI.COMM_WORLD.size}.")
luck = 7 * MPI.COMM_WORLD.rank

# %%
# %%px
print(f"The luck of rank {MPI.COMM_WORLD.rank} is {luck}.")

# %% [markdown]
# One program, four processes, and each process has a memory of its own: every rank has a different `luck`, and this
# notebook has none at all. The ranks differ in nothing but their number. They do not wait for each other, so their
# lines may come in any order.
#
# `world.run` sends a function to ranks of your choice and brings back what it returns on each. `COMM` stands for the
# **[communicator](GLOSSARY.md#communicator)** of these ranks: the group in which they have numbers and exchange
# messages.


# %%
def introduce(comm) -> str:
    """What a rank knows about itself."""
    from mpi4py import MPI

    everyone = MPI.COMM_WORLD
    here = f"rank {comm.rank} of {comm.size} here"
    return f"{here}, rank {everyone.rank} of {everyone.size} in the world"


for line in world.run(introduce, COMM, ranks=[2, 0, 3]):
    print(line)

# %% [markdown]
# A rank may have one number in the world and another one in a smaller group. A function that is given a communicator
# asks *it* for rank and size.
#
# ## 1. Your share
#
# Each rank calls the same function, and only `rank` differs. Which slices are its own?
#
# Two things to know before you start:
#
# - **`f` takes a float64 ndarray**, not a Python float and not float32. One call with the array of all your
#   midpoints is enough.
# - The parameter `f` hides the notebook's `f`: inside `partial_sum`, `f` is whatever function the caller passes. The
#   check passes other curves, too.

# %% todo="partial_sum"
import numpy as np


def partial_sum(f, intervals: int, rank: int, size: int) -> float:
    """This rank's part of the sum of f(x_i) * h over i = 0, 1, ..., intervals - 1.

    f: takes a float64 ndarray of any shape, returns one of the same shape. Call it as
    often as you like.
    intervals: into how many slices all ranks together cut [0, 1]; h = 1 / intervals.
    rank, size: this rank's number, 0 to size - 1, and the number of ranks, which need
    not divide `intervals` and may be larger.

    Example: with 5 intervals on 2 ranks, one rank evaluates 3 midpoints, the other 2.
    """
    ### BEGIN SOLUTION
    h = 1 / intervals
    x = (np.arange(rank, intervals, size) + 0.5) * h
    return float(np.sum(f(x)) * h)
    ### END SOLUTION


# %% check="partial_sum"
check("partial_sum")

# %% [markdown]
# Which rank evaluates which slice in your solution:

# %% folded=true
# Draws which rank evaluates which slice in your solution.
from course.models.midpoints import recorded


def evaluated(intervals: int, size: int) -> list[list[float]]:
    """For each rank, the points at which your `partial_sum` evaluates f."""
    records = [{"points": []} for _ in range(size)]
    for rank, own in enumerate(records):
        partial_sum(recorded(f, own), intervals, rank, size)
    return [own["points"] for own in records]


with needs("partial_sum"):
    title = "14 slices, as your partial_sum shares them out"
    display(slices_picture(f, 14, evaluated(14, 4), title))

# %% [markdown]
# ## 2. One number out of four
#
# Now each rank has a part $p_r$ of $\pi$, and no rank has $\pi = p_0 + p_1 + p_2 + p_3$. A
# [reduce](GLOSSARY.md#reduce) combines one number of each rank into one, here by adding them up, and leaves the
# result on one rank. An **[all-reduce](GLOSSARY.md#all-reduce)** gives the result to all ranks.
#
# Like every **[collective](GLOSSARY.md#collective)**, it must be called by each rank of the communicator. No rank gets
# its result before all of them have called it. mpi4py (MPI for Python) writes `comm.allreduce(x)` for Python objects,
# and `comm.Allreduce(send, receive)` for arrays; the one with a small `a` will do here. Both add up, unless you say
# otherwise.
#
# If you use names such as `MPI.SUM`, import `MPI` in the cell.


# %% todo="parallel_pi"
def parallel_pi(comm, intervals: int) -> float:
    """Pi by the midpoint rule, on all ranks of `comm`.

    comm: an mpi4py communicator; all its ranks call this function. It is not always
    the world, so ask `comm` for rank and size.
    The all-reduce is `allreduce`, `Allreduce`, or `Iallreduce` with its wait. On a
    single rank it may be left out. The function is called again and again: it does not
    start or end MPI.
    You may call `partial_sum` and `f`: the check supplies right ones.
    """
    ### BEGIN SOLUTION
    share = partial_sum(f, intervals, comm.rank, comm.size)
    return comm.allreduce(share)
    ### END SOLUTION


# %% check="parallel_pi"
check("parallel_pi")

# %% [markdown]
# No rank leaves the all-reduce before the last one has come, because the result needs a number from each rank: the next
# picture shows it. Other collectives promise less: in a [broadcast](GLOSSARY.md#broadcast), the rank that sends may go
# on before the others have come. And a message from one rank to another is no collective at all: it is
# [point-to-point](GLOSSARY.md#point-to-point) communication, and only these two take part.

# %% [markdown]
# What if the ranks do not come at the same time? Here, each rank calls your `parallel_pi` 0.1 s after the one before. A
# bar shows how long a rank spends in the all-reduce. Pale is the time before it, in which a rank sleeps and computes.


# %%
def come_one_by_one(comm) -> float:
    """`parallel_pi`, which each rank calls 0.1 s after the one before."""
    time.sleep(0.1 * comm.rank)
    return parallel_pi(comm, 10_000)


with needs("partial_sum", "parallel_pi"):
    print(world.run(come_one_by_one, COMM))
    display(timeline(world.events, "Your all-reduce, with ranks that come one by one"))

# %% [markdown]
# The last rank to come keeps all others waiting. This is why fair shares matter.
#
# ### If one rank never comes
#
# In the next cell, rank 0 does not make the call. The others wait for something that never happens: a **deadlock**.
# `world.attempt` is like `world.run`, but returns how the run ended, well or badly. When no rank has made progress for
# three seconds, it gives up, reports where each rank stands, and replaces the ranks by new ones.


# %%
def all_but_rank_0(comm) -> float | None:
    """`parallel_pi`, which rank 0 does not call."""
    if comm.rank > 0:
        return parallel_pi(comm, 10_000)
    return None


with needs("partial_sum", "parallel_pi"):
    print("All ranks call it:", world.run(parallel_pi, COMM, 10_000))
    outcome = world.attempt(all_but_rank_0, COMM)
    print(f"Without rank 0: {outcome.state}, after {outcome.seconds:.1f} s")
    print(outcome.report)
    title = "Rank 0 never comes, and the others never finish"
    display(timeline(outcome.events, title, outcome.seconds))

# %% [markdown]
# Read such a report from the rank that does *not* wait: what did it do instead? The others stand in the line that is
# quoted. If your own code hangs in a check, you get the same report.
#
# ### How good is your pi?
#
# The error against the number of intervals:

# %% folded=true
# Draws the error of your pi for more and more intervals.
from course.lab.figures.convergence import convergence_picture

with needs("partial_sum", "parallel_pi"):
    tried, errors = [], []
    world.run(parallel_pi, COMM, 1, deadline=60)  # starts the ranks, if some were ended
    for intervals in [round(10 ** (k / 2)) for k in range(15)]:
        began = time.monotonic()
        tried.append(intervals)
        pi = world.run(parallel_pi, COMM, intervals, deadline=60)[0]
        errors.append(pi - math.pi)
        if time.monotonic() - began > 2:
            break
    display(convergence_picture(tried, errors))

# %% [markdown]
# Down to $10^{-15}$, the error is that of the midpoint rule: it falls with $1/n^2$. Below that, `float64` has no more
# digits. In `float32` it ends sooner: ten million intervals come no closer to $\pi$ than a thousand do in `float64`,
# and the error stays at $9 \cdot 10^{-8}$. (Try it in a new cell: the lines of `serial_pi` with `4 / (1 + x * x)`, and
# `x` of `dtype=np.float32`.)
#
# ## 3. The same with torch
#
# Training frameworks bring collectives of their own, for tensors. In torch, the
# **[process group](GLOSSARY.md#process-group)** takes the place of the communicator. Most functions use a *default
# group* unless you pass another one, and `dist.get_rank()` and `dist.get_world_size()` take the place of `comm.rank`
# and `comm.size`. The library that moves the data is the group's **[backend](GLOSSARY.md#backend)**:
# [gloo](GLOSSARY.md#gloo) for tensors in the memory of the CPU, [nccl](GLOSSARY.md#nccl) for tensors on NVIDIA GPUs.
# `dist.get_backend()` returns its name.
#
# Look up two things before you start: the dtype that
# [`torch.tensor`](https://docs.pytorch.org/docs/stable/generated/torch.tensor.html) gives a Python float, and what
# [`dist.all_reduce`](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_reduce) returns.

# %% todo="parallel_pi_torch"
import torch
import torch.distributed as dist


def parallel_pi_torch(intervals: int) -> float:
    """Pi as in `parallel_pi`, on the ranks of torch.distributed's default group.

    Returns a float, not a tensor. The group exists: do not start or end it. On a single
    rank the all-reduce may be left out.
    You may call `partial_sum` and `f`: the check supplies right ones.
    """
    ### BEGIN SOLUTION
    share = partial_sum(f, intervals, dist.get_rank(), dist.get_world_size())
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    total = torch.tensor(share, dtype=torch.float64, device=device)
    dist.all_reduce(total)
    return total.item()
    ### END SOLUTION


# %% check="parallel_pi_torch"
check("parallel_pi_torch")

# %%
with needs("partial_sum", "parallel_pi_torch"):
    gpus = torch.cuda.device_count() >= world.size
    backend = "nccl, on GPUs" if gpus else "gloo, on the CPU"
    # `init="torch"`: the ranks form a process group before they call the function.
    print(f"With {backend}:", world.run(parallel_pi_torch, 10_000, init="torch"))

# %% [markdown]
# ## 4. The same with Horovod
#
# Horovod is a library that adds training on several ranks to PyTorch. `hvd.rank()` and `hvd.size()` take the place of
# `comm.rank` and `comm.size`. Its all-reduce was designed for gradients. Before you start, look up the argument `op` of
# [`hvd.allreduce`](https://horovod.readthedocs.io/en/stable/api.html#module-horovod.torch): what is its default?

# %% todo="parallel_pi_horovod"
import horovod.torch as hvd
import torch


def parallel_pi_horovod(intervals: int) -> float:
    """Pi as in `parallel_pi`, on Horovod's ranks.

    Returns a float, not a tensor. Horovod is initialised: do not start or end it. On a
    single rank the all-reduce may be left out.
    You may call `partial_sum` and `f`: the check supplies right ones.
    """
    ### BEGIN SOLUTION
    share = partial_sum(f, intervals, hvd.rank(), hvd.size())
    total = hvd.allreduce(torch.tensor(share, dtype=torch.float64), op=hvd.Sum)
    return total.item()
    ### END SOLUTION


# %% check="parallel_pi_horovod"
check("parallel_pi_horovod")

# %% [markdown]
# ## 5. Was it worth it?
#
# The **speed-up** on $N$ ranks is $S(N) = T(1) / T(N)$, where $T$ is the time for the same
# work. We time the slowest rank, and keep the best of a few tries, because this machine is busy with other things too.
# A [barrier](GLOSSARY.md#barrier), which no rank leaves before all have come, lets the ranks start together.


# %%
def seconds(comm, intervals: int) -> float:
    """How long `parallel_pi` takes on this rank."""
    comm.Barrier()
    began = time.perf_counter()
    parallel_pi(comm, intervals)
    return time.perf_counter() - began


def best(intervals: int, size: int, tries: int = 5) -> float:
    """Seconds that `size` ranks take, in the best of some tries."""
    options = {"size": size, "deadline": 60}
    runs = (world.run(seconds, COMM, intervals, **options) for _ in range(tries))
    return min(map(max, runs))


with needs("partial_sum", "parallel_pi"):
    intervals = 1000
    while intervals < 4_000_000 and best(intervals, 1, tries=2) < 0.02:
        intervals *= 4
    alone = best(intervals, 1) * 1000
    print(f"One rank does {intervals} intervals in {alone:.0f} ms.")
    times = [best(intervals, size) for size in range(1, world.size + 1)]
    display(speedup_picture(times, cores()))
    # For `run.json`, the record of a run on a cluster.
    error = abs(world.run(parallel_pi, COMM, intervals)[0] - math.pi)
    history = [{"epoch": 0, "loss": error, "seconds": times[-1]}]
    record("parallel_pi", world, history, samples=intervals, data="none")

# %% [markdown]
# Where there are more ranks than cores, ranks take turns on a core, and the line goes flat. Points above the ideal line
# are possible, too: a smaller share may fit into a core's cache. If you work on a cluster with
# [Slurm](GLOSSARY.md#slurm), `sbatch --ntasks 8 run.sh` in this lab's folder runs the notebook on eight ranks.
#
# And an all-reduce is not free. What does a call cost when there is next to nothing to compute?


# %%
def one_call(comm, function, *args) -> float:
    """Seconds that a call takes on this rank, on average over 50 of them."""
    comm.Barrier()
    began = time.perf_counter()
    for _ in range(50):
        function(*args)
    return (time.perf_counter() - began) / 50


def show_cost(name: str, function, *args, **options) -> None:
    """Print what a call costs on the slowest rank."""
    slowest = max(world.run(one_call, COMM, function, *args, **options))
    print(f"{name:16} {slowest * 1e6:7.0f} microseconds")


with needs("partial_sum", "parallel_pi", "parallel_pi_torch", "parallel_pi_horovod"):
    show_cost("1 rank, no MPI", serial_pi, 4, size=1)
    show_cost("4 ranks, mpi4py", parallel_pi, COMM, 4)
    show_cost("4 ranks, torch", parallel_pi_torch, 4, init="torch")
    show_cost("4 ranks, Horovod", parallel_pi_horovod, 4, init="horovod")

# %% [markdown]
# ## What you saw
#
# Answer first, then unfold.
#
# <details><summary>All ranks run one program. What makes them do different work?</summary>
#
# Their number. A share follows from `rank`, `size` and some arithmetic. Blocks of neighbouring slices are right, and so
# is every `size`-th slice.
#
# </details>
#
# <details><summary>When does an all-reduce end, and when does it never end?</summary>
#
# It ends when the last rank has called it, and never if one rank does not. Eight bytes per rank are enough to make
# $\pi$ out of the parts.
#
# </details>
#
# <details><summary>What do ten times the intervals do to the error?</summary>
#
# They leave a hundredth of it, until `float64` has no more digits.
#
# </details>
#
# <details><summary>All four ranks return the same number. Is it right?</summary>
#
# Not for that reason. With an average instead of the sum, or with a part that counts twice, four ranks agree on a
# wrong number just as well.
#
# </details>
#
# ## What comes next
#
# Training on several ranks needs the same two steps. The samples are shared out, as the slices were here: lab 06,
# *Samplers for several ranks*. The ranks' gradients are combined by an all-reduce in every step: labs 07 and 10.
#
# ## Two questions
#
# They count no points. The first answer is a number: write it in place of `None`, and run the cell to hear whether it
# is right. The second answer is a text: double-click the cell, write a few sentences, and run it. Your instructor reads
# it. Both are handed in.
#
# **1. Nine digits.** What is the smallest number of intervals with which `serial_pi` is off by less than $10^{-9}$?
# Search for it in a new cell, or work it out from the picture of the errors and then try the numbers around it.

# %% answer="nine_digits"
check.answer("nine_digits", None)

# %% [markdown]
# **2. When two are faster.** With few intervals, one rank alone is faster than two, which have to communicate. From how
# many intervals on are two ranks faster than one, on this machine? In a new cell, compare `best(intervals, 1)` with
# `best(intervals, 2)` for 100, 1000, 10 000, ... intervals, then look closer where the order changes. Use more `tries`
# if the times vary. Give the number, the two times there, and say what the time of two ranks is made of.

# %% [markdown] answer="two_are_faster"
# It depends on the machine: from about 50 000 intervals on, where each takes 0.4 ms, on four cores with ranks on one
# node. Below that, the times hardly depend on the number of intervals: they are those of starting the sum and of the
# all-reduce, which two ranks pay and one does not. Above it, the sum itself counts, and two ranks do half of it each.
# In a formula, the time of N ranks is T_sum(n) / N + T_all-reduce; two are faster once half of the sum takes longer
# than the all-reduce. With ranks on two nodes the all-reduce takes longer, so the number is larger.
