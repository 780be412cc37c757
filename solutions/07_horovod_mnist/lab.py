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
# # 07 Handwritten digits with Horovod
#
# After this lab you can
#
# - train a network on several [ranks](GLOSSARY.md#rank), each with its share of every [batch](GLOSSARY.md#batch),
#   so that they stay one network,
# - say what has to be the same on all ranks, what has to differ, and which numbers are only right once every rank has
#   contributed,
# - choose a [learning rate](GLOSSARY.md#learning-rate) when more ranks make the batch larger,
# - run the training as a job on a cluster,
# - read what [Horovod](GLOSSARY.md#horovod) does with the gradients of a step, and measure when more ranks pay off.
#
# The idea in one sentence: **{{idea}}**
#
# **Before you start.** {{needs}} From PyTorch: a training loop with model, `DataLoader`, optimizer and `backward`.
#
# **Lecture.** [5 One model on many ranks](../../course/lectures/05_data_parallel.ipynb) has the six edits that make a
# script parallel, and [7 Every sample once](../../course/lectures/07_samplers.ipynb) shows what this lab's sampler
# does. For section 8, [8 On a cluster](../../course/lectures/08_cluster.ipynb) reads job scripts line by line.
#
# **Time:** about {{minutes}} minutes.
#
# A **rank** is one of several processes that run the same program side by side. Ranks are numbered
# from 0 and share no memory: what one rank knows, the others learn only if it is sent to them.
#
# Run the cells from top to bottom. Where you find `# YOUR CODE HERE`, it is your turn. The cell below it runs your code
# on real ranks and tells you what it saw. Grading tries more cases, all of the kinds that you see here. **Only the cell
# with your code is handed in and run: import in it what it uses.**
#
# Stuck? Below each check that has not passed yet, you can read how to unfold a hint. There are three for each TODO.
# They cost no points; your instructor sees how many are used.
#
# Some cells are folded: what is in them is not what the lab is about. Run them like all others.
#
# These are images of the kind that you will train on, shared out among four ranks:

# %% folded=true
# Draws 64 images, by the ranks that get them.
from course.data import digits
from course.lab.figures.digit_samples import digits_picture

train_set, test_set = digits()
images, labels = train_set.images[:64], train_set.labels[:64].tolist()
rank_names = [f"rank {rank}" for rank in range(4)]
digits_picture(images, labels, "A batch of 64 images, on 4 ranks", 16, rank_names)

# %% [markdown]
# One step of training takes a batch of 64 images, and each of four ranks has 16 of them. Every
# rank has the whole model, and computes the gradient $g_r$ of the mean loss of *its* images. The average of these is
# the gradient of the mean loss of all 64,
#
# $$g = \frac{1}{N} \sum_{r=0}^{N-1} g_r ,$$
#
# as long as all $N$ ranks have equally many images. All ranks take the same step with $g$. If they started with the
# same model, they have the same model again. This is [data parallelism](GLOSSARY.md#data-parallelism).
#
# You will write six small functions that do it, a seventh that puts them together, and an eighth that runs the seventh
# on a cluster.
#
# The folded cell imports what the given cells use.

# %% folded=true
# Imports for the given cells: nothing to learn here.
import inspect
import time

import numpy as np
from IPython.display import display

from autograde.notebook import Checker, needs
from course.batch.record import record
from course.models.digits import digit_model
from course.world import COMM, RANK, World

# %% [markdown]
# The next cell starts the [world](GLOSSARY.md#world), which is four ranks that will run your functions, and loads the
# checks. From then on `world.run(f, COMM, RANK)` calls `f` on each rank, and gives it the rank's
# [communicator](GLOSSARY.md#communicator) in place of `COMM` and the rank's number in place of `RANK`.

# %%
world = World(4)
check = Checker(world)

# %% [markdown]
# Run the next cell to see the model that you will train; there is nothing to change in it. It prints where the images
# come from, the function that makes the model, and how many weights the model has. The model takes images of any size
# and returns [logits](GLOSSARY.md#logits): ten scores for each image, one for each digit.

# %%
print(train_set.source, test_set.source, sep="\n", end="\n\n")
print(inspect.getsource(digit_model))
print(f"{sum(each.numel() for each in digit_model(0).parameters()):,} weights")

