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
# # 04 Collectives
#
# After this lab you can
#
# - say what a [collective](GLOSSARY.md#collective) such as an [all-gather](GLOSSARY.md#all-gather) or a
#   [reduce-scatter](GLOSSARY.md#reduce-scatter) leaves on each [rank](GLOSSARY.md#rank), a process with a number,
# - plan a [broadcast](GLOSSARY.md#broadcast) that takes as few rounds as possible,
# - write a [reduce](GLOSSARY.md#reduce) along a tree, and an [all-reduce](GLOSSARY.md#all-reduce) around a ring,
# - count the rounds and the bytes of your own code, rank by rank,
# - say from these two numbers which plan suits which size of array.
#
# The idea in one sentence: **{{idea}}**
#
# **Before you start.** {{needs}}
#
# **Lecture.** [3 Talking to everybody at once](../../course/lectures/03_talking_to_everybody.ipynb) shows these plans
# as films and measures them; [4 What a collective costs](../../course/lectures/04_costs.ipynb), before section 6, says
# when each of them is fast.
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
import numpy as np
from IPython.display import display

from autograde.notebook import Checker, needs
from course.lab.figures.sent_ring_film import numbered_array, sent_ring_film
from course.watch.messages import messages
from course.world import COMM, World

# %% [markdown]
# This cell starts the [world](GLOSSARY.md#world), which is four ranks that will run your code, and loads the checks:

# %%
world = World(4)
check = Checker(world)

# %% [markdown]
# ## What collectives do
#
# In a collective call, every rank of a [communicator](GLOSSARY.md#communicator) takes part, and afterwards each of them
# has what the name promises. Here are eight, run on your ranks. In each panel, a row is what one rank has, before and
# after. A cell has the colour of the rank that it comes from; a cell with several colours is the sum of what these
# ranks had. Where a rank has several pieces, a cell has its piece's number.

# %% folded=true
# Runs eight collectives of MPI, and draws what each rank has before and after.
from course.figures.collectives.cells import collectives_picture


def eight_collectives(comm) -> dict[str, tuple[list, list]]:
    """What this rank has before and after each collective.

    Rank r brings 2**r, and as its piece k 2**(r + size k), so that sums can be read.
    """
    own, size, first = 2**comm.rank, comm.size, comm.rank == 0
    one, row = np.array([own]), own * 2 ** (size * np.arange(size))
    all_of_all, gathered, sums, chunk = (np.zeros(n, int) for n in (size, size, 1, 1))
    on_root = np.zeros(size, int) if first else None
    parts = row if first else None
    got, told = np.zeros(1, int), one.copy()
    comm.Bcast(told)
    comm.Scatter(parts, got)
    comm.Gather(one, on_root)
    comm.Allgather(one, gathered)
    comm.Alltoall(row, all_of_all)
    total = np.zeros(1, int) if first else None
    comm.Reduce(one, total)
    comm.Allreduce(one, sums)
    comm.Reduce_scatter_block(row, chunk)
    return {
        "broadcast": ([own] if first else [], told.tolist()),
        "scatter": (parts.tolist() if first else [], got.tolist()),
        "gather": ([own], on_root.tolist() if first else []),
        "all-gather": ([own], gathered.tolist()),
        "all-to-all": (row.tolist(), all_of_all.tolist()),
        "reduce": ([own], total.tolist() if first else []),
        "all-reduce": ([own], sums.tolist()),
        "reduce-scatter": (row.tolist(), chunk.tolist()),
    }


collectives_picture(world.run(eight_collectives, COMM))

# %% [markdown]
# (A [barrier](GLOSSARY.md#barrier) is one, too; it moves nothing.) Where there are sums here, there could be products,
# or the least or largest number of all ranks:

# %% folded=true
# Runs an all-reduce with each of four operations, and draws what each rank has.
from course.figures.first_ranks.memory import memory_picture


def four_operations(comm) -> tuple[list[int], list[int]]:
    """This rank's number, and all ranks' sum, product, least and largest."""
    from mpi4py import MPI

    own, operations = comm.rank + 1, (MPI.SUM, MPI.PROD, MPI.MIN, MPI.MAX)
    return [own], [comm.allreduce(own, operation) for operation in operations]


numbers = world.run(four_operations, COMM)
lists = {
    "own number": [own for own, _ in numbers],
    "MPI.SUM, PROD, MIN and MAX": [together for _, together in numbers],
}
memory_picture(lists, "An all-reduce with four operations")

