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
# # 02 Hello, ranks
#
# After this lab you can
#
# - say what a [rank](GLOSSARY.md#rank) has, and what it does not have,
# - find out on which [node](GLOSSARY.md#node) a rank is, and what its [local rank](GLOSSARY.md#local-rank) is there,
# - let ranks wait for each other, by messages, and exchange arrays without a [deadlock](GLOSSARY.md#deadlock),
# - read from a report which rank waits for which, in which call and on which line,
# - share out work so that independent parts run side by side and little has to move.
#
# A **rank** is a process with a number. All ranks run the same program, each in its own memory, and they exchange data
# by messages. **[MPI](GLOSSARY.md#mpi)**, the Message Passing Interface, is the standard by which they do so. This
# notebook is not a rank: it sends its functions to four of them.
#
# The idea in one sentence: **{{idea}}**
#
# **Before you start.** {{needs}} You need no MPI either: only Python functions and NumPy arrays, and in section 3 a few
# lines of PyTorch.
#
# **Lecture.** [2 One program, many ranks](../../course/lectures/02_ranks.ipynb) shows what ranks share, who waits for
# whom, and a deadlock.
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
# ## One program, four processes
#
# The folded cell imports what the given cells use.

# %% folded=true
# Imports for the given cells: nothing to learn here.
import time

import numpy as np
from IPython.display import display

from autograde.notebook import Checker, needs
from course.figures.ranks.timeline import timeline
from course.world import COMM, World

# %% [markdown]
# All ranks together are the **[world](GLOSSARY.md#world)**. This cell starts a world of four ranks, and loads the
# checks:

# %%
world = World(4)
check = Checker(world)

# %% [markdown]
# A cell that begins with `%%px` runs on all ranks at once. The code is the same on each of them. What makes them do
# different things is their number. It may decide what a value is, or which branch of an `if` is taken:

# %%
# %%px
import horovod.torch as hvd

hvd.init()
rank, size = hvd.rank(), hvd.size()
hvd.shutdown()

parity = ["even", "odd"][rank % 2]
print(f"Hello from rank {rank} of {size}. My number is {parity}.")

treasure = [0] * size
if rank % 2 == 0:
    treasure[rank] = 10 + rank
else:
    treasure[rank] = 20 + rank

# %% [markdown]
# That was [Horovod](GLOSSARY.md#horovod), a [library](https://horovod.readthedocs.io/en/stable/) for training on
# several ranks. mpi4py has the same two numbers: `MPI.COMM_WORLD.rank` and `MPI.COMM_WORLD.size`.

# %% [markdown]
# Now each rank has a list `treasure`, and each list is a different one. Here is what is in the memory of each rank:


# %% folded=true
# Fetches the list `treasure` of each rank, and draws them.
from course.figures.first_ranks.memory import memory_picture


def own_treasure() -> list[int]:
    """This rank's list `treasure`; an empty one if the cell above was not run here."""
    from IPython import get_ipython

    return get_ipython().user_ns.get("treasure", [])


lists = {"treasure": world.run(own_treasure)}
memory_picture(lists, "The same name on every rank, and a different list")

# %% [markdown]
# No rank can look into the memory of another one, and this notebook has no `treasure` at all. Nothing moves unless one
# rank sends it and another one receives it.
#
# `world.run` sends a function to ranks of your choice, and brings back what it returns on each. `COMM` stands for the
# **[communicator](GLOSSARY.md#communicator)** of these ranks: the group in which they have numbers and exchange
# messages.


# %%
def introduce(comm) -> str:
    """What a rank knows about itself."""
    from mpi4py import MPI

    own, in_world = comm.rank, MPI.COMM_WORLD.rank
    return f"rank {own} of {comm.size} in this group, rank {in_world} in the world"


for line in world.run(introduce, COMM, ranks=[world.size - 1, 0]):
    print(line)

# %% [markdown]
# A rank may have one number in the world and another one in a smaller group. A function that is given a communicator
# asks *it* for rank and size.
#
# ## A loop in shares
#
# Number and size are enough to share out a loop: each rank does its own part of it. Here is a loop over four entries,
# as it is often written at first. `world.attempt` is like `world.run`, but does not raise if the ranks fail. Run the
# cell, and read what they say:


# %% editable=true
def fill(comm) -> tuple[list[int], list[int]]:
    """Four entries in this rank's memory, before and after its share of a loop."""
    entries = [0] * 4
    before = entries.copy()
    for i in range(comm.rank * 4 / comm.size, (comm.rank + 1) * 4 / comm.size):
        entries[i] = 10 + i
    return before, entries


