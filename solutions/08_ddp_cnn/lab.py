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
# # 08 One training, on one rank or on many nodes
#
# After this lab you can
#
# - start the same training script alone, on one [node](GLOSSARY.md#node), and on many nodes of a cluster,
# - write a training loop around [DistributedDataParallel](GLOSSARY.md#distributeddataparallel) that gives the same
#   losses on any number of [ranks](GLOSSARY.md#rank), processes with a number,
# - measure how many images all ranks together train on in a second, without fooling yourself,
# - say which part of a step shrinks with more ranks, which stays, and which grows,
# - tell from a model's layers whether it will scale.
#
# The idea in one sentence: **{{idea}}**
#
# **Before you start.** {{needs}} From PyTorch: modules, `DataLoader`, and what `backward` leaves in `.grad`.
#
# **Lecture.** [8 On a cluster](../../course/lectures/08_cluster.ipynb) reads job scripts line by line, and says who
# tells a rank who it is; [9 How fast it gets](../../course/lectures/09_scaling.ipynb), before section 4, says what
# slows it down.
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
import os
import time

import torch
import torch.distributed as dist
from IPython.display import display
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from autograde.notebook import Checker, needs
from course.batch.launched import by_srun, by_torchrun
from course.batch.record import record
from course.lab.figures.step_movie import step_movie
from course.lab.models.group_norm_cnn import digit_cnn
from course.models.digits import some_digits
from course.processes.surroundings.machine import cores
from course.simulated.all_reduce import slow_all_reduce
from course.simulated.device import SimulatedDevice
from course.world import COMM, World

# %% [markdown]
# This cell starts the [world](GLOSSARY.md#world), which is four ranks that will run your code, and loads the checks:

# %%
world = World(4)
check = Checker(world)

# %% [markdown]
# ## 1. Who am I?
#
# A training script is started many times at once, and each copy asks: which rank am I, of how many, on which of this
# node's GPUs, and where do I meet the others? What starts the copies, the *launcher*, writes the answers into their
# environment. Below are five ranks on three nodes, as [Slurm](GLOSSARY.md#slurm)'s `srun` can place them: in blocks, or
# in turns (`--distribution=cyclic`). In both, look for the ranks' numbers on their nodes.

# %% folded=true
# Draws five ranks on three nodes, in blocks and in turns.
from course.batch.srun_tasks import tasks_of
from course.figures.scaling.task_layout import task_layout_picture

nodes, tasks, names = "gpu[07-08],gpu11", [3, 1, 1], ["gpu07", "gpu08", "gpu11"]
layouts = {
    "in blocks": tasks_of(nodes, tasks, names=names),
    "in turns": tasks_of(nodes, tasks, cyclic=True, names=names),
}
task_layout_picture(layouts)

# %% [markdown]
# `torch.distributed` looks for other names than Slurm uses. So somebody has to translate. Slurm calls a rank a *task*,
# and what one `srun` starts a *job step* (no step of training):
#
# | for torch | what it is | what `srun` sets for each task of a job step |
# |---|---|---|
# | `RANK`, `WORLD_SIZE` | this rank's number, and how many there are | `SLURM_PROCID`, `SLURM_NTASKS` |
# | `LOCAL_RANK` | its number on its own node | `SLURM_LOCALID` |
# | `LOCAL_WORLD_SIZE` | how many ranks this node has | `SLURM_STEP_TASKS_PER_NODE`, and `SLURM_NODEID` |
# | `MASTER_ADDR` | the node where all ranks meet | `SLURM_STEP_NODELIST` |
# | `MASTER_PORT` | the port there | nothing: choose one that follows from `SLURM_JOB_ID` |
#
# Slurm shortens. Tasks by node, `3,1(x2)`, are 3, 1 and 1; `SLURM_NODEID` is the number of this node, from 0. The
# nodes `gpu[07-08],gpu11` are gpu07, gpu08 and gpu11.
#
# A job may be larger than its job steps: `SLURM_JOB_NODELIST` and `SLURM_NODELIST` speak of the whole job.
# `SLURM_NTASKS_PER_NODE` is what was asked for. Ports from 32768 up go to connections that programs open, so
# one of them may be taken. And two job steps that run at the same time need two ports (your
# function need not care for these).
#
# (If you will never start anything by `srun`, you may leave this TODO out: that costs its points, and nothing else.
# Only the line by `srun` in section 2 needs it. Reading all forms of node lists is the longest part of it.)