# %% [markdown]
# Here are a few steps with this model, written by hand with the [all-reduce](GLOSSARY.md#all-reduce) of lab 03. Each
# rank goes forward and backward through its share of the images, adds its gradient to those of the others, and updates
# its [replica](GLOSSARY.md#replica) of the model, a copy that stays equal to all others. Read it line by line: it is
# what Horovod will do for you in the rest of the lab.

# %%
import torch


def steps_by_hand(comm, rank: int, images, labels) -> list[dict[str, float]]:
    """Ten steps on this rank: how many seconds each part of them takes."""
    from mpi4py import MPI

    model = digit_model(0)
    parameters, seconds = [*model.parameters()], []
    for _ in range(10):
        comm.Barrier()  # all begin at about the same time
        times = [time.perf_counter()]
        loss = torch.nn.functional.cross_entropy(model(images[rank]), labels[rank])
        times.append(time.perf_counter())
        model.zero_grad()
        loss.backward()
        gradient = torch.cat([each.grad.flatten() for each in parameters]).numpy()
        times.append(time.perf_counter())
        comm.Allreduce(MPI.IN_PLACE, gradient, MPI.SUM)  # the sum replaces the own one
        times.append(time.perf_counter())
        with torch.no_grad():
            step = torch.from_numpy(gradient) * 0.06 / comm.size
            weights = torch.nn.utils.parameters_to_vector(parameters)
            torch.nn.utils.vector_to_parameters(weights - step, parameters)
        times.append(time.perf_counter())
        forward, backward, _, update = np.diff(times).tolist()
        seconds.append({"forward": forward, "backward": backward, "update": update})
    return seconds


# %% [markdown]
# The picture shows the fastest of these steps. Look for two things: up to the all-reduce, each rank works by itself and
# takes its own time. And no rank leaves the all-reduce before the last one has called it.

# %% folded=true
# Runs the step and draws it.
from course.figures.ranks.step_strip import strip_picture

shares = [each.chunk(world.size) for each in (images, torch.tensor(labels))]
parts = world.run(steps_by_hand, COMM, RANK, *shares)
title = f"One step of data parallelism, on {world.size} ranks"
strip_picture(parts, world.events, title)

# %% [markdown]
# ## 1. A rank and its device
#
# A cluster is made of [nodes](GLOSSARY.md#node): computers with cores, memory and often GPUs of their own. The ranks
# of a training are spread over nodes. A rank's number counts through all nodes; its
# [local rank](GLOSSARY.md#local-rank) counts from 0 on each node. GPUs, too, are numbered from 0 on each node.

# %% folded=true
# Draws two nodes with two ranks each.
from course.figures.ranks.places import places_picture

places_picture(nodes=2, ranks=2)

# %% [markdown]
# No two ranks should use the same GPU. Your function chooses one for each rank: `torch.cuda.device_count()` counts this
# node's GPUs, and `torch.cuda.set_device` makes one the current one, to which plain `cuda` leads. You need no GPU here:
# the check simulates nodes, with GPUs and without. Later checks run your code on a simulated GPU, too: they find a
# tensor that is on another device than the model.

# %% todo="setup"
import horovod.torch as hvd
import torch


def setup() -> torch.device:
    """Initialise Horovod, and return the device that this rank computes on.

    `hvd.local_size()` is how many ranks this node has.
    """
    ### BEGIN SOLUTION
    hvd.init()
    if not torch.cuda.is_available() or torch.cuda.device_count() < hvd.local_size():
        return torch.device("cpu")
    torch.cuda.set_device(hvd.local_rank())
    return torch.device("cuda", hvd.local_rank())
    ### END SOLUTION


# %% check="setup"
check("setup")

# %%
with needs("setup"):
    print(world.run(setup))

# %% [markdown]
# ## 2. A rank's shard of the data
#
# Every rank can read all images. In each [epoch](GLOSSARY.md#epoch), a sampler puts them
# into a random order that is the same on all ranks, and gives each rank its [shard](GLOSSARY.md#shard) of it.

# %% todo="make_loader"
import horovod.torch as hvd
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