filled = world.attempt(fill, COMM)
print(filled.report)

# %% [markdown]
# With `/` a bound is a float, also where it is a whole number. Fix the line in the cell above, and run it again, until
# each rank returns. (Given cells are locked; this one is not.) This is what it then leaves in the memory of each rank:


# %% folded=true
# Draws the four entries of each rank before and after the loop.
def filled_in_shares(comm) -> tuple[list[int], list[int]]:
    """What `fill` returns once it is fixed."""
    own = np.array_split(range(4), comm.size)[comm.rank]
    return [0] * 4, [10 + i if i in own else 0 for i in range(4)]


memories = filled.results if filled.ok else world.run(filled_in_shares, COMM)
before, after = zip(*memories, strict=True)
lists = {"before": [*before], "after": [*after]}
memory_picture(lists, "A loop over four entries, in shares")

# %% [markdown]
# An empty box holds 0. Each rank has done its part, in its own memory. Nobody has all of it.
#
# ## 1. Which node am I on?
#
# A cluster is made of **nodes**: machines, each with its own cores, memory and perhaps GPUs. A rank's number among the
# ranks of its node is its **local rank**. Where each rank uses one GPU, the local rank says which:

# %% folded=true
# Draws two nodes with two ranks each.
from course.figures.ranks.places import places_picture

places_picture(2, 2)

# %% [markdown]
# In this picture rank and local rank follow from each other. They need not. Whoever starts the ranks may place them
# one by one on alternating nodes, or put three on one node and one on another.
#
# A rank knows the name of its own node only. What it wants to know of the others it has to learn by communicating. In a
# **[collective](GLOSSARY.md#collective)** call, all ranks of the communicator take part. mpi4py has a few dozen; see
# its [tutorial](https://mpi4py.readthedocs.io/en/stable/tutorial.html#collective-communication). The check makes up the
# names of the nodes, since all ranks of this notebook may well be on one machine.


# %% todo="local_place"
def local_place(comm, host: str) -> tuple[int, int]:
    """This rank's local rank and local size.

    comm: an mpi4py communicator; all its ranks call this function. It is not always
    the world.
    host: the name of the node that this rank is on. Two ranks are on the same node if
    their names are equal. The ranks of a node need not follow each other, and nodes
    may hold different numbers of ranks.
    Returns two whole numbers, the local rank and the local size.

    Example: with hosts x, y, x on ranks 0, 1, 2 it returns (0, 2), (0, 1), (1, 2).
    """
    ### BEGIN SOLUTION
    hosts = comm.allgather(host)
    here = [rank for rank in range(comm.size) if hosts[rank] == host]
    return here.index(comm.rank), len(here)
    ### END SOLUTION


# %% check="local_place"
check("local_place")

# %% [markdown]
# Horovod works out the same when it starts. Here are both, on the nodes that your ranks are really on. (If all of them
# are on one machine, that proves little: there a function that ignores `host` agrees with Horovod as well. On two nodes
# it would not.)


# %%
def both_places(comm) -> str:
    """Your local rank and size, and Horovod's."""
    import horovod.torch as hvd
    from mpi4py import MPI

    own = local_place(comm, MPI.Get_processor_name())
    horovods = (hvd.local_rank(), hvd.local_size())
    return f"rank {comm.rank}: yours {own}, Horovod's {horovods}"


with needs("local_place"):
    print("\n".join(world.run(both_places, COMM, init="horovod")))

# %% [markdown]
# ## 2. One after the other
#
# Ranks do not wait for each other unless the program says so. Here, each rank acts for 0.1 s:


# %% folded=true
# Draws when each rank acts if nobody waits.
from course.lab.figures.turns import turns_picture


def act() -> tuple[float, float]:
    """Take 0.1 s. Returns begin and end, by the clock of the machine."""
    began = time.time()
    time.sleep(0.1)
    return began, time.time()


def at_once(comm) -> tuple[float, float]:
    """Act without waiting for anybody."""
    comm.Barrier()
    return act()


together = world.run(at_once, COMM)
turns_picture({"nobody waits": together}, "All ranks act at once")

# %% [markdown]
# When they print, their lines may come in any order. When they write to the same file, they spoil it. What if they have
# to take turns?
#
# A message from one rank to another is called **[point-to-point](GLOSSARY.md#point-to-point)**: one rank calls
# `comm.send(something, dest=...)`, and the other one `comm.recv(source=...)`. A receive does not return before the
# message is there. So it is not only a way to get data: it is a way to wait. (A send may wait, too. Some MPI libraries
# let a small one go on at once, others make it wait for its receive: section 4 shows what comes of it.)