# %% todo="process_group_from_slurm"
import re


def process_group_from_slurm(environ: dict[str, str]) -> dict[str, str]:
    """What torch.distributed needs, from the variables of a task that srun has started.

    environ: the task's environment, names and values as strings. It stays as it is, and
    nothing else is looked at: `os.environ` is neither read nor written, no program is
    called, nothing is communicated.
    Returns strings for RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE (the tasks of the
    step on *this* node), MASTER_ADDR and MASTER_PORT.
    MASTER_ADDR: the first node of the step's list, written out. In a list, names are
    separated by commas. A name may hold brackets, several of them, each with numbers
    and ranges, and text before, between and after them; numbers keep their zeros. It
    may hold hyphens.
    MASTER_PORT: from 1024 to 32767 for whatever job, the same for all tasks of a step;
    of any 500 jobs in a row, the first steps have 500 different ones. SLURM_JOB_ID is
    a whole number.
    Raises ValueError if `environ` has no SLURM_STEP_ID: this is no task of srun's.

    Example: SLURM_STEP_NODELIST = "node[01-03,07],login" gives MASTER_ADDR "node01".
    """
    ### BEGIN SOLUTION
    if "SLURM_STEP_ID" not in environ:
        raise ValueError("SLURM_STEP_ID is missing: start the ranks by srun")
    tasks = []
    for part in environ["SLURM_STEP_TASKS_PER_NODE"].split(","):
        count, _, times = part.rstrip(")").partition("(x")
        tasks += [count] * int(times or 1)
    first_name = re.match(r"([^\[,]|\[[^\]]*\])+", environ["SLURM_STEP_NODELIST"])[0]
    return {
        "RANK": environ["SLURM_PROCID"],
        "WORLD_SIZE": environ["SLURM_NTASKS"],
        "LOCAL_RANK": environ["SLURM_LOCALID"],
        "LOCAL_WORLD_SIZE": tasks[int(environ["SLURM_NODEID"])],
        "MASTER_ADDR": re.sub(r"\[(\w+)[^\]]*\]", r"\1", first_name),
        "MASTER_PORT": str(10_000 + int(environ["SLURM_JOB_ID"]) % 10_000),
    }
    ### END SOLUTION


# %% check="process_group_from_slurm"
check("process_group_from_slurm")

# %% [markdown]
# What your function says to the five tasks of the picture, placed in turns:

# %%
NAMES = (
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
)
with needs("process_group_from_slurm"):
    answers = [process_group_from_slurm(task) for task in layouts["in turns"]]
    print(*(name.rjust(len(name) + 1) for name in NAMES))
    for each in answers:
        print(*(each[name].rjust(len(name) + 1) for name in NAMES))

# %% [markdown]
# ## 2. One training script
#
# Now the script. It has a loop like any other, and five places where the ranks come in:
#
# 1. each rank draws its own part of the samples. `DistributedSampler` deals them out; `set_epoch` shuffles them anew;
# 2. a step takes `batch_size` images, *of all ranks together*. So how many does each rank take?
# 3. all ranks begin with the same weights. `DistributedDataParallel(model)` gives them rank 0's;
# 4. all ranks make the same step: the wrapper averages gradients, while `backward` runs. But only if the forward pass
#    goes through the wrapper, too;
# 5. the loss that is reported is about the samples of all ranks.
#
# And where there is no [process group](GLOSSARY.md#process-group), because somebody tries the script on a laptop? Then
# the same function trains alone.

