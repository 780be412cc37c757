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
# # 05 SGD on several ranks
#
# After this lab you can
#
# - compute the gradient of a [batch](GLOSSARY.md#batch) whose samples are spread over several
#   [ranks](GLOSSARY.md#rank), processes with a number,
# - run SGD on N ranks so that it is SGD in one process, step for step,
# - say how the [learning rate](GLOSSARY.md#learning-rate) scales with the number of ranks, and when a
#   [warm-up](GLOSSARY.md#warm-up) helps,
# - write a [parameter server](GLOSSARY.md#parameter-server) and its workers, and measure how late a gradient comes,
# - add up arrays over several [nodes](GLOSSARY.md#node) so that little goes between them.
#
# The idea in one sentence: **{{idea}}**
#
# **Before you start.** {{needs}} Here the all-reduce comes from [Horovod](GLOSSARY.md#horovod), as `hvd.allreduce`, and
# so does `hvd.broadcast`.
#
# **Lecture.** [5 One model on many ranks](../../course/lectures/05_data_parallel.ipynb) shows why N ranks take the path
# of one process; [6 Servers, strategies, and the rate](../../course/lectures/06_servers_and_rates.ipynb) what a
# parameter server costs, and how long a step may be.
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
import time

from IPython.display import display

from autograde.notebook import Checker, needs
from course.figures.training.rank_gradients import steps_film
from course.figures.training.rank_paths import rank_paths_picture
from course.lab.figures.warm_up import warm_up_picture
from course.world import COMM, World

# %% [markdown]
# This cell starts the [world](GLOSSARY.md#world), which is four ranks that will run your code, and loads the checks:

# %%
world = World(4)
check = Checker(world)

# %% [markdown]
# The 48 samples are those of lab 01, and so is the loss: the mean squared error of the line $y = m x + n$.

# %%
import numpy as np
import torch

generator = torch.Generator().manual_seed(0)
x = 4 * torch.rand(48, generator=generator, dtype=torch.float64) - 1
noise = torch.randn(48, generator=generator, dtype=torch.float64)
y = 1.5 * x - 0.5 + 0.8 * noise
start = (-2.0, 1.5)

# %% [markdown]
# ## 1. One gradient from many ranks
#
# Four ranks have 24, 12, 8 and 4 of the samples: rank 0 those with the smallest x, and so on. Each can compute the
# gradient of its own samples' loss. Drawn below, for the line at $(-2, 1.5)$: a thin arrow for each rank, against its
# own gradient, and the thick one that leads down the loss of all 48 samples. How do you get it from the thin ones?

# %% folded=true
# Draws the gradient of each rank's samples, and that of all of them.
from course.figures.training.rank_gradients import rank_gradients_picture

rank_gradients_picture(x, y, [24, 12, 8, 4], start)

# %% [markdown]
# Not by their mean: the rank with 4 samples would count as much as the one with 24. What can be added up over ranks are
# *sums*. Which sums does each rank have to bring?
#
# Two facts that may cost you an hour otherwise: the mean of an empty tensor is `nan`, and `nan` times 0 is still `nan`.
# And `torch.tensor([0.1])` is a float32.

# %% todo="distributed_gradient"
import horovod.torch as hvd
import torch


def distributed_gradient(m, n, x, y) -> tuple[float, float]:
    """The gradient (dm, dn) of the mean squared error over the samples of all ranks.

    m, n: floats, the same on all ranks.
    x, y: float64 tensors [k], the samples of this rank. k differs from rank to rank and
    may be 0, but not on all of them.
    The loss is the mean of (m x + n - y)**2 over all samples of all ranks. Horovod is
    initialised.

    Example: m = n = 0, x = [1], y = [1] on rank 0 and x = [2, 3], y = [0, 1] on rank 1
    give (-8/3, -4/3) on both.
    """
    ### BEGIN SOLUTION
    error = m * x + n - y
    count = torch.tensor(float(len(x)), dtype=torch.float64)
    sums = torch.stack([2 * (error * x).sum(), 2 * error.sum(), count])
    dm, dn, count = hvd.allreduce(sums, op=hvd.Sum).tolist()
    return dm / count, dn / count
    ### END SOLUTION


# %% check="distributed_gradient"
check("distributed_gradient")