def make_loader(dataset: Dataset, batch_size: int, seed: int) -> DataLoader:
    """A loader that yields this rank's shard of `dataset`, in batches.

    Horovod's ranks share the samples. If the number of ranks does not divide that of
    the samples, some are drawn twice, as in lab 06. Any sampler that does what is
    listed below will do.

    dataset: `dataset[i]` is (float tensor, int). batch_size: of one rank.
    """
    ### BEGIN SOLUTION
    sampler = DistributedSampler(
        dataset,
        num_replicas=hvd.size(),
        rank=hvd.rank(),
        shuffle=True,
        seed=seed,
    )
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler)
    ### END SOLUTION


# %% check="make_loader"
check("make_loader")

# %% [markdown]
# This is the first batch of each rank, by your loader:

# %% folded=true
# Draws the first batch of each rank, as your loader makes it.
import torch


def first_batch(batch_size: int) -> tuple[torch.Tensor, list[int]]:
    """Images and labels of the first batch of this rank."""
    images, labels = next(iter(make_loader(digits()[0], batch_size, seed=0)))
    return images, labels.tolist()


with needs("make_loader"):
    batches = world.run(first_batch, 16, init="horovod")
    images = torch.cat([images for images, _ in batches])
    labels = [label for _, labels in batches for label in labels]
    title = "The first batch of each rank, by your loader"
    display(digits_picture(images, labels, title, 16, rank_names))

# %% [markdown]
# ## 3. An optimizer that averages
#
# `hvd.DistributedOptimizer` wraps an optimizer and adds an all-reduce: as soon as `backward` has computed a gradient,
# Horovod starts to average it over all ranks, and `step` waits until the last one is averaged. We use SGD with
# [momentum](GLOSSARY.md#momentum), which makes each step from the gradient and from the steps before it.
#
# Four ranks see four times as many images in a step, so an epoch has a quarter of the steps. The *linear scaling rule*
# (Goyal and others, [*Accurate, Large Minibatch SGD: Training ImageNet in 1
# Hour*](https://arxiv.org/abs/1706.02677), 2017) makes each step longer in return: it multiplies the
# learning rate by the number of ranks $N$. We call the product the **effective learning
# rate**.

# %% todo="make_optimizer"
import horovod.torch as hvd
import torch


def make_optimizer(model: torch.nn.Module, lr: float) -> torch.optim.Optimizer:
    """An optimizer over the parameters of `model`, wrapped by Horovod.

    Horovod matches the ranks' gradients by the names of parameters. Those that are not
    trained (`requires_grad` is False) may be left out.

    lr: the learning rate for one rank. The options of Horovod keep their defaults.
    """
    ### BEGIN SOLUTION
    optimizer = torch.optim.SGD(model.parameters(), lr=lr * hvd.size(), momentum=0.9)
    return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    ### END SOLUTION


# %% check="make_optimizer"
check("make_optimizer")

# %% [markdown]
# ## 4. One start for all
#
# Averaging keeps identical models identical, but it never makes different models the same. So before the first step,
# all ranks need the state of one of them. A [broadcast](GLOSSARY.md#broadcast) gives it to them. A model's state is
# its parameters and its [buffers](GLOSSARY.md#buffer), such as BatchNorm's running statistics; the optimizer has
# state, too.
#
# Two things about Horovod 0.28.1, before you start:
#
# - `hvd.broadcast_parameters` takes a dict or a list of names and tensors. It fails for a generator, such as
#   `model.named_parameters()`, although its documentation recommends one.
# - Horovod matches the ranks' calls by a name. `hvd.broadcast_object` makes it from the type of the object, unless you
#   pass `name=...`. If one rank passes a dict and the others `None`, they wait for each other for ever: a
#   [deadlock](GLOSSARY.md#deadlock).
#
# Horovod's own `hvd.broadcast_optimizer_state` will do, too.

# %% todo="synchronize_start"
import horovod.torch as hvd
import torch


def synchronize_start(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
) -> None:
    """Give all ranks the state that rank 0 has, of the model and of the optimizer.

    A model's state is what its `state_dict()` holds: parameters and buffers. The
    optimizer state is what its own `state_dict()` holds: momentum, and options such
    as the learning rate.

    optimizer: as `make_optimizer` makes it. Some ranks may have momentum from earlier
    steps, and others none. If rank 0 has none, the others may end with none, or with
    zeros.
    """
    ### BEGIN SOLUTION
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    state = hvd.broadcast_object(optimizer.state_dict(), root_rank=0)
    if hvd.rank() > 0:
        optimizer.load_state_dict(state)
    ### END SOLUTION