# %% todo="in_turn"
def in_turn(comm, action):
    """Call `action()` once on each rank, on one rank after the other.

    comm: an mpi4py communicator; all its ranks call this function.
    action: takes nothing.
    """
    ### BEGIN SOLUTION
    if comm.rank > 0:
        comm.recv(source=comm.rank - 1)
    result = action()
    if comm.rank < comm.size - 1:
        comm.send(None, dest=comm.rank + 1)
    return result
    ### END SOLUTION


# %% check="in_turn"
check("in_turn")

# %%
with needs("in_turn"):
    turns = world.run(in_turn, COMM, act)
    both = {"nobody waits": together, "your in_turn": turns}
    display(turns_picture(both, "At once, and in turn"))

# %% [markdown]
# A staircase, and it takes four times as long. That is the price of taking turns: do it only where the order matters.
#
# ## 3. Shares of a sum
#
# Two vectors `a` and `b` of $N$ numbers are on all ranks. Cut the positions $0, \dots, N - 1$ into one contiguous piece
# for each rank, in the order of the ranks: its *share*. In its share, a rank computes `c = a + b`; then it adds up its
# numbers of `c`. With 10 numbers on four ranks, a share has 2 or 3:

# %% folded=true
# Draws shares of ten numbers, of sizes that do not differ by more than one.
a, b = np.random.default_rng(2).integers(1, 40, (2, 10))
cuts = np.array_split(np.arange(10), 4)
shares = [[int(a[i] + b[i]) if i in own else 0 for i in range(10)] for own in cuts]
everywhere = [a.tolist()] * 4
lists = {"a, on all ranks (and b likewise)": everywhere, "c, in shares": shares}
memory_picture(lists, "Each rank adds its own share")

# %% [markdown]
# Then one number of each rank has to be combined: the sum of its share. That is a [reduce](GLOSSARY.md#reduce). Where
# every rank gets the result, it is an **[all-reduce](GLOSSARY.md#all-reduce)**. This time the library is Horovod, whose
# ranks are `hvd.rank()` of `hvd.size()`. Look up three things in its
# [documentation](https://horovod.readthedocs.io/en/stable/api.html#module-horovod.torch) before you start: what
# `hvd.allreduce` takes, what it returns, and which operation it applies unless you say otherwise.
#
# Mind the bounds of a share, too, as in the loop above.

# %% todo="add_shares"
import horovod.torch as hvd
import torch


def add_shares(a, b) -> tuple[torch.Tensor, int, int]:
    """This rank's share of c = a + b, the sum of this share, and that of all shares.

    a, b: int64 tensors [N], the same on all ranks; N may be 0, or less than the number
    of ranks. Horovod is initialised: do not start or end it.
    Shares are in the order of the ranks, each in one piece, of sizes that differ by one
    at most, and together they are everything, once.
    Returns `c` and two sums: ints, no tensors, and exact, also beyond 2**53.
    """
    ### BEGIN SOLUTION
    rank, size = hvd.rank(), hvd.size()
    begin, end = rank * len(a) // size, (rank + 1) * len(a) // size
    c = torch.zeros_like(a)
    c[begin:end] = a[begin:end] + b[begin:end]
    share = c.sum()
    total = hvd.allreduce(share, op=hvd.Sum)
    return c, share.item(), total.item()
    ### END SOLUTION


# %% check="add_shares"
check("add_shares")

# %%
with needs("add_shares"):
    results = world.run(add_shares, torch.tensor(a), torch.tensor(b), init="horovod")
    title = "What your add_shares leaves on each rank"
    display(memory_picture({"c": [c.tolist() for c, _, _ in results]}, title))
    for rank, (_, share, total) in enumerate(results):
        print(
            f"rank {rank}: own share {share}, all shares {total};",
            f"a + b is {int((a + b).sum())} in all",
        )

# %% [markdown]
# ## 4. Two that wait for each other
#
# Two ranks want each other's array. The program below looks right: each of them sends what it has, and then receives.
# `Send` and `Recv` with a capital letter move the numbers of an array as they are, into an array that is there already.
# (`send` and `recv` move any Python object. The two kinds do not go together: what `Send` sends, only `Recv` can
# receive.)
#
# `world.attempt` returns how the run ended, well or badly. When no rank has made progress for three seconds, it gives
# up, reports where each rank stands, and replaces the ranks by new ones.