# %% [markdown]
# Look at three of them: a reduce-scatter gives each rank one piece of the sum, and an all-gather gives everybody all
# pieces. One after the other, they are an all-reduce. That is how you will build it in sections 3 to 5. But begin with
# the simplest one.
#
# ## 1. A plan for a broadcast
#
# You have a file of 5 MB, and seven friends want it. Your line sends 1 MB a second. "I serve all seven at once," you
# say, "so nobody has to wait for the others." Step through what happens:

# %% folded=true
# A film: rank 0 serving all others in one round, beside serving them one by one.
from course.lab.figures.plan_film import plan_film

plan_film([[(0, friend) for friend in range(1, 8)]])

# %% [markdown]
# Your line is shared, so all seven have it after 35 s: the one who is served first by "one by one" has it after 5 s.
# That is why, in this section and the next one, a rank takes part in one message at a time: in a **round**, it sends
# one or receives one.
#
# But whoever has the file can pass it on. Which plan takes the fewest rounds?


# %% todo="broadcast_rounds"
def broadcast_rounds(size: int, root: int) -> list[list[tuple[int, int]]]:
    """A plan by which an array gets from one rank to all, in as few rounds as possible.

    size: the number of ranks, at least 1. root: the rank that has the array.
    Returns a list of rounds; each is a list of pairs (from, to), the messages that are
    sent at the same time. Any plan of which this holds is right.
    """
    ### BEGIN SOLUTION
    plan, served = [], 1
    while served < size:
        new = min(served, size - served)
        plan.append([((root + i) % size, (root + served + i) % size) for i in range(new)])
        served += new
    return plan
    ### END SOLUTION


# %% check="broadcast_rounds"
check("broadcast_rounds")

# %%
with needs("broadcast_rounds"):
    display(plan_film(broadcast_rounds(8, 0)))

# %% [markdown]
# Three rounds instead of seven: 15 s, not 35. The number of those who have the file doubles in every round, so a
# thousand friends need 10 rounds. The lines that stay are a tree: most plans of this kind are a *binomial tree*.
#
# This function carries your plan out. Each rank does its own lines of it:


# %%
def tree_broadcast(comm, array: np.ndarray, root: int) -> None:
    """Fill `array` on every rank with the root's, by the plan of `broadcast_rounds`."""
    for pairs in broadcast_rounds(comm.size, root):
        for source, destination in pairs:
            if comm.rank == source:
                comm.Send(array, dest=destination)
            elif comm.rank == destination:
                comm.Recv(array, source=source)


def broadcast_from(comm, root: int, count: int) -> bool:
    """Broadcast `count` float64. Whether this rank has what the root had."""
    array = np.full(count, float(comm.rank))
    tree_broadcast(comm, array, root)
    return bool((array == root).all())


# %% [markdown]
# What the ranks did can be counted. The [world](GLOSSARY.md#world) notes each message of a run, and `messages` works
# out which of them had to follow each other, and so in which round each of them was:


# %%
def print_messages() -> None:
    """The messages of the last run, by round."""
    for message in messages(world.events):
        way = f"rank {message.source} to rank {message.destination}"
        print(f"round {message.round}: {way}, {message.bytes} bytes")


with needs("broadcast_rounds"):
    have_it = world.run(broadcast_from, COMM, world.size - 1, 1000)
    print("All ranks have it:", all(have_it))
    print_messages()

# %% [markdown]
# ## 2. The same backwards
#
# In a reduce, the root is to have the sum (or product, or largest) of all ranks' arrays. If everybody sends to the
# root, it receives one after the other: $N - 1$ rounds, as before. Now run the tree backwards. What does a rank have to
# do with the arrays that come to it, before it sends its own? (Your function may call `broadcast_rounds`, and read its
# plan backwards: the check supplies a right one.)

# %% todo="tree_reduce"
import numpy as np