# %% [markdown]
# Here is your gradient on four ranks, with the 24, 12, 8 and 4 samples of the picture, beside that of one process with
# all 48:


# %%
def with_shares(counts: list[int], m: float, n: float) -> tuple[float, float]:
    """`distributed_gradient` where rank r has the next counts[r] samples, by x."""
    import horovod.torch as hvd

    own = x.argsort().split(counts)[hvd.rank()]
    return distributed_gradient(m, n, x[own], y[own])


with needs("distributed_gradient"):
    error = start[0] * x + start[1] - y
    print("one process:", (2 * (error * x).mean().item(), 2 * error.mean().item()))
    pairs = world.run(with_shares, [24, 12, 8, 4], *start, init="horovod")
    for rank, pair in enumerate(pairs):
        print(f"rank {rank}:     ", pair)

# %% [markdown]
# ## 2. One path from many ranks
#
# In lab 01 one process walked down the loss. Now four do, and they must not part. They keep together without ever
# sending the point where they are, if three things hold:
#
# - they begin at the same point. Each rank may have a different start, so rank 0's is given to all by a
#   [broadcast](GLOSSARY.md#broadcast);
# - they use the same gradient: the one of section 1, of the whole batch;
# - they agree on which samples are in the batch, since they draw the same orders from the same
#   [seed](GLOSSARY.md#seed). Each takes its share of them.
#
# `batch_size` is what all ranks together use in a step, the [global batch](GLOSSARY.md#global-batch). A batch is shared
# out as evenly as it goes. Its shares may be empty, if the last batch of an [epoch](GLOSSARY.md#epoch) is small.

# %% todo="distributed_path"
import horovod.torch as hvd
import torch


def distributed_path(
    x: torch.Tensor,
    y: torch.Tensor,
    batch_size: int,
    rate,
    epochs: int,
    start: tuple[float, float],
    seed: int,
) -> torch.Tensor:
    """The points (m, n) that SGD goes through on all ranks together.

    x, y: float64 tensors [N], all samples on every rank.
    batch_size: samples of a step, on all ranks together. It may be larger than N.
    rate(k): the learning rate of step k. Steps are counted from 0, through all epochs.
    start: the point before the first step. It differs by rank: rank 0's counts.
    seed: the same on all ranks. The orders of all epochs follow from it alone. An order
    is cut into batches, of which each rank takes a share; samples left over at the end
    form a smaller one.
    Each gradient comes from `distributed_gradient(m, n, x, y)`, called once a step on
    every rank with its share. The check supplies a right one. Horovod is initialised.
    Returns a float64 tensor [steps + 1, 2] without autograd history, the same on every
    rank, bit for bit.
    """
    ### BEGIN SOLUTION
    m, n = hvd.broadcast(torch.tensor(start, dtype=torch.float64), root_rank=0).tolist()
    generator = torch.Generator().manual_seed(seed)
    path = [(m, n)]
    for _ in range(epochs):
        order = torch.randperm(len(x), generator=generator)
        for batch in order.split(batch_size):
            own = batch.tensor_split(hvd.size())[hvd.rank()]
            dm, dn = distributed_gradient(m, n, x[own], y[own])
            step = rate(len(path) - 1)
            m, n = m - step * dm, n - step * dn
            path.append((m, n))
    return torch.tensor(path, dtype=torch.float64)
    ### END SOLUTION


# %% check="distributed_path"
check("distributed_path")

# %% [markdown]
# Your path on four ranks, as a film. On the right are the four ranks' parts of each step, laid end to end; the thick
# line from the beginning to the end is the step of all of them. (The right side is schematic: it shares out all 48
# samples by x, rank 0 the smallest, and draws every step at the same length, so that you can see which way each rank
# would pull. Your step itself used 16 random ones.)


# %%
def four_ranks(batch_size: int, epochs: int) -> list:
    """Your `distributed_path`; rank 0 starts at `start`, and the others elsewhere."""
    import horovod.torch as hvd

    own = (start[0] + hvd.rank(), start[1] - hvd.rank())
    path = distributed_path(x, y, batch_size, lambda step: 0.1, epochs, own, seed=7)
    return path.tolist()


with needs("distributed_gradient", "distributed_path"):
    paths = world.run(four_ranks, 16, 5, init="horovod")
    same = all(path == paths[0] for path in paths)
    print("All ranks have the same path, bit for bit:", same)
    display(steps_film(x, y, paths[0], ranks=4))