# %%
def both_send_first(comm, count: int) -> float:
    """Exchange `count` float64 between ranks 0 and 1. Returns one that came."""
    own, other = np.full(count, float(comm.rank)), np.empty(count)
    partner = 1 - comm.rank
    comm.Send(own, dest=partner)
    comm.Recv(other, source=partner)
    return float(other[0])


print("10 numbers:", world.attempt(both_send_first, COMM, 10, size=2).results)
outcome = world.attempt(both_send_first, COMM, 10_000, size=2)
print(f"10 000 numbers: {outcome.state}, after {outcome.seconds:.1f} s")
print(outcome.report)

# %% [markdown]
# With 10 numbers all is well, and with 10 000 neither rank comes back: a **deadlock**. The report says in which call
# and on which line each rank waits. Drawn as arrows from a rank to the one that it waits for, this deadlock is a cycle:

# %% folded=true
# Draws who waits for whom at the end of the attempt above.
from course.lab.figures.wait_graph import wait_graph

wait_graph(outcome.events, "Who waits for whom, with 10 000 numbers")

# %% [markdown]
# Why does it depend on how many? MPI may copy a small message and let the sender go on. A large one stays where it is
# until the other rank receives it. The standard promises neither, so a program that needs the copy is called *unsafe*.
# `world.run` says so under the output of one that returned all the same: try it in a cell, with 10 numbers. The check
# runs your code with a communicator on which each send waits for its receive.
#
# Can you exchange the arrays safely? mpi4py has a call for it, and there is also a way with `Send` and `Recv` alone.

# %% todo="swap"
import numpy as np


def swap(comm, array):
    """The array of this rank's partner: ranks 0 and 1 are partners, 2 and 3, and so on.

    comm: an mpi4py communicator; all its ranks call this function.
    array: an ndarray of numbers, of any shape, C-contiguous; perhaps without dimensions
    or empty. Partners' arrays have the same shape and dtype.
    """
    ### BEGIN SOLUTION
    partner = comm.rank ^ 1
    if partner >= comm.size:
        return array.copy()
    other = np.empty_like(array)
    comm.Sendrecv(array, dest=partner, recvbuf=other, source=partner)
    return other
    ### END SOLUTION


# %% check="swap"
check("swap")


# %%
def swap_many(comm, count: int) -> float:
    """`swap` with `count` float64."""
    return float(swap(comm, np.full(count, float(comm.rank)))[0])


with needs("swap"):
    print("1 000 000 numbers:", world.run(swap_many, COMM, 1_000_000))
    display(timeline(world.events, "Your swap, with a million numbers a rank"))

# %% [markdown]
# ## 5. Three products
#
# Now a program in which different ranks do different work. We want $G = A\,D$ with $A = B\,C$ and $D = E\,F$. The even
# ranks have $B$ and $C$, the odd ones $E$ and $F$. Neither $A$ nor $D$ needs the other one, so both can be computed at
# the same time. Only $G$ needs both:
#
# | | first | then |
# |---|---|---|
# | even ranks | $A = B\,C$, each some rows of it | $G = A\,D$, each its rows of $A$ with all of $D$ |
# | odd ranks | $D = E\,F$, each some rows of it | hand out $D$ |
#
# Rows of a product need only the same rows of its left factor: rows 3 to 5 of $A$ are rows 3 to 5 of $B$, times $C$. So
# no rank needs all of $A$, ever. $A$ may be large, and $D$ is small: let $D$ move, and let $A$ stay where it is.
#
# Ranks that belong together can have a communicator of their own. `comm.Split(color)` is a collective call after which
# each rank is in a group with those that gave the same color; it has a rank and a size there.

# %% todo="chain"
import numpy as np


def chain(comm, multiply, left, right):
    """G = A D on rank 0, where A = B C and D = E F.

    comm: an mpi4py communicator of 2 ranks or more; all its ranks call this function.
    left, right: float64 arrays; B [p, q] and C [q, r] on even ranks, E [r, s] and
    F [s, t] on odd ranks.
    multiply(X, Y): the product of X [m, k] and Y [k, n]. It counts m * k * n
    multiplications on the rank that calls it.
    Even ranks compute the rows of A, odd ones those of D; then each even rank
    multiplies its own rows of A by D. A rank may have no rows.
    """
    ### BEGIN SOLUTION
    group = comm.Split(comm.rank % 2)
    even = comm.rank % 2 == 0
    rows = multiply(np.array_split(left, group.size)[group.rank], right)
    parts = comm.allgather(None if even else rows)
    if even:
        d = np.concatenate([part for part in parts if part is not None])
        rows = multiply(rows, d)
    parts = comm.gather(rows if even else None)
    if comm.rank == 0:
        return np.concatenate([part for part in parts if part is not None])
    return None
    ### END SOLUTION