def tree_reduce(comm, array: np.ndarray, root: int, op: np.ufunc) -> np.ndarray | None:
    """`op` of the arrays of all ranks, on the root.

    comm: an mpi4py communicator; all its ranks call this function.
    array: 1 dimension or more, C-contiguous, of int64, float32 or float64; the same
    shape and dtype on all ranks; possibly empty.
    op: np.add, np.multiply, np.maximum or np.minimum.
    Returns an array on the root, of the shape and dtype of `array`. You may call
    `broadcast_rounds`: the check supplies a right one.
    """
    ### BEGIN SOLUTION
    place, total, step = (comm.rank - root) % comm.size, array.copy(), 1
    while step < comm.size:
        if place & step:
            comm.Send(total, (comm.rank - step) % comm.size)
            return None
        if place + step < comm.size:
            received = np.empty_like(total)
            comm.Recv(received, (comm.rank + step) % comm.size)
            total = op(total, received)
        step *= 2
    return total
    ### END SOLUTION


# %% check="tree_reduce"
check("tree_reduce")


# %%
def reduce_to(comm, root: int, count: int) -> float | None:
    """The sum of 1, 2, 4 and so on, one from each rank, on the root."""
    total = tree_reduce(comm, np.full(count, 2.0**comm.rank), root, np.add)
    return None if total is None else float(total[0])


with needs("tree_reduce"):
    print("On the root, None elsewhere:", world.run(reduce_to, COMM, 0, 1000))
    print_messages()

# %% [markdown]
# If all ranks need the sum, a broadcast follows: reduce, then broadcast. That is an all-reduce in $2 \log_2 N$ rounds,
# and few rounds are good. But look at the bytes: whole arrays move in every round, and most ranks stand idle meanwhile.
# With a gradient of 100 MB, that hurts.
#
# ## 3. Around the ring
#
# So cut the array into as many chunks as there are ranks, and let the ranks sit in a ring: each sends to the next one
# only, and the last one to rank 0. Then all ranks can send *at the same time*. A line carries data both ways at once.
# So from here on, in a **round** a rank may send one message *and* receive one. A chunk travels around the ring, and
# each rank adds its own numbers to it before it passes it on. After $N - 1$ rounds each chunk has been everywhere.
# (That both happen at once is up to your code: if the even ranks send first and the odd ones receive first, half of the
# links are idle at any time, and it takes twice as many rounds. `Sendrecv`, or `Irecv` before `Send`, uses both
# directions.)

# %% todo="ring_reduce_scatter"
import numpy as np


def ring_reduce_scatter(comm, array: np.ndarray) -> np.ndarray:
    """Chunk number `rank` of the sum of the arrays of all ranks.

    comm: an mpi4py communicator; all its ranks call this function.
    array: [n], the same n and dtype on all ranks. Chunks are cut as np.array_split
    cuts, one for each rank; some may be empty.
    An empty message may be left out.
    """
    ### BEGIN SOLUTION
    rank, size = comm.rank, comm.size
    chunks = np.array_split(array.copy(), size)
    for step in range(1, size):
        mine = chunks[(rank - step - 1) % size]
        received = np.empty_like(mine)
        comm.Sendrecv(chunks[(rank - step) % size], (rank + 1) % size, recvbuf=received, source=(rank - 1) % size)
        mine += received
    return chunks[rank]
    ### END SOLUTION


# %% check="ring_reduce_scatter"
check("ring_reduce_scatter")

# %% [markdown]
# ## 4. And once more around
#
# Now every rank has one chunk of the sum, and needs the others'. The chunks go around once more, and this time they are
# kept as they are. The chunks need not be of the same length.

# %% todo="ring_all_gather"
import numpy as np


def ring_all_gather(comm, chunk: np.ndarray, lengths: list[int]) -> np.ndarray:
    """The chunks of all ranks, one after the other in the order of the ranks.

    comm: an mpi4py communicator; all its ranks call this function.
    chunk: [lengths[rank]], the same dtype on all ranks.
    lengths: of the chunks of all ranks, in any proportion; some may be 0.
    Returns an array [sum(lengths)]. An empty message may be left out.
    """
    ### BEGIN SOLUTION
    rank, size = comm.rank, comm.size
    result = np.empty(sum(lengths), chunk.dtype)
    parts = np.split(result, np.cumsum(lengths)[:-1])
    parts[rank][:] = chunk
    for step in range(size - 1):
        send, receive = parts[(rank - step) % size], parts[(rank - step - 1) % size]
        comm.Sendrecv(send, (rank + 1) % size, recvbuf=receive, source=(rank - 1) % size)
    return result
    ### END SOLUTION


# %% check="ring_all_gather"
check("ring_all_gather")

