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
# - share out a loop among any number of ranks, so that nothing is done twice and nothing is left out,
# - make one number out of the parts of all ranks, with mpi4py, torch.distributed and Horovod,
# - measure what more ranks bring, and say when they bring nothing.
#
# Run the cells from top to bottom. Where you find `# YOUR CODE HERE`, it is your turn; the cell below tells you what
# it saw. It runs your cell by itself, on the ranks, so import in the cell what you use there. Nothing breaks, not even
# by a deadlock: run a check as often as you like.

# %%
import math
import time

import numpy as np
from IPython.display import display

from autograde.notebook import Checker, needs
from course.batch.record import record
from course.figures.ranks.convergence import convergence_picture
from course.figures.ranks.slices import slices_picture
from course.figures.ranks.speedup import speedup_picture
from course.figures.ranks.timeline import timeline
from course.models.midpoints import midpoints, recorded
from course.processes.mpi import cores
from course.world import COMM, World

world = World(4)
check = Checker("checks", world)


# %%
def f(x: np.ndarray) -> np.ndarray:
    """4 / (1 + x^2), for a float64 array of any shape."""
    if not isinstance(x, np.ndarray) or x.dtype != np.float64:
        raise TypeError(f"f takes an ndarray of float64, not {type(x).__name__} {getattr(x, 'dtype', '')}")
    return 4.0 / (1.0 + x * x)


cards = [1, 2, 3, 1, 1, 0, 1, 0, 0, 2, 0, 3, 2, 3]
dealt = [midpoints(14, [i for i, card in enumerate(cards) if card == rank]) for rank in range(4)]
slices_picture(f, 14, dealt, "14 slices, dealt to 4 ranks like cards")

# %% [markdown]
# The area under this curve, from 0 to 1, is $\pi$. Cut it into slices of width $h$, each as high as the curve is in the
# *middle* of the slice, and add them up:
#
# $$\pi = \int_0^1 \frac{4}{1 + x^2}\, dx \approx \sum_{i=0}^{n-1} f(x_i)\, h, \qquad
# h = \frac{1}{n}, \quad x_i = \left(i + \tfrac12\right) h$$
#
# Any way to deal out the slices is right, as long as each goes to exactly one rank. It is fair if no rank gets two more
# than another. On one rank, it is three lines:


# %%
def serial_pi(intervals: int) -> float:
    """Pi by the midpoint rule, on one rank."""
    h = 1 / intervals
    x = (np.arange(intervals) + 0.5) * h
    return float(np.sum(f(x)) * h)


for intervals in 1, 10, 100, 1000:
    print(f"{intervals:5} intervals: {serial_pi(intervals):.10f}, off by {abs(serial_pi(intervals) - math.pi):.1e}")

# %% [markdown]
# ## Four ranks
#
# `World(4)` started four more processes. A cell that begins with `%%px` runs on all of them at once:

# %%
# %%px
from mpi4py import MPI

print(f"I am rank {MPI.COMM_WORLD.rank} of {MPI.COMM_WORLD.size}.")
luck = 7 * MPI.COMM_WORLD.rank

# %%
# %%px
print(f"The luck of rank {MPI.COMM_WORLD.rank} is {luck}.")

# %% [markdown]
# One program, four processes, and each has a memory of its own: this notebook's kernel has no `luck` at all. All that
# tells the ranks apart is their number. They do not wait for each other, so what they print comes in any order.
#
# `world.run` sends a function to ranks of your choice and brings back what it returns. `COMM` stands for the
# **communicator** of these ranks: the group in which they have numbers and talk to each other.


# %%
def introduce(comm) -> str:
    """What a rank knows about itself."""
    from mpi4py import MPI

    return f"rank {comm.rank} of {comm.size} here, rank {MPI.COMM_WORLD.rank} of {MPI.COMM_WORLD.size} in the world"


for line in world.run(introduce, COMM, ranks=[2, 0, 3]):
    print(line)

# %% [markdown]
# A function that is given a communicator asks *it* for rank and size.
#
# ## 1. Your share
#
# Each rank runs the same function, and only `rank` differs. Which slices are its own?