# %% [markdown]
# What if the broadcast is left out? All gradients are averaged as before, and nothing complains:


# %%
def without_broadcast(steps: int) -> list:
    """Full batches with averaged gradients, where each rank begins at its own point."""
    import horovod.torch as hvd

    m, n = start[0] + hvd.rank(), start[1] - hvd.rank()
    path = [(m, n)]
    own = torch.arange(48).tensor_split(hvd.size())[hvd.rank()]
    for _ in range(steps):
        error = m * x[own] + n - y[own]
        gradient = torch.stack([2 * (error * x[own]).mean(), 2 * error.mean()])
        dm, dn = hvd.allreduce(gradient, op=hvd.Average).tolist()
        m, n = m - 0.1 * dm, n - 0.1 * dn
        path.append((m, n))
    return path


apart = world.run(without_broadcast, 30, init="horovod")
runs = {"without the broadcast": apart}
with needs("distributed_gradient", "distributed_path"):
    runs["with it: your four ranks"] = world.run(four_ranks, 48, 30, init="horovod")
rank_paths_picture(x, y, runs)

# %% [markdown]
# The same steps from four different points end at four different points: each rank trains a different line, on
# gradients that fit none of them. The loss printed by one rank may well go down meanwhile. In a network with a million
# weights nobody sees it.
#
# ## 3. Longer steps
#
# N ranks with batches of the same size have a global batch N times as large, and make 1/N of the steps in an epoch. To
# get as far, each step may be N times as long: this is the *linear scaling rule* (Goyal and others,
# [*Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour*](https://arxiv.org/abs/1706.02677), 2017). Where
# training begins, such steps can be too long. A *warm-up* leads up to them.


# %% todo="learning_rate"
def learning_rate(lr: float, size: int, warmup: int):
    """A function `rate(step)`: the learning rate of each step on `size` ranks.

    lr: the learning rate of a single rank. size: number of ranks.
    warmup: steps of the warm-up, 0 or more.

    Example: lr = 0.1, size = 4, warmup = 2: 0.1, 0.25, 0.4, 0.4 at steps 0, 1, 2, 3.
    """

    ### BEGIN SOLUTION
    def rate(step: int) -> float:
        if step >= warmup:
            return lr * size
        return lr + (lr * size - lr) * step / warmup

    return rate
    ### END SOLUTION


# %% check="learning_rate"
check("learning_rate")

# %% [markdown]
# Does it help? The loss of our line cannot show it. It is equally steep everywhere: steps that are too long at the
# beginning are too long at the end as well. So take a model with two factors, $y = u\,v\,x$, the smallest relative of a
# network with two layers. Its loss is steepest where $u$ and $v$ are large. A single rank takes batches of 12, four
# ranks take 48:


# %%
def two_factors(rate, batch_size: int, steps: int = 12) -> list[tuple[float, float]]:
    """The path (u, v) of SGD on y = u v x, from (3.0, 3.2), while it stays in sight."""
    generator = torch.Generator().manual_seed(7)
    path = [(3.0, 3.2)]
    while len(path) <= steps:
        for batch in torch.randperm(48, generator=generator).split(batch_size):
            u, v = path[-1]
            slope = 2 * ((u * v * x[batch] - y[batch]) * x[batch]).mean().item()
            step = rate(len(path) - 1)
            path.append((u - step * slope * v, v - step * slope * u))
            if max(map(abs, path[-1])) > 1000:
                return path
    return path[: steps + 1]


with needs("learning_rate"):
    runs = {
        "one rank, lr = 0.016": two_factors(lambda step: 0.016, 12),
        "four ranks, 4 lr": two_factors(learning_rate(0.016, 4, 0), 48),
        "four ranks, warm-up of 6 steps": two_factors(learning_rate(0.016, 4, 6), 48),
    }
    display(warm_up_picture(x, y, runs))