# %% [markdown]
# ## 5. All-reduce
#
# Both halves together are the ring all-reduce. It should take arrays of any shape, as gradients come in many: cut the
# entries, not the rows. Note the phrase *bit for bit*: the last bits of a sum of floats depend on the order of
# addition, and [replicas](GLOSSARY.md#replica) of a model that differ in the last bits drift apart. Does your
# all-reduce add up in one order only, for each chunk?

# %% todo="ring_allreduce"
import numpy as np


def ring_allreduce(comm, array: np.ndarray) -> np.ndarray:
    """The sum of the arrays of all ranks, on every rank.

    comm: an mpi4py communicator; all its ranks call this function.
    array: of any shape and memory layout (0-dimensional, transposed, with fewer entries
    than ranks); the same shape and dtype on all ranks.
    Returns an array of the same shape and dtype. You may call `ring_reduce_scatter` and
    `ring_all_gather`: the check supplies right ones.
    """
    ### BEGIN SOLUTION
    flat = array.ravel()
    lengths = [len(chunk) for chunk in np.array_split(flat, comm.size)]
    return ring_all_gather(comm, ring_reduce_scatter(comm, flat), lengths).reshape(array.shape)
    ### END SOLUTION


# %% check="ring_allreduce"
check("ring_allreduce")

# %% [markdown]
# Here it is on your ranks. Each of them brings an array in its own colour, and a stripe in a cell stands for each rank
# whose numbers are in it. This is not a drawing of how it should be: the film is made of the messages that your
# function sent.


# %%
def ring_of_numbers(comm) -> list[int]:
    """All-reduce of an array whose bits say where each number comes from."""
    return ring_allreduce(comm, numbered_array(comm.rank, comm.size)).tolist()


RING = ("ring_reduce_scatter", "ring_all_gather", "ring_allreduce")
with needs(*RING):
    sums = world.run(ring_of_numbers, COMM)
    print("The same on all ranks:", all(each == sums[0] for each in sums))
    display(sent_ring_film(world.events))

# %% [markdown]
# In the first half the cells fill up, in the second one full cells are copied on. How many bytes is that? Below, the
# lines are formulas, and the dots are what your functions sent on 2, 3 and 4 ranks, counted by the world.

# %% folded=true
# Counts the bytes that the busiest of 2, 3 and 4 ranks sends, and draws them.
from course.lab.figures.bytes_picture import bytes_picture


def send_all(comm, name: str, count: int) -> None:
    """One collective on `count` float64."""
    array = np.full(count, 1.0)
    if name == "broadcast, one by one":
        for other in range(1, comm.size):
            if comm.rank == 0:
                comm.Send(array, dest=other)
            elif comm.rank == other:
                comm.Recv(array, source=0)
    elif name == "broadcast, tree":
        tree_broadcast(comm, array, 0)
    else:
        ring_allreduce(comm, array)


with needs("broadcast_rounds", *RING):
    measured = {}
    for name in ("broadcast, one by one", "broadcast, tree", "all-reduce, ring"):
        measured[name] = {}
        for ranks in range(2, world.size + 1):
            world.run(send_all, COMM, name, 12_000, size=ranks)
            sent = [0] * ranks
            for message in messages(world.events):
                sent[message.source] += message.bytes
            measured[name][ranks] = max(sent)
    display(bytes_picture(measured, 96_000))

# %% [markdown]
# The root's line in a broadcast gets busier with every rank. In the ring, each rank sends $2 (N - 1) / N$ times the
# array: less than twice, with 4 ranks or with 4000. No all-reduce made of messages between ranks gets by with less. (A
# network whose switches add up does: there each rank sends its array once.)
#
# ## 6. What it costs
#
# A message of $n$ bytes takes about $\alpha + \beta n$ seconds: $\alpha$ is the *[latency](GLOSSARY.md#latency)*, what
# even an empty message takes, and $1 / \beta$ the *[bandwidth](GLOSSARY.md#bandwidth)*, bytes a second. With these two
# numbers you can compare plans without running them.