# %% check="synchronize_start"
check("synchronize_start")

# %% [markdown]
# ## 5. An epoch
#
# Each rank sees only the losses of its own images. The loss of the epoch is the mean over the images of all ranks,
#
# $$\text{loss} = \frac{\sum_r \sum_{i=1}^{n_r} \ell_{r,i}}{\sum_r n_r} ,$$
#
# where $n_r$ is the number of images that rank $r$ draws, and $\ell_{r,i}$ is the loss of its $i$-th image before the
# step that uses it. Mind the last batch: it may be smaller, and not of the same size on all ranks. So a mean of means
# is something else.
#
# Horovod's `optimizer.zero_grad()` takes no argument, and raises an error between `backward` and `step`.

# %% todo="train_epoch"
import horovod.torch as hvd
import torch
from torch.utils.data import DataLoader


def train_epoch(
    model: torch.nn.Module,
    loader: DataLoader,
    optimizer: torch.optim.Optimizer,
    epoch: int,
    device: torch.device,
) -> float:
    """Train `model` on one pass through `loader`; return the loss of the epoch.

    A sample drawn twice counts twice in the loss. All ranks have equally many
    batches; their last batches may differ in size.

    loader, optimizer: as `make_loader` and `make_optimizer` make them. model: returns
    logits, and is on `device`. The loader's batches are on the CPU.
    """
    ### BEGIN SOLUTION
    model.train()
    loader.sampler.set_epoch(epoch)
    total = torch.zeros(2, dtype=torch.float64)
    for inputs, labels in loader:
        logits = model(inputs.to(device))
        loss = torch.nn.functional.cross_entropy(logits, labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += torch.tensor([loss.item() * len(labels), len(labels)])
    loss_sum, samples = hvd.allreduce(total, op=hvd.Sum).tolist()
    return loss_sum / samples
    ### END SOLUTION


# %% check="train_epoch"
check("train_epoch")

# %% [markdown]
# ## 6. How good is the model?
#
# The ranks share this work, too. An image that counts twice would make the accuracy depend on the number of ranks, so
# use no [padding](GLOSSARY.md#padding) here, or do not count it. Then some ranks may have one image fewer than
# others, or none. They still have to take part in every [collective](GLOSSARY.md#collective).

# %% todo="evaluate"
import horovod.torch as hvd
import torch
from torch.utils.data import DataLoader, Dataset, Subset


def evaluate(model: torch.nn.Module, dataset: Dataset, device: torch.device) -> float:
    """The fraction of `dataset` that `model` predicts correctly, in [0, 1].

    The N ranks share the n samples. If there are few, some ranks have none.

    model: on `device`.
    """
    ### BEGIN SOLUTION
    mode = model.training
    model.eval()
    share = Subset(dataset, range(hvd.rank(), len(dataset), hvd.size()))
    hits = torch.tensor(0)
    with torch.no_grad():
        for inputs, labels in DataLoader(share, batch_size=256):
            hits += (model(inputs.to(device)).argmax(1).cpu() == labels).sum()
    model.train(mode)
    return hvd.allreduce(hits, op=hvd.Sum).item() / len(dataset)
    ### END SOLUTION


# %% check="evaluate"
check("evaluate")

# %% [markdown]
# ## 7. All together
#
# Now put the six functions together. After each epoch, one rank saves a
# [checkpoint](GLOSSARY.md#checkpoint), a file with the model's [state dict](GLOSSARY.md#state-dict).

# %% todo="train"
import time

import horovod.torch as hvd
import torch
from torch.utils.data import Dataset


def train(
    model: torch.nn.Module,
    train_set: Dataset,
    test_set: Dataset,
    epochs: int,
    batch_size: int,
    lr: float,
    seed: int,
    checkpoint: str,
) -> list[dict]:
    """Train `model` on all ranks; return a list with one dict for each epoch:

        epoch      its number, counted from 0
        loss       its mean loss
        accuracy   of the model after this epoch, on `test_set`
        seconds    how long this epoch took, with or without evaluating and saving

    model: on the CPU when it comes, and not the same on all ranks. batch_size, lr: of
    one rank, as for `make_loader` and `make_optimizer`: on N ranks the effective
    learning rate is N times `lr`. seed: of the loader. checkpoint: path of a file. You
    may write to another file that then replaces it.

    You may call the six functions above, without an import: the check has right ones,
    in case yours are not. The mode in which the model is left does not matter.
    """
    ### BEGIN SOLUTION
    device = setup()
    model.to(device)
    loader = make_loader(train_set, batch_size, seed)
    optimizer = make_optimizer(model, lr)
    synchronize_start(model, optimizer)
    history = []
    for epoch in range(epochs):
        began = time.perf_counter()
        entry = {"epoch": epoch}
        entry["loss"] = train_epoch(model, loader, optimizer, epoch, device)
        entry["accuracy"] = evaluate(model, test_set, device)
        entry["seconds"] = time.perf_counter() - began
        history.append(entry)
        if hvd.rank() == 0:
            torch.save({"model": model.state_dict()}, checkpoint)
    return history
    ### END SOLUTION


# %% check="train"
check("train")

# %% [markdown]
# ## Four ranks, and one
#
# Now for real: the same model is trained twice, by one rank with all 64 images of a step, and by four ranks with 16
# images each. Both have an effective learning rate of 0.06: `make_optimizer` multiplies what we pass by the number of
# ranks, hence 0.06 / 4 = 0.015.
#
# First two helpers, in a folded cell: `training` calls your `train` on a rank, and `compare` trains by several plans
# and draws the losses and accuracies.

# %% folded=true
# Trains on ranks by a plan, and draws the learning curves.
import os
import tempfile

from course.lab.figures.learning import learning_picture
from course.lab.models.agreement import same_on_all_ranks
from course.models.digits import some_digits


def training(
    comm,
    rank: int,
    epochs: int,
    batch_size: int,
    lr: float,
    checkpoint: str,
) -> list[dict]:
    """`train` on this rank. All ranks have the same data, and each another model."""
    train_set, test_set = some_digits()
    same_on_all_ranks(comm, train_set.dataset.fingerprint, "digits")
    model = digit_model(rank)
    history = train(model, train_set, test_set, epochs, batch_size, lr, 0, checkpoint)
    assert len(history) == epochs
    keys = ("epoch", "loss", "accuracy")
    return [{key: entry[key] for key in keys} for entry in history]


def compare(plans: dict[str, tuple], epochs: int) -> dict[str, list[dict]]:
    """Train by each plan, (ranks, batch size, lr), and show all histories so far."""
    runs, shown = {}, None
    for name, (size, *plan) in plans.items():
        given = (COMM, RANK, epochs, *plan, checkpoint)
        histories = world.run(training, *given, size=size, init="horovod", deadline=300)
        runs[name] = histories[0]
        picture = learning_picture(runs, goal=0.95)
        if shown is None:
            shown = display(picture, display_id=True)
        else:
            shown.update(picture)
    return runs


# %% [markdown]
# The picture is drawn after each of the two trainings:

# %%
# MNIST has so many images that some_digits takes a part, and few epochs will do.
EPOCHS = 8 if len(some_digits()[0]) < 10_000 else 2
checkpoint = os.path.join(tempfile.mkdtemp(), "digits.pt")
seven = (
    *("setup", "make_loader", "make_optimizer", "synchronize_start"),
    *("train_epoch", "evaluate", "train"),
)

with needs(*seven):
    plans = {"1 rank, 64 images": (1, 64, 0.06)}
    plans["4 ranks, 16 images each"] = (4, 16, 0.015)
    one, four = compare(plans, EPOCHS).values()
    apart = max(abs(a["loss"] - b["loss"]) for a, b in zip(one, four, strict=True))
    print(f"{four[-1]['accuracy']:.1%} of the test set are right.")
    print(f"The losses of the two runs differ by {apart:.0e} at most.")

# %% [markdown]
# The dashed line is at 95 %. The two runs are the same up to rounding: the ranks add up floats in another order. If the
# steps are too long, even that is enough to lead the runs apart. Try it: put `0.2` in place of `0.06`, and `0.05` in
# place of `0.015`.
#
# What does the model make of images that it never saw? These are the predictions of what rank 0 saved:


# %% folded=true
# Draws images with the saved model's predictions.
def predictions(checkpoint: str) -> torch.Tensor:
    """What the saved model predicts for the images of the test set."""
    if not os.path.exists(checkpoint):
        raise NotImplementedError()
    model = digit_model(0)
    model.load_state_dict(torch.load(checkpoint, map_location="cpu")["model"])
    with torch.inference_mode():
        parts = digits()[1].images.split(500)
        return torch.cat([model(part).argmax(1) for part in parts])


with needs("train"):
    predicted = world.run(predictions, checkpoint, size=1, deadline=60)[0]
    wrong = predicted != test_set.labels
    some = [(~wrong).nonzero().flatten()[:20], wrong.nonzero().flatten()[:20]]
    chosen, captions = torch.cat(some), []
    for digit, label in zip(predicted[chosen], test_set.labels[chosen], strict=True):
        captions.append(f"{digit}" if digit == label else f"{digit}, is {label}")
    title = f"The model's predictions: {wrong.sum()} of {len(test_set)} are wrong"
    framed = wrong[chosen].nonzero().flatten().tolist()
    display(digits_picture(test_set.images[chosen], captions, title, wrong=framed))

# %% [markdown]
# ## A larger batch, with and without a larger learning rate
#
# Until now four ranks shared the images that one rank had before. Usually each rank keeps as many as before, and the
# [global batch](GLOSSARY.md#global-batch), the images of all ranks in a step, grows with the number of ranks: here
# from 64 to 256. An epoch still shows every image once, so it has a quarter of the steps. Does the linear scaling rule
# make up for that? The effective learning rate is 0.02 on one rank; on four ranks it is scaled to 0.08, or left at
# 0.02.

# %%
with needs(*seven):
    plans = {"1 rank, lr 0.02": (1, 64, 0.02)}
    plans["4 ranks, lr 4 x 0.02"] = (4, 64, 0.02)
    plans["4 ranks, lr 0.02"] = (4, 64, 0.02 / 4)
    compare(plans, EPOCHS + 2)

# %% [markdown]
# Without the rule, four ranks see as many images as one, and learn much less from them: a quarter of the steps, none of
# them longer. With the rule they need some epochs more, but get nearly as far. It is a rule of thumb, and it has
# limits: 0.06 is a good learning rate for one rank, as you saw above. Put it in place of 0.02, and see whether four
# times that rate still works.
#
# ## 8. As a batch job
#
# On a cluster, you do not start a program yourself. You hand in a script, a *job*, and [Slurm](GLOSSARY.md#slurm) runs
# it as soon as enough nodes are free. (Such a *batch job* has nothing to do with a batch of images.) This lab's script
# is `run.sh`, in the notebook's folder. The lines at its top that begin with `#SBATCH` tell Slurm what the job needs:
#
# | line in `run.sh` | what it is for |
# |---|---|
# | `#SBATCH --job-name=07_horovod_mnist` | the job's name in the list of jobs, which `squeue` shows |
# | `#SBATCH --output=07_horovod_mnist.out.%j` | the file for all output; `%j` becomes the number of the job |
# | `#SBATCH --nodes=1` | the number of nodes over which the ranks are spread |
# | `#SBATCH --ntasks=4` | the number of ranks, which Slurm calls tasks |
# | `#SBATCH --cpus-per-task=1` | cores for each rank, which computes with as many threads |
# | `#SBATCH --time=00:10:00` | the time limit, after which the job is ended; a short job starts sooner |
# | `#SBATCH --signal=B:TERM@30` | a signal to the script 30 seconds before that: time to write the record, see below |
#
# What you give to `sbatch` overrides these lines, so a job takes 2 ranks today and 8 tomorrow. If each rank takes 64
# images a step, that is another training each time, with other losses. If all ranks *share* 64 images, it is the same
# training up to rounding, on any number of ranks. So anyone can verify a run on eight ranks by repeating it on one.

# %% todo="batch_run"
import horovod.torch as hvd
from torch.utils.data import Dataset


def batch_run(
    train_set: Dataset,
    test_set: Dataset,
    epochs: int,
    checkpoint: str,
) -> list[dict]:
    """Train a new model by one call of `train` on each rank; return its history.

    Other ranks than 0 may pass any `digit_model(seed)`, as `train` starts from rank
    0's.

    There may be 1 to 64 ranks. On 3 ranks each takes 21 images in a step, and all
    together 63. The effective learning rate is N times what you pass to `train`.

    Horovod is initialised. You may call `digit_model` and `train`, without an import;
    the check's `train` only notes what it is given, by position or by name.
    """
    ### BEGIN SOLUTION
    size = hvd.size()
    return train(
        digit_model(hvd.rank()),
        train_set,
        test_set,
        epochs,
        batch_size=64 // size,
        lr=0.06 / size,
        seed=0,
        checkpoint=checkpoint,
    )
    ### END SOLUTION


# %% check="batch_run"
check("batch_run")


# %%
def batch_training(comm, epochs: int, checkpoint: str) -> dict:
    """`batch_run` on this rank, in the form that `record` takes."""
    train_set, test_set = some_digits()
    data = train_set.dataset.fingerprint
    same_on_all_ranks(comm, data, "digits")
    history = batch_run(train_set, test_set, epochs, checkpoint)
    assert len(history) == epochs
    samples = len(train_set)
    return {"todo": "batch_run", "history": history, "samples": samples, "data": data}


with needs(*seven, "batch_run"):
    given = (batch_training, COMM, 3, checkpoint)
    done = world.run(*given, init="horovod", deadline=300)[0]
    losses = ", ".join(f"loss {entry['loss']:.4f}" for entry in done["history"])
    print(f"{world.size} ranks: {losses}")
    record(world=world, **done)

# %% [markdown]
# If there is Slurm where you are, save this notebook, open a terminal in its folder, and type `sbatch run.sh`, or
# `sbatch --nodes 2 --ntasks 4 run.sh` for four ranks on two nodes. The job runs the whole notebook on its ranks. The
# log shows the losses, which are those above. `run.json` is the record of the run. Hand it in with the notebook: it is
# compared with what Slurm itself knows of the job, and with a short run of the same cells.

# %% [markdown]
# ## What Horovod does in a step
#
# `backward` computes the gradients one after the other, and each rank does so in its own time. Horovod can write down
# what it does with them, as rank 0 sees it. In the pictures, rank 2 begins its step 100 ms after the others. Each row
# is one gradient, and a rank's number stands where that rank reports that its gradient is ready. Of three steps, we
# show the one that other programs on this machine have disturbed least.

# %% folded=true
# Traces what Horovod does in a step, and draws it.
import time

from torch.utils.data import Subset

from course.lab.figures.horovod_steps import horovod_picture
from course.watch.libraries.horovod_trace import fused, read_trace, traceable


def traced_steps(comm, rank: int, folder: str, fusion: bool) -> list[list[dict]]:
    """What Horovod does in three steps. fusion: whether it may join gradients."""
    with traceable(fusion):
        device = setup()
    model = digit_model(0).to(device)
    optimizer = make_optimizer(model, 0.02)
    loader = make_loader(Subset(digits()[0], range(64)), 16, seed=0)
    train_epoch(model, loader, optimizer, 0, device)  # the first step is slower
    traces = []
    for step in (1, 2, 3):
        path = os.path.join(folder, f"{fusion}-{step}.json")
        if rank == 0:
            hvd.start_timeline(path)
        comm.Barrier()
        time.sleep(0.1 if rank == 2 else 0)
        train_epoch(model, loader, optimizer, step, device)
        comm.Barrier()
        if rank == 0:
            hvd.stop_timeline()
            traces.append(read_trace(path))
            assert traces[-1], "Horovod reduced no gradient"
    return traces


def disturbance(entries: list[dict]) -> tuple[int, float]:
    """The number of all-reduces, and the time until the last one's end."""
    return len(fused(entries)), max(entry["end"] for entry in entries)


with needs("setup", "make_loader", "make_optimizer", "train_epoch"):
    for fusion, name in ((True, "together"), (False, "one by one")):
        given = (COMM, RANK, tempfile.mkdtemp(), fusion)
        traces = world.run(traced_steps, *given, deadline=60)[0]
        entries = min(traces, key=disturbance)
        gradients = len({entry["tensor"] for entry in entries})
        calls = len(fused(entries))
        title = f"{gradients} gradients, {name}: {calls} all-reduce{'s' * (calls > 1)}"
        display(horovod_picture(entries, title))

# %% [markdown]
# A gradient can be reduced once all ranks have it. Until then the ranks **negotiate**: each one tells rank 0 which
# gradients it has, and one late rank keeps all the others waiting. Then Horovod copies the gradients that are ready
# into one buffer, in an order that is the same on all ranks, makes one all-reduce of it, and copies the averages back.
# This is its **fusion**. The second picture is a step without it, with one all-reduce for each gradient. An all-reduce
# costs something for each byte and something for each call, and most of these gradients are small.
#
# ## Is it faster?
#
# This is the speed of training steps with random images, on 1, 2 and 4 ranks. The slowest rank counts.


# %%
image_shape = tuple(train_set.images.shape[1:])


def step_seconds(comm, batch_size: int, steps: int = 5) -> float:
    """Seconds that a step takes on this rank, on average over `steps`."""
    device = setup()
    model = digit_model(0).to(device)
    optimizer = make_optimizer(model, 0.001)
    images = torch.rand(batch_size, *image_shape, device=device)
    labels = torch.randint(10, (batch_size,), device=device)
    for step in range(steps + 2):
        if step == 2:  # the first are slower
            comm.Barrier()
            began = time.perf_counter()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        loss.item()  # waits for a GPU
    return (time.perf_counter() - began) / steps


def images_per_second(size: int, batch_size: int) -> float:
    """Images per second on `size` ranks, with `batch_size` each in a step."""
    given = (step_seconds, COMM, batch_size)
    seconds = world.run(*given, size=size, init="horovod", deadline=60)
    return size * batch_size / max(seconds)


# %% [markdown]
# With 16, 128 and 512 images on each rank:

# %% folded=true
# Measures and draws the speed on 1, 2 and 4 ranks.
from course.lab.figures.step_speeds import speeds_picture

with needs("setup", "make_optimizer"):
    speeds = {}
    for batch_size in (16, 128, 512):
        speeds[batch_size] = {n: images_per_second(n, batch_size) for n in (1, 2, 4)}
    display(speeds_picture(speeds, "Speed of training, measured"))

# %% [markdown]
# The reduction in a step takes the same time for 16 images as for 512, so small batches pay most for it. And where
# there are more ranks than cores, they take turns. So do not be disappointed if four ranks are no faster here: the
# model and the images are small. In this lab you have four ranks to see that they do the same as one; they pay off with
# larger models.
#
# ## What you saw
#
# - Four ranks with 16 images each make the same steps as one rank with 64, up to rounding.
# - When the global batch grows, so should the learning rate, within limits.
# - The loss or accuracy of one rank is about its own images. What you report is reduced over all ranks, and each image
#   counts once.
# - All ranks call a collective. A file, or a line of output, is for rank 0 alone.
# - Horovod waits until all ranks have a gradient, and averages in one call what is ready.
#
# <details><summary>What is needed so that four ranks make the same steps as one?</summary>
#
# The same start on all ranks (parameters, buffers and the optimizer state), an order of samples that all ranks share,
# averaged gradients, and the same effective learning rate.
#
# </details>
#
# ## Two questions
#
# They count no points. The first answer is a number: write it in place of `None`, and run the cell to hear whether it
# is right. The second answer is a text: double-click the cell, write a few sentences, and run it. Your instructor reads
# it. Both are handed in.
#
# **1. Bytes.** How many bytes of gradients does each rank hand to Horovod in one step? You have seen the number of
# weights; a gradient has one float32 for each.

# %% answer="bytes_per_step"
check.answer("bytes_per_step", None)

# %% [markdown]
# **2. When two are faster.** In the last picture, two ranks are slower than one, or faster: it depends on the number of
# images that each has in a step. From how many images per rank on do two ranks train on more images in a second than
# one, on this machine? In a new cell, compare `images_per_second(1, n)` with `images_per_second(2, n)` for n = 16, 32,
# 64, ... Take the best of a few tries. Give the number, or "none up to 512", and say why it is not the same on every
# machine.

# %% [markdown] answer="two_are_faster"
# It depends on the machine: from about 64 images on, on four cores that other programs used as well. A step on a rank
# takes the time for its images, and with two ranks also the time of the all-reduce, which is the same for 16 images as
# for 512. So two ranks are faster once computing the images takes longer than the all-reduce. A faster processor, a GPU
# or a slower network each move that point up; a larger model moves it, too, as it has more to compute and more to send.
# With more ranks than cores, two ranks may never be faster.