# %% todo="partial_sum"
import numpy as np


def partial_sum(f, intervals: int, rank: int, size: int) -> float:
    """This rank's share of the sum of f(x_i) h over all midpoints x_i of `intervals` equal intervals of [0, 1].

    f: takes a float64 ndarray and returns one of its shape; you may call it once or many times. It is not always the
    curve above. rank: from 0 to size - 1. size: number of ranks; it need not divide `intervals`, and may be larger.
    All shares together evaluate each midpoint exactly once, and differ by at most one interval. An empty share is 0.0.
    """
    ### BEGIN SOLUTION
    h = 1 / intervals
    x = (np.arange(rank, intervals, size) + 0.5) * h
    return float(np.sum(f(x)) * h)
    ### END SOLUTION


# %% check="partial_sum"
check("partial_sum")


# %%
def evaluated(intervals: int, size: int) -> list[list[float]]:
    """For each rank, the points at which your `partial_sum` evaluates f."""
    records = [{"points": []} for _ in range(size)]
    for rank, own in enumerate(records):
        partial_sum(recorded(f, own), intervals, rank, size)
    return [own["points"] for own in records]


with needs("partial_sum"):
    display(slices_picture(f, 14, evaluated(14, 4), "14 slices, as your partial_sum shares them out"))

# %% [markdown]
# ## 2. One number out of four
#
# Now every rank has a part of $\pi$, and none has $\pi$. A **reduction** combines one number of each rank into one; an
# **all-reduce** gives the result to all of them. It is a **collective**: each rank of the communicator has to call it,
# and none gets further before all have come.


# %% todo="parallel_pi"
def parallel_pi(comm, intervals: int) -> float:
    """Pi by the midpoint rule on all ranks of `comm`, on each the same float, bit for bit.

    comm: an mpi4py communicator; its ranks all call this function. It is not always the world.
    Each rank evaluates its own share only. There is exactly one reduction to all ranks, blocking or not, and no other
    communication; on a single rank it may be left out. It can be called again and again: it starts and ends nothing.
    You may call `partial_sum` and `f`: the check has right ones, in case yours are not.
    """
    ### BEGIN SOLUTION
    share = partial_sum(f, intervals, comm.rank, comm.size)
    return comm.allreduce(share)
    ### END SOLUTION


# %% check="parallel_pi"
check("parallel_pi")


# %%
def come_one_by_one(comm) -> float:
    """`parallel_pi`, to which each rank comes 0.1 s after the one before."""
    time.sleep(0.1 * comm.rank)
    return parallel_pi(comm, 10_000)


with needs("partial_sum", "parallel_pi"):
    print(world.run(come_one_by_one, COMM))
    display(timeline(world.events, "Your reduction, with ranks that come one by one"))

# %% [markdown]
# A bar is the time that a rank spends in the reduction. The last one to come keeps all others waiting: that is why fair
# shares matter. And if one rank never comes? Take `if comm.rank > 0:` for a try, and see what the check reports.
#
# How good is your $\pi$?

# %%
with needs("partial_sum", "parallel_pi"):
    tried, errors = [], []
    for intervals in [round(10 ** (k / 2)) for k in range(15)]:
        began = time.monotonic()
        tried.append(intervals)
        errors.append(world.run(parallel_pi, COMM, intervals, deadline=60)[0] - math.pi)
        if time.monotonic() - began > 2:
            break
    display(convergence_picture(tried, errors))

# %% [markdown]
# Down to $10^{-15}$ this is about the midpoint rule, below that about `float64`. In `float32`, ten million intervals
# come no nearer to $\pi$ than a thousand do in `float64`: the error stays at $9 \cdot 10^{-8}$.
#
# ## 3. The same with torch
#
# Training frameworks bring collectives of their own, for tensors. There is a *default group* instead of `comm`. Two
# things to look up: the type that `torch.tensor` gives a Python float, and what `all_reduce` returns.

# %% todo="parallel_pi_torch"
import torch
import torch.distributed as dist