# %% todo="costs"
def costs(size: int, nbytes: int, alpha: float, beta: float) -> dict[str, float]:
    """Seconds that each plan takes for an array of `nbytes` bytes on `size` ranks.

    A round takes alpha + beta * (bytes of its message): alpha in seconds, beta in
    seconds per byte.
    Returns a dict: the seconds that all rounds of a plan take together, by the keys
    "broadcast, one by one", "broadcast, tree", "all-reduce, tree" (reduce, then
    broadcast) and "all-reduce, ring" (chunks of nbytes / size, not rounded).

    Example: 8 ranks, 5 MB, alpha 0 and 1 MB/s take 35, 15, 30 and 8.75 s.
    """
    ### BEGIN SOLUTION
    whole, chunk = alpha + beta * nbytes, alpha + beta * nbytes / size
    levels = (size - 1).bit_length()
    return {
        "broadcast, one by one": (size - 1) * whole,
        "broadcast, tree": levels * whole,
        "all-reduce, tree": 2 * levels * whole,
        "all-reduce, ring": 2 * (size - 1) * chunk,
    }
    ### END SOLUTION


# %% check="costs"
check("costs")

# %% [markdown]
# Does it hold? A network between processes of one machine is just memory, so here is a slow one, simulated: real
# messages between your ranks, each of which takes 2 ms and another second for every 5 MB. Your two all-reduces run on
# it, with arrays of 1 kB to 256 kB:

# %% folded=true
# Times both all-reduces on the simulated network, fits alpha and beta, and draws all.
import time

from course.figures.collectives.fit import Sample, crossing, fit_alpha_beta
from course.figures.collectives.time_picture import time_picture
from course.simulated.network import simulated_network


def tree_allreduce(comm, array: np.ndarray) -> np.ndarray:
    """Reduce to rank 0, then broadcast from there."""
    total = tree_reduce(comm, array, 0, np.add)
    total = np.empty_like(array) if total is None else total
    tree_broadcast(comm, total, 0)
    return total