# %% [markdown]
# With four times the learning rate from the first step on, the path leaves the picture at once, and within five steps
# it is millions away. With a warm-up it arrives: by the time the steps are long, the surface is flat enough for them.
# So a warm-up helps where the beginning is steeper than the goal. If the steps are too long for the goal itself, it
# cannot help.
#
# ## 4. A server for the parameters
#
# Until now each rank has had a [replica](GLOSSARY.md#replica) of the parameters, a copy. There is another way (Dean and
# others, [*Large Scale Distributed Deep
# Networks*](https://papers.nips.cc/paper/4687-large-scale-distributed-deep-networks), 2012; Li and others, [*Scaling
# Distributed Machine Learning with the Parameter
# Server*](https://www.usenix.org/conference/osdi14/technical-sessions/presentation/li_mu), 2014): one rank, the
# *parameter server*, has the only one. The others, its *workers*, go round in a circle. A worker **pulls** the
# parameters, computes a gradient at its own pace, and **pushes** it to the server, which takes the step. No worker
# waits for any other.
#
# | message | from | with tag | what is in it |
# |---|---|---|---|
# | a request for the parameters | worker | `PULL` | nothing: an array of 0 float64 |
# | the answer | rank 0 | `PULL` | the parameters as they are now |
# | a gradient | worker | `PUSH` | the gradient |
# | "I am done" | worker | `DONE` | nothing: an array of 0 float64 |
#
# The server does not know who comes next. `comm.Recv(buffer, status=status)` takes the next message from anybody, and
# `status = MPI.Status()` then knows its `source` and its `tag`.

# %% todo="serve"
import numpy as np
from mpi4py import MPI

PULL, PUSH, DONE = 1, 2, 3


def serve(comm, parameters: np.ndarray, rate: float) -> np.ndarray:
    """The parameter server: what rank 0 of `comm` runs while all others work.

    comm: an mpi4py communicator; only rank 0 calls this function.
    parameters: float64 [P], where to begin.
    Messages are buffers of float64 with one of the tags above. A worker sends
    - PULL, of 0 numbers: it asks for the parameters;
    - PUSH, of P numbers, a gradient: parameters -= rate * gradient. No answer;
    - DONE, of 0 numbers: nothing more comes from this worker. No answer.
    A worker may push often, never, or several times without a new PULL. `serve` also
    works where each send waits for its receive.
    """
    ### BEGIN SOLUTION
    parameters, gradient = parameters.copy(), np.empty_like(parameters)
    status = MPI.Status()
    working = comm.size - 1
    while working:
        comm.Recv(gradient, status=status)
        if status.tag == PULL:
            comm.Send(parameters, dest=status.source, tag=PULL)
        elif status.tag == PUSH:
            parameters -= rate * gradient
        else:
            working -= 1
    return parameters
    ### END SOLUTION


# %% check="serve"
check("serve")

# %% [markdown]
# ## 5. The worker
#
# The other side of the same messages:

# %% todo="work"
import numpy as np

PULL, PUSH, DONE = 1, 2, 3


def work(comm, gradient, count: int, steps: int) -> None:
    """A worker of the parameter server on rank 0 of `comm`.

    gradient(parameters): takes a float64 array [count] and returns another one. It
    neither keeps nor changes what it gets.
    The messages are those of the table above. A PUSH is not answered.
    `work` also works where each send waits for its receive.
    """
    ### BEGIN SOLUTION
    parameters, nothing = np.empty(count), np.empty(0)
    for _ in range(steps):
        comm.Send(nothing, dest=0, tag=PULL)
        comm.Recv(parameters, source=0, tag=PULL)
        comm.Send(gradient(parameters), dest=0, tag=PUSH)
    comm.Send(nothing, dest=0, tag=DONE)
    ### END SOLUTION


# %% check="work"
check("work")

# %% [markdown]
# Now both together, on the line of section 1: rank 0 serves, and ranks 1 to 3 work, each on batches of its own third of
# the samples. A gradient takes 10 ms (asleep, as if a GPU were computing it). In a second run, rank 1 is five times
# slower, and makes 8 steps instead of 40.