# %% check="chain"
check("chain")

# %% [markdown]
# Here is your `chain` on four ranks, with a `multiply` that takes 1 s for 10 million multiplications, as on a slow
# machine. (It sleeps, so that the picture is the same however many cores there are.)

# %% folded=true
# Runs your chain, and draws which rank multiplies what, when.
from course.lab.figures.products import products_picture


def timed_chain(comm, p: int, q: int, r: int, s: int, t: int) -> list[tuple]:
    """When this rank made which product, in seconds since all ranks were ready."""
    draw, bars, even = np.random.default_rng(comm.rank % 2), [], comm.rank % 2 == 0
    left = draw.random((p, q) if even else (r, s))
    right = draw.random((q, r) if even else (s, t))

    def multiply(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        began = time.time()
        product = x @ y
        time.sleep(x.shape[0] * x.shape[1] * y.shape[1] / 1e7)
        name = "D" if not even else "A" if y.shape == (q, r) else "G"
        bars.append((name, began - ready, time.time() - ready))
        return product

    comm.Barrier()
    ready = time.time()
    chain(comm, multiply, left, right)
    return bars


with needs("chain"):
    bars = world.run(timed_chain, COMM, 120, 50, 800, 800, 10)
    ready = [log[0]["end"] for log in world.events]
    moved = []
    for rank, own in enumerate(bars):
        moved.append([(name, ready[rank] + b, ready[rank] + e) for name, b, e in own])
    calls = [log[1:] for log in world.events]
    display(products_picture(moved, calls, f"Your chain on {world.size} ranks"))
    sent = [sum(event["bytes"] or 0 for event in log) for log in world.events]
    print("Bytes that each rank puts into its calls:", *sent)
    print("Bytes of all of A:", 120 * 800 * 8)

# %% [markdown]
# Look for three things in the picture: $A$ and $D$ stand one above the other, as they are computed at the same time; an
# even rank that is done with $A$ waits for the last rows of $D$; and $G$ begins when these have come.
#
# ## What you saw
#
# Answer first, then unfold.
#
# <details><summary>What do the ranks of a world have in common?</summary>
#
# The program, and nothing else. A variable of the same name is a different one on each rank. What a rank is to know of
# the others has to be sent, by calls that both sides make.
#
# </details>
#
# <details><summary>How does a rank know that it is its turn?</summary>
#
# It receives a message. A sleep only guesses, and the order in which lines are printed proves nothing.
#
# </details>
#
# <details><summary>A program ran well a hundred times. Can it deadlock?</summary>
#
# Yes. With larger messages, or another MPI library, a send waits for its receive, and two that both send first wait for
# ever. A program is safe if it needs no copy of a message.
#
# </details>
#
# <details><summary>Which matrix should move?</summary>
#
# The small one. Where data is, and what has to move, decides how fast a program on several ranks can be.
#
# </details>
#
# ## What comes next
#
# A collective such as the all-reduce does in one call what would take many messages. Lab 03, *Pi on several ranks*, is
# about it, in three libraries.
#
# ## Two questions
#
# They count no points. The first answer is a number: write it in place of `None`, and run the cell to hear whether it
# is right. The second answer is a text: double-click the cell, write a few sentences, and run it. Your instructor reads
# it. Both are handed in.
#
# **1. The largest that returns.** What is the largest count of float64 for which `both_send_first` returns, with two
# ranks on this machine? In a new cell, try numbers with `world.attempt(both_send_first, COMM, count, size=2).ok`.
# Double the number until it fails, then halve the gap again and again: every failed try takes some seconds. (With Open
# MPI and its usual settings. If your ranks are on two nodes, you will find another number.)

# %% answer="largest_that_returns"
check.answer("largest_that_returns", None)

# %% [markdown]
# **2. Safe.** A classmate says: "My exchange sends first on both sides, and it has always worked. With my 500 numbers,
# it is right." What do you answer? How would you show it, and what would you change?

# %% [markdown] answer="always_worked"
# It works because MPI copies small messages: up to 4016 bytes here, which are 502 float64. The standard does not
# promise it. With 503 numbers, on another machine or with other settings of the library, both ranks wait in Send for
# each other. It can be shown by trying more numbers, or, with the same numbers, by Ssend instead of Send: it never
# returns before the receive has begun, so an unsafe program hangs at once. Change: Sendrecv; or the even rank sends
# first and the odd one receives first; or Isend, then Recv, then Wait.