def seconds_of(comm, functions: dict, sizes: list[int], network: dict) -> dict:
    """Seconds by function and bytes of the array, the best of three times."""
    comm = simulated_network(comm, **network) if network else comm
    found = {name: {} for name in functions}
    for name, function in functions.items():
        for nbytes in sizes:
            array, times = np.ones(nbytes // 8), []
            for _ in range(3):
                comm.Barrier()
                began = time.perf_counter()
                function(comm, array)
                comm.Barrier()
                times.append(time.perf_counter() - began)
            found[name][nbytes] = min(times)
    return found


sizes = [1000 * 2**power for power in range(0, 9, 2)]
both = {"tree": tree_allreduce, "ring": ring_allreduce}
with needs("broadcast_rounds", "tree_reduce", *RING):
    slow = {"alpha": 2e-3, "beta": 1 / 5e6}
    measured = world.run(seconds_of, COMM, both, sizes, slow)[0]
    size, levels = world.size, (world.size - 1).bit_length()
    tree, ring = measured["tree"].items(), measured["ring"].items()
    samples = [Sample(2 * levels, n, seconds) for n, seconds in tree]
    samples += [Sample(2 * (size - 1), n / size, seconds) for n, seconds in ring]
    alpha, beta = fit_alpha_beta(samples)
    latency, bandwidth = 1000 * alpha, 1e-6 / beta
    print(f"fitted: alpha = {latency:.2f} ms, and 1 / beta = {bandwidth:.2f} MB/s")
    faster_from = crossing(alpha, beta, size)
    print(f"by these, the ring is faster from {faster_from:,.0f} bytes on")
    title = "Your all-reduces on the simulated network"
    display(time_picture(measured, size, title, (alpha, beta)))

# %% [markdown]
# Dots on lines: the two numbers explain ten measurements. (They are fitted by least squares of *relative* errors. With
# plain ones, the largest arrays decide alone, and the latency that comes out means nothing.) The tree is faster with
# small arrays, as it has fewer rounds, the ring with large ones, as it moves fewer bytes.
#
# And on the machine itself, where a "network" is a copy in memory?

# %% folded=true
# Times your all-reduces and MPI's own on this machine, and draws them.
with needs("broadcast_rounds", "tree_reduce", *RING):
    own = {"MPI's own": lambda comm, array: comm.Allreduce(array, np.empty_like(array))}
    more_sizes = [*sizes, 1_000_000, 4_000_000]
    here = world.run(seconds_of, COMM, both | own, more_sizes, {})[0]
    title = "The same on this machine, beside MPI's own"
    display(time_picture(here, world.size, title))

# %% [markdown]
# Where do your lines cross, if they do? With more ranks than cores the ring is slower for small arrays, as more
# messages mean more waiting for a core. From about 1 MB on it may be faster here, too: a copy in memory also takes its
# time. Run the cell again, and look how far the dots move. That is why this lab counts rounds and bytes, and only looks
# at the time.
#
# One more experiment on the simulated network: what if *one* link, from rank 0 to rank 1, is ten times slower?

# %% folded=true
# Runs your ring all-reduce with one slow link, and draws who waits.
from course.figures.ranks.timeline import timeline


def ring_on(comm, nbytes: int, network: dict) -> float:
    """Seconds of a ring all-reduce on a simulated network."""
    comm = simulated_network(comm, **network)
    comm.Barrier()
    began = time.perf_counter()
    ring_allreduce(comm, np.ones(nbytes // 8))
    return time.perf_counter() - began


with needs(*RING):
    slow = {"alpha": 2e-3, "beta": 1 / 5e6}
    equal = max(world.run(ring_on, COMM, 64_000, slow))
    limping = max(world.run(ring_on, COMM, 64_000, slow | {"slow": {(0, 1): 10}}))
    print(
        f"all links alike: {1000 * equal:.0f} ms;",
        f"one link ten times slower: {1000 * limping:.0f} ms",
    )
    display(timeline(world.events, "Your ring with a slow link from rank 0 to rank 1"))

# %% [markdown]
# The line under the picture names the rank that waits longest, and for whom. That is where the delay is felt, not where
# it comes from: follow the arrows back, and you arrive at the slow link. Every chunk has to pass every link, so the
# ring is as slow as its slowest one, and all ranks wait for it. On a cluster, that is how a single bad cable slows down
# a training on a thousand GPUs.
#
# ## What you saw
#
# Answer first, then unfold.
#
# <details><summary>Why does a tree take log2 N rounds?</summary>
#
# Because whoever has the data can pass it on: the number of those who have it doubles in each round. Fewer are not
# possible, as long as a rank sends one message at a time.
#
# </details>
#
# <details><summary>What does the ring do better, and what does it pay?</summary>
#
# All links carry data all the time, and each rank sends less than twice its array, on any number of ranks. It pays with
# rounds: 2 (N - 1) of them, each with its latency.
#
# </details>
#
# <details><summary>An all-reduce returns the right sum. Can it still be a bad one?</summary>
#
# Yes. Whole arrays around the ring, or everything through rank 0, give the right sum with up to N / 2 times the bytes
# on the busiest rank. You see it only if you count.
#
# </details>
#
# <details><summary>Why should all ranks have the same bits?</summary>
#
# The order in which floats are added up decides their last bits. If each rank adds up in its own order, replicas of a
# model differ a little after each step, and drift apart. In the ring, each chunk is added up once, and then copied.
#
# </details>
#
# ## What comes next
#
# Lab 05, *SGD on several ranks*, puts gradients into such an all-reduce. There you will also meet the opposite of a
# ring: a server through which everything goes. (A lab that your course leaves out is not needed: go on with the next
# one that you have.)
#
# ## Two questions
#
# They count no points. The first answer is a number: write it in place of `None`, and run the cell to hear whether it
# is right. The second answer is a text: double-click the cell, write a few sentences, and run it. Your instructor reads
# it. Both are handed in.
#
# **1. Where they cross.** With 4 ranks, alpha = 2 ms and 5 MB/s, from how many bytes on is the all-reduce around the
# ring faster than the one by the tree? Use your `costs` in a new cell, and then look whether the measured dots agree.
# (To the nearest thousand. What becomes of it with 8 ranks?)

# %% answer="where_they_cross"
check.answer("where_they_cross", None)

# %% [markdown]
# **2. Through rank 0.** A classmate writes an all-reduce in eight lines: everybody sends to rank 0, which adds up and
# sends the sum back to everybody. "It is right," he says, "and on my laptop it is faster than the ring." What do you
# tell him about 64 GPUs on 8 [nodes](GLOSSARY.md#node), with gradients of 100 MB? Give numbers.

# %% [markdown] answer="through_rank_0"
# On a laptop there is no network: a message is a copy in memory, ranks share cores, and few messages win. On 64 ranks,
# rank 0 receives 63 arrays of 100 MB and sends as many: 12.6 GB through one line, one after the other. At 10 GB/s that
# is more than a second for every step, while the other 63 ranks wait. In the ring every rank sends 2 * 63/64 * 100 MB =
# 197 MB, and all links work at once: about 20 ms, and 126 times the latency, which is far less than a millisecond each.
# For a gradient of a few kB it would be different: then the latency decides, and few rounds are better, as in a tree.