def parallel_pi_torch(intervals: int) -> float:
    """As `parallel_pi`, on the ranks of torch.distributed's default group, which is there already.

    In float64, on the device of the group's backend: CPU for "gloo", the current GPU for "nccl".
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
    backend = "nccl, on GPUs" if torch.cuda.device_count() >= world.size else "gloo, on the CPU"
    print(f"By {backend}:", world.run(parallel_pi_torch, 10_000, init="torch"))

# %% [markdown]
# ## 4. The same with Horovod
#
# Horovod was made for gradients, and one thing about its all-reduce follows from that. Which?

# %% todo="parallel_pi_horovod"
import horovod.torch as hvd
import torch


def parallel_pi_horovod(intervals: int) -> float:
    """As `parallel_pi`, on Horovod's ranks, in float64. Horovod is initialised already."""
    ### BEGIN SOLUTION
    share = partial_sum(f, intervals, hvd.rank(), hvd.size())
    total = hvd.allreduce(torch.tensor(share, dtype=torch.float64), op=hvd.Sum)
    return total.item()
    ### END SOLUTION


# %% check="parallel_pi_horovod"
check("parallel_pi_horovod")

# %% [markdown]
# ## 5. What did it bring?
#
# The time of the slowest rank counts, and the best of a few tries, since this machine does other things too.


# %%
def seconds(comm, intervals: int) -> float:
    """How long this rank takes for `parallel_pi`, from when all ranks are there."""
    comm.Barrier()
    began = time.perf_counter()
    parallel_pi(comm, intervals)
    return time.perf_counter() - began


def best(intervals: int, size: int, tries: int = 5) -> float:
    """Seconds that `size` ranks take."""
    return min(max(world.run(seconds, COMM, intervals, size=size, deadline=60)) for _ in range(tries))


with needs("partial_sum", "parallel_pi"):
    intervals = 1000
    while intervals < 4_000_000 and best(intervals, 1, tries=2) < 0.02:
        intervals *= 4
    print(f"{intervals} intervals, which one rank does in {best(intervals, 1) * 1000:.0f} ms")
    times = [best(intervals, size) for size in range(1, world.size + 1)]
    display(speedup_picture(times, cores()))
    error = abs(world.run(parallel_pi, COMM, intervals)[0] - math.pi)
    record("parallel_pi", world, [{"epoch": 0, "loss": error, "seconds": times[-1]}], samples=intervals, data="none")

# %% [markdown]
# More ranks than cores take turns, and the line goes flat. (Where there is Slurm: `sbatch --ntasks 8 run.sh`.) And a
# reduction is not free. What does a call cost when there is next to nothing to compute?


# %%
def one_call(comm, function, *args) -> float:
    """Seconds that a call takes on this rank, on average over 50 of them."""
    comm.Barrier()
    began = time.perf_counter()
    for _ in range(50):
        function(*args)
    return (time.perf_counter() - began) / 50


with needs("partial_sum", "parallel_pi", "parallel_pi_torch", "parallel_pi_horovod"):
    costs = {
        "one rank alone": world.run(one_call, COMM, serial_pi, 4, size=1),
        "four, mpi4py": world.run(one_call, COMM, parallel_pi, COMM, 4),
        "four, torch": world.run(one_call, COMM, parallel_pi_torch, 4, init="torch"),
        "four, Horovod": world.run(one_call, COMM, parallel_pi_horovod, 4, init="horovod"),
    }
    for name, times in costs.items():
        print(f"{name:14} {max(times) * 1e6:7.0f} microseconds")

# %% [markdown]
# ## What you saw
#
# - The ranks run one program. What differs is their number, and a share is a matter of arithmetic on it.
# - One reduction of 8 bytes makes the result. It is done when the last rank has come, and hangs if one stays away.
# - Ten times the intervals leave a hundredth of the error, until `float64` has no more digits.
# - An average instead of a sum, or a part counted twice: four ranks agree on a wrong number just as readily.
#
# ## A question
#
# With few intervals, one rank alone is faster than two, which have to talk. **From how many intervals on are two ranks
# faster than one, on this machine?** In a new cell, compare `best(intervals, 1)` with `best(intervals, 2)` for
# 100, 1000, 10 000, ... and then look closer. Give more `tries` where the times jump about.