# %%
def server_and_workers(comm, steps: int, slow: int) -> list[list[float]]:
    """`serve` on rank 0 and `work` on all others.

    slow: how many times longer rank 1 takes for a gradient.
    Returns the points that this worker pulled; of rank 0, where it all ended.
    """
    if comm.rank == 0:
        return [serve(comm, np.array(start), 0.05).tolist()]
    draw, pulled = np.random.default_rng(comm.rank), []
    own = np.array_split(np.arange(48), comm.size - 1)[comm.rank - 1]

    def gradient(parameters):
        pulled.append(parameters.tolist())
        batch = draw.permutation(own)[:4]
        time.sleep(0.01 * (slow if comm.rank == 1 else 1))
        error = parameters[0] * x.numpy()[batch] + parameters[1] - y.numpy()[batch]
        return np.array([2 * (error * x.numpy()[batch]).mean(), 2 * error.mean()])

    work(comm, gradient, 2, steps // slow if comm.rank == 1 else steps)
    return pulled


# %% [markdown]
# What the server receives, and where it leads the parameters: the points that it hands out, in its own order. For
# comparison, the picture has your `distributed_path` too: 40 steps on three ranks with rate 0.15, each as long as three
# steps of 0.05, one from each worker.


# %%
def served_by(events) -> list[tuple[int, str]]:
    """What rank 0 received, in its order: each worker with PULL, PUSH or DONE."""
    names = {1: "PULL", 2: "PUSH", 3: "DONE"}
    received = [each for each in events[0] if each["kind"] == "recv"]
    return [(each["peer"], names[each["tag"]]) for each in received]


with needs("serve", "work"):
    runs = {}
    for slow in (1, 5):
        pulled = world.run(server_and_workers, COMM, 40, slow)
        served = served_by(world.events)
        title = "three equal workers" if slow == 1 else "rank 1 five times slower"
        some = [f"{name} of {rank}" for rank, name in served[12:24]]
        print(f"{title}, what rank 0 receives:", *some, "...")
        answers = [iter(own) for own in pulled]
        path = [next(answers[rank]) for rank, name in served if name == "PULL"]
        runs[title] = [path + pulled[0]]
    with needs("distributed_gradient", "distributed_path"):
        given = (x, y, 12, lambda k: 0.15, 10, start, 7)
        all_reduce = world.run(distributed_path, *given, init="horovod", size=3)
        runs["all-reduce, three ranks"] = [path.tolist() for path in all_reduce]
    display(rank_paths_picture(x, y, runs))

# %% [markdown]
# Both runs of the server arrive, and so does your `distributed_path` on three ranks, which is drawn beside them. It
# makes the same path however slow one of its ranks is: the others wait for it in each step. With a server nobody
# waits. But look at the requests: between a worker's PULL and its PUSH come the PUSHes of others. Its gradient then
# changes parameters for which it was not computed: it is a [stale gradient](GLOSSARY.md#stale-gradient). How many
# updates late is it? That is the question at the end of this lab.
#
# What does the server cost? For each step of all workers, it sends all parameters to each of them, and receives as many
# gradients. Here is what your server sends and receives, measured with 10 000 parameters, beside the all-reduce:

# %% folded=true
# Counts the bytes of your server with one, two and three workers, and draws them.
from course.figures.replicas.busiest_rank import busiest_rank_picture


def one_step(comm, count: int) -> None:
    """One step of each worker."""
    if comm.rank == 0:
        serve(comm, np.zeros(count), 0.1)
    else:
        work(comm, np.ones_like, count, 1)


with needs("serve", "work"):
    measured = {}
    for ranks in (2, 3, 4):
        world.run(one_step, COMM, 10_000, size=ranks)
        moved = 0
        for each in world.events[0]:
            counted = each["bytes"] if each["kind"] == "send" else each["received"]
            moved += counted or 0
        measured[ranks] = moved
    print("Bytes that rank 0 sends and receives, for each number of ranks:", measured)
    display(busiest_rank_picture(measured, 80_000))

# %% [markdown]
# The server's line gets busier with each worker. In an all-reduce on a ring, each rank sends $2 (N - 1) / N$ times the
# parameters and receives as much, however many ranks there are: less than twice. That is why most training today uses
# an all-reduce, and parameter servers are split into several, each with a part of the parameters.
#
# ## 6. Few between the nodes
#
# Ranks on one node exchange data quickly, and nodes are joined by a slower network:

# %% folded=true
# Draws two nodes with two ranks each.
from course.figures.ranks.places import places_picture

places_picture(2, 2)

# %% [markdown]
# In an all-reduce that knows nothing of nodes, all four ranks may send their arrays from node to node. It is enough if
# one rank of each node does: the node adds up, its *leader* adds up with the other leaders, and then it passes the
# result on to its node.
# `comm.Split(color)` makes [communicators](GLOSSARY.md#communicator). Ranks that are to be in none of them pass
# `MPI.UNDEFINED` as their color: they get `MPI.COMM_NULL`, on which no call is possible.

# %% todo="two_level_sum"
import numpy as np
from mpi4py import MPI


def two_level_sum(comm, host: str, array: np.ndarray) -> np.ndarray:
    """The sum of all ranks' arrays, on every rank.

    comm: an mpi4py communicator; all its ranks call this function.
    host: the name of the node that this rank is on. Two ranks are on the same node if
    their names are equal. Ranks of a node need not follow each other, and nodes may
    hold different numbers of ranks.
    array: of the same shape and dtype on all ranks, C-contiguous, of int64 or floats;
    perhaps without dimensions or empty.
    Choose one rank of each node, its leader. Ranks of one node may do as they like
    among themselves. Names, and up to ten calls of at most 200 bytes a rank, such as
    `Split`, may join all ranks.
    """
    ### BEGIN SOLUTION
    hosts = comm.allgather(host)
    node = comm.Split(hosts.index(host), comm.rank)
    leaders = comm.Split(0 if node.rank == 0 else MPI.UNDEFINED, comm.rank)
    total = np.empty_like(array)
    node.Reduce(array, total, root=0)
    if node.rank == 0:
        leaders.Allreduce(MPI.IN_PLACE, total)
    node.Bcast(total, root=0)
    return total
    ### END SOLUTION


# %% check="two_level_sum"
check("two_level_sum")


# %%
def gradients_of_two_nodes(comm) -> float:
    """The sum of a million numbers from each rank.

    Ranks 0 and 1 are on one node, and 2 and 3 on the other.
    """
    host = "node0" if comm.rank < 2 else "node1"
    return float(two_level_sum(comm, host, np.full(1_000_000, comm.rank + 1.0))[0])


with needs("two_level_sum"):
    print("1 + 2 + 3 + 4 =", *world.run(gradients_of_two_nodes, COMM))
    for rank, log in enumerate(world.events):
        calls = []
        for each in log:
            moved = each["bytes"], each["received"], each["room"]
            if max(size or 0 for size in moved) > 200:
                message = each["kind"] in ("send", "recv", "sendrecv")
                whom = f"with {each['peer']}" if message else f"on {each['members']}"
                calls.append(f"{each['op']} {whom}")
        print(f"rank {rank}:", "; ".join(calls))

# %% [markdown]
# ### Four arrangements
#
# You have now built what frameworks offer under various names. Here is one step of each, with 10 000 parameters, on two
# nodes of two ranks. The wider the arrow, the more bytes your functions moved. (An all-reduce in one call is drawn as
# the ring that it usually is. "All on rank 0" and "server" look alike: what differs is who waits, as the table below
# says.)

# %% folded=true
# Runs one step of each arrangement on two nodes of two ranks, and draws what moved.
from course.figures.replicas.arrangements import arrangements_picture


def one_step_of(comm, arrangement: str, count: int) -> None:
    """What moves in one step."""
    array, total = np.ones(count), np.empty(count)
    if arrangement == "all-reduce":
        comm.Allreduce(array, total)
    elif arrangement == "two levels":
        two_level_sum(comm, f"node{2 * comm.rank // comm.size}", array)
    elif arrangement == "server":
        one_step(comm, count)
    elif comm.rank == 0:
        for other in range(1, comm.size):
            comm.Recv(total, source=other)
        for other in range(1, comm.size):
            comm.Send(array, dest=other)
    else:
        comm.Send(array, dest=0)
        comm.Recv(total, source=0)


with needs("serve", "work", "two_level_sum"):
    runs = {}
    for arrangement in ("all-reduce", "all on rank 0", "two levels", "server"):
        world.run(one_step_of, COMM, arrangement, 10_000)
        runs[arrangement] = world.events
    display(arrangements_picture(runs, 80_000))

# %% [markdown]
# TensorFlow calls these *strategies*:
#
# | strategy | variables | busiest rank | between nodes | who waits | here |
# |---|---|---|---|---|---|
# | `MirroredStrategy` | $N$ replicas | $4 (N - 1) / N \cdot P$ | nothing: one node | all | sections 1, 2 |
# | `CentralStorageStrategy` | 1, on rank 0 | $2 (N - 1) P$ | nothing: one node | all | "All on rank 0" |
# | `MultiWorkerMirroredStrategy` | $N$ replicas | $4 P$; one ring: $3 P$ | $2 P$; one ring: $3 P$ | all | section 6 |
# | `ParameterServerStrategy` | 1, on the server | $2 (N - 1) P$ | $4 P$ | nobody | sections 4, 5 |
#
# ($P$ is the size of the parameters in bytes, $N$ the number of ranks; what is sent and received in a step is counted.
# TensorFlow keeps the variables of `CentralStorageStrategy` on the CPU, or on the only GPU; rank 0 stands for it here.
# Between nodes: for two nodes of two ranks, as in the pictures. All wait for the slowest, if they wait.) These lines of
# TensorFlow ask for them:
#
# ```python
# strategy = tf.distribute.MirroredStrategy()
# strategy = tf.distribute.experimental.CentralStorageStrategy()
# strategy = tf.distribute.MultiWorkerMirroredStrategy()
# strategy = tf.distribute.ParameterServerStrategy(
#     tf.distribute.cluster_resolver.TFConfigClusterResolver()
# )
# with strategy.scope():
#     ...  # variables that are made here are placed by it
# ```
#
# On several nodes, each process finds the others in the environment variable `TF_CONFIG`, as in
# `{"cluster": {"worker": ["node0:5000", "node1:5000"]}, "task": {"type": "worker", "index": 0}}`.
#
# ## What you saw
#
# Answer first, then unfold.
#
# <details><summary>What travels between the ranks in a step, and what does not?</summary>
#
# Two sums and a count: 24 bytes. The parameters are sent once, at the beginning. After that, all ranks take the same
# steps from the same point, so they never part.
#
# </details>
#
# <details><summary>Why is the mean of the ranks' gradients not the gradient?</summary>
#
# A rank with few samples would count as much as one with many. Sums may be added, and divided at the end by the number
# of all samples. Only where all ranks have equally many is the mean of means right.
#
# </details>
#
# <details><summary>When does a warm-up help?</summary>
#
# Where the beginning is steeper than the goal: with $u\,v\,x$, four times the learning rate throws the path out within
# five steps, and a warm-up of 6 steps brings it home. On the line's loss, which is equally steep everywhere, nothing
# would change.
#
# </details>
#
# <details><summary>What is the price of a server?</summary>
#
# Its line: it sends and receives all parameters once for each worker. And gradients come late. What is gained: nobody
# waits for a slow worker.
#
# </details>
#
# ## What comes next
#
# Here each rank had all samples, and took its share of each batch. With a large data set it draws only what it needs:
# lab 06, *Samplers for several ranks*, shares the samples out. (A lab that your course leaves out is not needed: go on
# with the next one that you have.)
#
# ## Two questions
#
# They count no points. The first answer is a number: write it in place of `None`, and run the cell to hear whether it
# is right. The second answer is a text: double-click the cell, write a few sentences, and run it. Your instructor reads
# it. Both are handed in.
#
# **1. How late?** In a new cell, run `server_and_workers` with 40 steps and three equal workers (`slow` = 1), and go
# through `served_by(world.events)`, the requests in the order in which rank 0 received them. For each PUSH, count the
# PUSHes of *other* workers since the last PULL of the same worker. What is the mean, over all PUSHes? (Round to a whole
# number. Then try one and two workers, by `size=2` and `size=3`, and `slow` = 5.)

# %% answer="how_late"
check.answer("how_late", None)

# %% [markdown]
# **2. The same path?** A classmate trains on 4 ranks, and on 1 rank for comparison, with the same seed. "The losses
# differ from the first step on," he says, "so averaging gradients is only an approximation." What do you ask him, and
# what do you have him compare?

# %% [markdown] answer="same_path"
# Averaging gradients is exact: N ranks that start alike and share a batch take the very step that one process takes
# with the whole batch. So ask: is the global batch the same, or does each rank take as many samples as the single one
# did? Then it is 4 times as large, with another learning rate perhaps. Do all ranks start at the same point, by a
# broadcast? Do they share one order of samples, drawn from the seed, or has each its own? Are unequal shares weighted?
# Compare: samples of the first step on all ranks together with those of one process, the gradient of this step, and the
# parameters after it. They should agree up to the rounding of a sum.