# %% todo="train"
import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def train(
    model: torch.nn.Module,
    dataset,
    epochs: int,
    batch_size: int,
    lr: float,
    seed: int,
    device: torch.device,
) -> list[float]:
    """Train `model` on all ranks of the default process group, or alone without one.

    model: on the CPU. The ranks may bring different weights: all begin with rank 0's.
    dataset: the same on all ranks. dataset[i] is (float tensor, int).
    batch_size: samples in a step, of all ranks together, who share them equally: a
    multiple of the number of ranks.
    SGD with momentum 0.9 and learning rate `lr`, not multiplied by the number of ranks;
    cross-entropy, the mean over a batch; the model is in train mode. One forward pass
    for each batch.
    Each rank draws its samples through a DistributedSampler that shuffles with `seed`;
    before each epoch it is told the epoch's number, from 0. Alone, it is one with
    num_replicas=1 and rank=0. The last, smaller batch counts.
    In a group, `model` is wrapped once by DistributedDataParallel(model), with
    `device_ids=[device]` on a GPU only. Its backward pass averages the gradients;
    besides it, the ranks exchange no more than a few numbers at a time.
    Afterwards `model` itself is on `device` and holds the result.
    Returns for each epoch a float: the mean loss over all samples that all ranks drew.
    The loss of a batch is that of its one forward pass, before the step. The float is
    the same on all ranks, right to 6 digits.
    """
    ### BEGIN SOLUTION
    in_group = dist.is_initialized()
    size, rank = (dist.get_world_size(), dist.get_rank()) if in_group else (1, 0)
    sampler = DistributedSampler(dataset, size, rank, seed=seed)
    loader = DataLoader(dataset, batch_size // size, sampler=sampler)
    model.to(device).train()
    wrapper = model
    if in_group:
        wrapper = DistributedDataParallel(model, device_ids=[device] if device.type == "cuda" else None)
    optimizer = torch.optim.SGD(model.parameters(), lr, momentum=0.9)
    losses = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        sums = torch.zeros(2, dtype=torch.float64, device=device)
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = cross_entropy(wrapper(inputs.to(device)), labels.to(device))
            loss.backward()
            optimizer.step()
            sums[0] += loss.detach() * len(labels)
            sums[1] += len(labels)
        if in_group:
            dist.all_reduce(sums)
        losses.append((sums[0] / sums[1]).item())
    return losses
    ### END SOLUTION


# %% check="train"
check("train")

# %% [markdown]
# Now the same function, started in four ways: alone; on two ranks of the notebook's [world](GLOSSARY.md#world); by
# `torchrun`, which is PyTorch's own launcher; and by `srun`, with your function of section 1. (Where there is no Slurm,
# two processes are started here with the variables that `srun` would set, and the table says so.) The network is a
# small one for digits. It has GroupNorm, which normalises each image by itself, instead of BatchNorm, whose statistics
# would be those of a rank's own images.


# %%
def own_device() -> torch.device:
    """This rank's GPU, where the process group is one of GPUs; else the CPU."""
    if dist.is_initialized() and dist.get_backend() == "nccl":
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


def training(epochs: int) -> list[float]:
    """`train` on some digits: the same on all ranks, whoever started them."""
    train_set, _ = some_digits()
    images = torch.utils.data.Subset(train_set, range(640))
    # Each rank begins with other weights.
    seed = dist.get_rank() if dist.is_initialized() else 0
    return train(digit_cnn(seed), images, epochs, 64, 0.02, 1, own_device())


launched = {}
with needs("train"):
    launched["alone"] = world.run(training, 3, size=1)[0]
    by_rank = world.run(training, 3, size=2, init="torch")
    launched["two ranks of the notebook's world"] = by_rank[0]
    launched["two ranks by torchrun"] = by_torchrun(training, 3, ranks=2).first
    with needs("process_group_from_slurm"):
        by = by_srun(training, 3, process_group=process_group_from_slurm, ranks=2)
        launched[f"two ranks by {by.launcher}"] = by.first
for way, losses in launched.items():
    if not isinstance(losses, str):  # a text says why there are none
        losses = "  ".join(f"{loss:.6f}" for loss in losses)
    print(f"{way:45}", losses)

# %% [markdown]
# The losses agree to the last digits shown, or nearly: the order in which numbers are added up changes, and rounding
# with it. (640 images can be shared out evenly. Where they cannot, the sampler gives some of them twice.) That is
# worth a moment: the script that you have tried alone on a laptop is the one that runs on the cluster.
#
# **On a cluster**, `sbatch run.sh` runs this notebook on all ranks of a job. `LAUNCHER=torchrun sbatch run.sh` trains
# without a notebook: [torchrun](GLOSSARY.md#torchrun) starts the ranks, and each calls this function.


# %%
def batch_training(comm, epochs: int, checkpoint: str) -> dict:
    """`train` on all digits, on all ranks of the job, as `record` takes it."""
    if not dist.is_initialized():  # torchrun's ranks have the variables, but no group
        ranks_here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        on_gpu = torch.cuda.device_count() >= ranks_here
        if on_gpu:
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl" if on_gpu else "gloo")
    train_set, _ = some_digits()
    size = dist.get_world_size()
    batch = 64 // size * size
    began = time.perf_counter()
    losses = train(digit_cnn(0), train_set, epochs, batch, 0.02, 1, own_device())
    seconds = (time.perf_counter() - began) / epochs
    history = []
    for epoch, loss in enumerate(losses):
        history.append({"epoch": epoch, "loss": loss, "seconds": seconds})
    return {
        "todo": "train",
        "history": history,
        "samples": len(train_set),
        "data": train_set.dataset.fingerprint,
    }


# %% [markdown]
# As a job on a cluster, the next cell writes `run.json`, with images per second worked out from the times of whole
# [epochs](GLOSSARY.md#epoch). Here it only trains.

# %%
with needs("train"):
    by_rank = world.run(batch_training, COMM, 2, "", init="torch", deadline=300)
    record(world=world, **by_rank[0])

# %% [markdown]
# ## 3. Images per second
#
# How fast is it? A clock around the loop is easily fooled:
#
# - the first steps are slow: memory is still being allocated, and the wrapper finds out in which order gradients come;
# - a GPU works on its own. `step()` may return when the work has merely been handed to it, so the clock has to wait;
# - the ranks do not begin together, and one of them is the slowest. Everybody waits for it in the end.
#
# (What a step itself sends is part of it, and is to be measured.) Below are four ranks, two steps of
# [warm-up](GLOSSARY.md#warm-up) and five that count. Rank 2 is 2.5 times slower than the others. The small ticks are
# where `step()` returns: the work goes on after it.

# %% folded=true
# Draws what the ranks do in five steps, and when a clock should begin and end.
from course.lab.figures.timed_steps import timed_steps_picture

timed_steps_picture(seconds=[1.0, 1.0, 2.5, 1.0], first=6.0, warmup=2, steps=5)

# %% todo="images_per_second"
import time

import torch
import torch.distributed as dist


def images_per_second(
    step,
    wait,
    images: int,
    device,
    warmup: int = 2,
    steps: int = 5,
) -> float:
    """Images that all ranks together train on in a second.

    step(): makes one step of this rank with `images` images, the same number on each
    rank. It may return before the device is done with it.
    wait(): returns when the device is done (torch.cuda.synchronize, on a GPU).
    device: a torch.device; what the ranks reduce has to be there.
    First come `warmup` steps that do not count. When all ranks are done, they begin the
    `steps` that do count, together. Between those, your function neither communicates
    nor waits for the device.
    Returns a float, the same on all ranks: the images of all ranks in the counted
    steps, over the seconds from their beginning until the slowest rank is done.
    Works on all ranks of the default process group, or alone without one.
    """
    ### BEGIN SOLUTION
    in_group = dist.is_initialized()
    for _ in range(warmup):
        step()
    wait()
    if in_group:
        dist.all_reduce(torch.zeros(1, device=device))  # nobody leaves it before all have come
        wait()
    began = time.perf_counter()
    for _ in range(steps):
        step()
    wait()
    seconds = torch.tensor(time.perf_counter() - began, dtype=torch.float64, device=device)
    if in_group:
        dist.all_reduce(seconds, dist.ReduceOp.MAX)
    size = dist.get_world_size() if in_group else 1
    return size * images * steps / seconds.item()
    ### END SOLUTION


# %% check="images_per_second"
check("images_per_second")

# %% [markdown]
# Now measure, with 1 to 4 ranks, in two ways. *Strong scaling*: the [batch](GLOSSARY.md#batch) stays as large as it
# is, 96 images, and more ranks share it. *Weak scaling*: each rank takes 24, so the batch grows with the ranks.
#
# Ranks that share a few cores get slower for that alone. So the same is measured again with *simulated* devices and a
# simulated network: a device that takes 2 ms for each image, and 8 ms to get going; and a network on which an
# all-reduce goes round a ring, with 4 ms for each message, and 12 ms to carry all gradients once. They sleep instead of
# computing, which needs no cores. The sums are real; only the waiting is simulated.
#
# The folded cell makes such steps. In it, `seconds_per_step` calls your `images_per_second` on a rank, and `measured`
# does so for all four kinds of measurement.

# %% folded=true
# Makes real and simulated steps on the ranks, which your `images_per_second` measures.
IMAGE, OVERHEAD, LATENCY, GRADIENTS = 0.002, 0.008, 0.004, 0.012  # seconds
BYTES = 120_000
DEVICE, BANDWIDTH = SimulatedDevice(1e9), BYTES / GRADIENTS


def seconds_per_step(batch: float, simulated: bool) -> float:
    """What your `images_per_second` makes of steps with `batch` images on all ranks."""
    size = dist.get_world_size()
    share = batch // size
    if simulated:
        gradients = torch.zeros(BYTES // 4)

        def step() -> None:
            DEVICE.compute(1e9 * (OVERHEAD + IMAGE * batch / size))
            dist.all_reduce(gradients)

        with slow_all_reduce(LATENCY, BANDWIDTH):
            rate = images_per_second(step, lambda: None, share, torch.device("cpu"))
        return batch / rate
    device = own_device()
    on_gpu = device.type == "cuda"
    model = digit_cnn(0).to(device)
    wrapper = DistributedDataParallel(model, device_ids=[device] if on_gpu else None)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    inputs = torch.rand(share, 1, 28, 28, device=device)
    labels = torch.zeros(len(inputs), dtype=torch.int64, device=device)

    def step() -> None:
        optimizer.zero_grad()
        cross_entropy(wrapper(inputs), labels).backward()
        optimizer.step()

    wait = torch.cuda.synchronize if on_gpu else lambda: None
    return batch / images_per_second(step, wait, len(inputs), device)


def measured() -> dict[str, float]:
    """Seconds of a step on these ranks: strong and weak scaling, real and simulated."""
    size = dist.get_world_size()
    return {
        f"{where}, {kind}": seconds_per_step(batch, where == "simulated")
        for where in ("real", "simulated")
        for kind, batch in (("strong", 96), ("weak", 24 * size))
    }


def taken(name: str) -> list[float]:
    """Seconds of a step by number of ranks, as measured below."""
    if name not in seconds:
        raise NotImplementedError()
    return seconds[name]


# %% [markdown]
# The times of a step, on 1, 2, 3 and 4 ranks:

# %%
sizes = range(1, world.size + 1)
seconds = {}
with needs("images_per_second"):
    for size in sizes:
        by_rank = world.run(measured, size=size, init="torch", deadline=60)
        for name, value in by_rank[0].items():
            seconds.setdefault(name, []).append(value)
    for name, values in seconds.items():
        print(f"{name:20}", *(f"{1000 * value:7.1f} ms" for value in values))

# %% [markdown]
# ## 4. Which part is to blame?
#
# A step has parts that behave differently when ranks are added, and a simple model of its time is
#
# $$T(N) = \frac{T_{par}}{N} + T_{seq} + T_{comm}\,(N - 1).$$
#
# The first part is shared by the ranks, the second is the same however many ranks there are, and the third grows: a
# ring needs $2 (N - 1)$ rounds, one after the other. Find the three from measured times. They are times, so none of
# them is negative; a fit that does not know that will tell you nonsense as soon as there is noise.

# %% todo="fit_scaling"
import numpy as np


def fit_scaling(ranks: list[int], seconds: list[float]) -> tuple[float, float, float]:
    """(T_par, T_seq, T_comm) of T(N) = T_par / N + T_seq + T_comm (N - 1).

    ranks: the numbers N. seconds: the time T measured with each, as many. In any order;
    an N may be there several times, and at least 3 different ones are there.
    Returns three floats, in seconds, none of them negative. Of all triples without a
    negative number, it is the one with the least sum of squared errors over the
    measurements; errors are in seconds.
    """
    ### BEGIN SOLUTION
    from scipy.optimize import nnls

    n = np.array(ranks, dtype=float)
    columns = np.stack([1 / n, np.ones_like(n), n - 1], axis=1)
    parts, _ = nnls(columns, np.array(seconds))
    return tuple(parts.tolist())
    ### END SOLUTION


# %% check="fit_scaling"
check("fit_scaling")

# %% [markdown]
# Your measurements, and your fit of the [strong scaling](GLOSSARY.md#strong-scaling). Below the curves: the three
# parts, stacked. Beside them: the *[speed-up](GLOSSARY.md#speed-up)* of strong scaling, how many times faster N ranks
# are than one, and the *[efficiency](GLOSSARY.md#efficiency)* of [weak scaling](GLOSSARY.md#weak-scaling), one rank's
# time for a step over that of N ranks. 1 is the ideal. If your real points jump about, that is your machine, which does
# other things too: read the second row.

# %% folded=true
# Draws times, speed-up and efficiency, and the parts that the fit finds.
from course.lab.figures.scaling import scaling_picture

fits = {}
with needs("images_per_second", "fit_scaling"):
    for where in ("real", "simulated"):
        fits[where] = fit_scaling([*sizes], taken(f"{where}, strong"))
        named = zip(("T_par", "T_seq", "T_comm"), fits[where], strict=True)
        parts = ", ".join(f"{name} {1000 * part:.1f} ms" for name, part in named)
        print(f"{where}: {parts}")
    for where in fits:
        times = {kind: taken(f"{where}, {kind}") for kind in ("strong", "weak")}
        display(scaling_picture(where, [*sizes], times, fits[where], cores()))

# %% [markdown]
# On the simulated network we know what is true: a step takes 8 ms to get going, an image 2 ms, and the ring $2 (N - 1)$
# messages of 4 ms each. The gradients go round in $2 (N - 1) / N$ times 12 ms, and $\frac{N - 1}{N} = 1 - \frac{1}{N}$.
# So 24 ms of *communication* are found in $T_{seq}$, and are missing in $T_{par}$: strong scaling alone cannot tell
# [bandwidth](GLOSSARY.md#bandwidth) from work that nobody shares. Compare your fit with $T_{par} = 192 - 24$, $T_{seq}
# = 8 + 24$, $T_{comm} = 8$ ms. Only other sizes of the model can tell them apart.
#
# One step on the simulated devices, with 1, 2 and 4 ranks. (A single rank waits for nobody: the ms that it seems to
# wait are what starting an all-reduce costs on your machine.)

# %%
with needs("images_per_second", "fit_scaling"):
    alone = 96 * IMAGE + OVERHEAD  # seconds of computing on one rank
    shown = sorted({1, 2, world.size})
    display(step_movie(taken("simulated, strong"), alone, OVERHEAD, ranks=shown))

# %% [markdown]
# ## 5. Bytes against arithmetic
#
# What a step sends is decided by the model: its gradients. What it computes is decided by the model *and* the batch.
# (In the next cells, arithmetic is that of the forward and the backward pass, and a multiply-add counts as two.)

# %% todo="gradient_bytes"
import torch


def gradient_bytes(model: torch.nn.Module) -> int:
    """Bytes of gradients that the ranks reduce in one step of training `model`.

    Each parameter that is trained counts once, in its own type, also if it is used in
    several places. Frozen ones (`requires_grad` is False) and buffers have no gradient.
    The model may be on torch.device("meta"), where tensors have shapes, but no numbers.
    There has been no step yet.
    """
    ### BEGIN SOLUTION
    return sum(each.numel() * each.element_size() for each in model.parameters() if each.requires_grad)
    ### END SOLUTION


# %% check="gradient_bytes"
check("gradient_bytes")

# %% [markdown]
# Three networks that everybody has measured: Inception V3, ResNet-101 and VGG-16. They have up to 138 million weights;
# on `torch.device("meta")`, where a tensor has a shape but no numbers, they cost no memory, and their arithmetic can be
# counted all the same, layer by layer.

# %% folded=true
# Counts and draws the arithmetic and the bytes of three large CNNs, layer by layer.
from course.lab.figures.cnn_layers import cnn_layers_picture
from course.lab.models.layer_costs import layer_costs
from course.lab.models.published_cnns import CNNS

costs, sent = {}, {}
with needs("gradient_bytes"):
    for name, build in CNNS.items():
        with torch.device("meta"):
            model, size = build()
        sent[name] = count = gradient_bytes(model)
        costs[name] = layer_costs(model, size)
        flops = sum(layer.flops for layer in costs[name])
        print(
            f"{name:13} {count / 1e6:6.1f} MB, {flops / 1e9:5.1f} Gflop an image,",
            f"{flops / count:4.0f} flop for each byte",
        )
    display(cnn_layers_picture(costs))

# %% [markdown]
# Convolutions compute, and dense layers communicate: the same few weights of a convolution work at every place of the
# image, those of a dense layer once. VGG-16 has nine tenths of its weights in its dense layers. The authors of
# [Horovod](GLOSSARY.md#horovod) report 90 % of perfect scaling for Inception V3 and ResNet-101 on 512 GPUs, and 68 %
# for VGG-16 ([benchmarks](https://horovod.readthedocs.io/en/stable/benchmarks_include.html): 128 servers with 4 GPUs
# each, and a network of 25 Gbit/s). What do your bytes predict?

# %% folded=true
# Predicts the efficiency of three CNNs on 1 to 512 GPUs, beside what was reported.
from course.lab.figures.predicted_efficiency import predicted_efficiency_picture

with needs("gradient_bytes"):
    gradient_bytes(torch.nn.Linear(1, 1))  # is it there?
    given = {}
    for name, layers in costs.items():
        given[name] = (sum(layer.flops for layer in layers), sent[name])
    picture = predicted_efficiency_picture(
        given,
        flops_per_second=5e12,
        bytes_per_second=3e9,
        images=64,
    )
    display(picture)

# %% [markdown]
# The prediction is a simple one: a GPU that makes 5 Tflop a second, 64 images on each, a network of 25 Gbit/s, and
# nothing of the communication hidden behind the computation. It gets the order right, and it says why. (ResNet-101
# and Inception V3 do better than predicted, as part of their communication is hidden; VGG-16 does worse: no program
# gets the whole 25 Gbit/s out of a network.)
#
# ## What you saw
#
# Answer first, then unfold.
#
# <details><summary>What does a script need to know, to run on one rank or on many?</summary>
#
# Its rank, how many there are, its number on its node, and where to meet. The launcher tells it, in the environment.
# The rest of the script does not know what started it.
#
# </details>
#
# <details><summary>Why may the clock not stop when the last <code>step()</code> returns?</summary>
#
# Because the device may still be working. Only after `wait()` is the step done, and only the slowest rank says when the
# step of all is.
#
# </details>
#
# <details><summary>A fit says T_seq = 32 ms. Which 32 ms are these?</summary>
#
# What each rank does whatever their number is, *or* the time for the bytes of an all-reduce, which hardly depends on
# the number of ranks either. Times on 1 to N ranks cannot tell the two apart.
#
# </details>
#
# <details><summary>Why does VGG-16 scale worse than Inception V3?</summary>
#
# For each byte of gradients it computes half as much, since most of its weights are in dense layers.
#
# </details>
#
# ## What comes next
#
# Here DistributedDataParallel was a box that averages gradients. Lab 09 opens it. (A lab that your course leaves out is
# not needed: go on with the next one that you have.)
#
# ## Two questions
#
# They count no points. The first answer is a number: write it in place of `None`, and run the cell to hear whether it
# is right. The second answer is a text: double-click the cell, write a few sentences, and run it. Your instructor reads
# it. Both are handed in.
#
# **1. The best number of ranks.** By the formula, a step gets slower beyond $\sqrt{T_{par} / T_{comm}}$ ranks. On the
# simulated network, for which batch size (images of all ranks together) does this formula give 3 ranks? Take 8 ms for
# $T_{comm}$, the network's own: on a busy machine the fit may be some ms off. Only $T_{par}$ depends on the batch: each
# image takes 2 ms, and the bytes take their 24 ms from it, as above. Then measure that batch on 2, 3 and 4
# ranks, in a new cell, by `world.run(seconds_per_step, batch, True, size=3, init="torch")[0]`. Are 3 ranks the
# fastest?

# %% answer="batch_for_three_ranks"
check.answer("batch_for_three_ranks", None)

# %% [markdown]
# **2. Only 70 %.** A colleague trains on 8 nodes and gets 70 % of 8 times the images per second of one node. She wants
# to buy a faster network. What would you have her measure first, and which results speak for the network, which
# against it?

# %% [markdown] answer="before_buying"
# First: is it measured well (warm-up left out, device waited for, the same batch on each rank)? Then where the time
# goes. Measure on 1, 2, 4 and 8 nodes, and fit. A large T_comm speaks for latency: many small messages, so larger
# buckets may help, or a network with less latency. A large T_seq can be two things: work that each rank does alone,
# such as reading and decoding images, or the bytes of the all-reduce. To tell them apart, change one and not the other:
# train a model of half the size with the same data, or leave the all-reduce out (`no_sync`), or read one batch again
# and again. If the step gets faster without the all-reduce, and in proportion to the bytes, bandwidth is to blame: a
# faster network helps, and so do fewer bytes (half precision) or a larger batch. If one rank is slower than the others,
# the network is not to blame at all: all wait for it.
