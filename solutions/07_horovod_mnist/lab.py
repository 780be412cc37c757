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
# - train a network on several ranks, each with its share of every batch, so that they stay one network,
# - say what has to be the same on all ranks, what has to differ, and which numbers are right only when all are asked,
# - read what Horovod does with the gradients of a step, and measure when more ranks pay.
#
# It takes Horovod's part of lab 03, and the sampler of lab 06, which torch has built in.

# %%
import inspect
import os
import tempfile
import time

import horovod.torch as hvd
import torch
from IPython.display import display
from torch import nn
from torch.utils.data import Subset

from autograde.notebook import Checker, needs
from course.batch.record import record
from course.data import digits
from course.data.agreement import same_on_all_ranks
from course.figures.data.digit_samples import digits_picture
from course.figures.ranks.horovod_steps import horovod_picture
from course.figures.training.learning import learning_picture
from course.models.digits import digit_model, some_digits
from course.watch.horovod_trace import fused, read_trace, traceable
from course.world import COMM, RANK, World

world = World(4)
check = Checker("checks", world)
train_set, test_set = digits()
print(train_set.source)
print(test_set.source)

# %%
RANK_NAMES = [f"rank {rank}" for rank in range(4)]
digits_picture(
    train_set.images[:64], train_set.labels[:64].tolist(), "A batch of 64 images, on 4 ranks", 16, RANK_NAMES
)

# %% [markdown]
# One step of training takes 64 images, and each of four ranks has 16 of them. Every rank has the whole model, and
# computes the gradient of the mean loss of *its* images. The average of the four gradients is the gradient of the mean
# loss of all 64, as long as each rank has equally many. All ranks make the same step with it, and if they began with
# the same model, they have the same model again. That is **data parallelism**.
#
# Six small functions do it, a seventh puts them together, and an eighth runs that on a cluster. This is the model, for
# images of any size:

# %%
print(inspect.getsource(digit_model))
print(f"{sum(parameter.numel() for parameter in digit_model(0).parameters()):,} weights")

# %% [markdown]
# ## 1. A rank and its device
#
# The ranks of one node share its GPUs. *Rank* counts through all nodes, *local rank* starts from 0 on each: which of
# the two tells a GPU?

# %% todo="setup"
import horovod.torch as hvd
import torch


def setup() -> torch.device:
    """Initialise Horovod, and return the device that this rank computes on.

    Where every rank of this node has a GPU of its own, it is `cuda:<local rank>`, and the rank's current device from
    then on. Else it is `cpu`. Calling it twice does no harm.
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
# ## 2. A rank's share of the data
#
# Every rank can read all images, and takes its own from an order that all ranks draw alike.

# %% todo="make_loader"
import horovod.torch as hvd
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


def make_loader(dataset: Dataset, batch_size: int, seed: int) -> DataLoader:
    """Batches of this rank's share of `dataset`, whose samples are dealt out to Horovod's ranks.

    dataset: `dataset[i]` is (float tensor, int). batch_size: of one rank; the last, smaller batch counts.
    `loader.sampler.set_epoch(epoch)` shuffles all samples anew; for equal seeds the order is the same. Where the number
    of ranks does not divide that of samples, some come twice, as in lab 06: every rank draws equally many, and none is
    left out.
    """
    ### BEGIN SOLUTION
    sampler = DistributedSampler(dataset, num_replicas=hvd.size(), rank=hvd.rank(), shuffle=True, seed=seed)
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler)
    ### END SOLUTION


# %% check="make_loader"
check("make_loader")


# %%
def first_batch(batch_size: int) -> tuple[torch.Tensor, list[int]]:
    """Images and labels of the first batch of this rank."""
    images, labels = next(iter(make_loader(digits()[0], batch_size, seed=0)))
    return images, labels.tolist()


with needs("make_loader"):
    batches = world.run(first_batch, 16, init="horovod")
    images = torch.cat([images for images, _ in batches])
    labels = [label for _, labels in batches for label in labels]
    display(digits_picture(images, labels, "The first batch of each rank, by your loader", 16, RANK_NAMES))

# %% [markdown]
# ## 3. An optimizer that averages
#
# `hvd.DistributedOptimizer` takes an optimizer and gives it back with an all-reduce in it: as soon as `backward` has a
# gradient, its average over all ranks is under way, and `step` waits for the last of them.
#
# Four ranks see four times as many images in a step, so an epoch has a quarter of the steps. A usual rule, the *linear
# scaling rule* ([Goyal et al., 2017](https://arxiv.org/abs/1706.02677)), makes each step longer in return.

# %% todo="make_optimizer"
import horovod.torch as hvd
import torch


def make_optimizer(model: torch.nn.Module, lr: float) -> torch.optim.Optimizer:
    """SGD with momentum 0.9 over all parameters of `model`, wrapped by Horovod, which averages the ranks' gradients.

    lr: learning rate that would suit one process; with N ranks it is N times as large. Horovod gets the model's names
    of the parameters. All else is as SGD and Horovod have it by default.
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
# The average keeps equal models equal, and different ones different. Two things make up a model's state, and the
# optimizer has one of its own.

# %% todo="synchronize_start"
import horovod.torch as hvd
import torch


def synchronize_start(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Give all ranks what rank 0 has: the model's whole state, parameters and buffers, and the optimizer's state.

    optimizer: as `make_optimizer` makes it. It may have momentum already, on all ranks, on rank 0 only, or on all but
    rank 0. Rank 0 is left as it was. (Horovod 0.28.1 broadcasts a dict or a list of tensors, not a generator.)
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
# Each rank sees only its own losses. The mean over all of them is one number, and an honest one only if each image
# counts alike.

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
    """Train `model`, in train mode, on one pass through `loader`, with cross-entropy; return the epoch's mean loss.

    loader, optimizer: as `make_loader` and `make_optimizer` make them; the sampler is told the epoch. model: returns
    logits; it is on `device`. The batches are on the CPU.
    The mean is the sum of the losses of all samples that all ranks drew, each as it was before its step, over their
    number; a sample drawn twice counts twice. It is the same on all ranks, also where their batches are of different
    sizes; all ranks have equally many batches. (Horovod's `optimizer.zero_grad()` takes no argument.)
    """
    ### BEGIN SOLUTION
    model.train()
    loader.sampler.set_epoch(epoch)
    total = torch.zeros(2, dtype=torch.float64)
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
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
# ## 6. How good is it?
#
# The ranks share the work here as well. No image may count twice.

# %% todo="evaluate"
import horovod.torch as hvd
import torch
from torch.utils.data import DataLoader, Dataset, Subset


def evaluate(model: torch.nn.Module, dataset: Dataset, device: torch.device) -> float:
    """Share of the samples of `dataset` that `model` gets right, in [0, 1]: exact, and the same on all ranks.

    The ranks share the samples: none takes more than ceil(n / size) of all n, and some may get none. The model, which
    is on `device`, is in eval mode meanwhile, and afterwards in the mode in which it came.
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
    """Train `model` on all ranks; return one dict for each epoch, with the keys `epoch`, `loss`, `accuracy`, `seconds`.

    model: on the CPU when it comes, and not the same on all ranks. batch_size, lr: as for `make_loader` and
    `make_optimizer`. seed: the loader's. checkpoint: path of a file.
    In the dicts: the epoch, counted from 0; its mean loss; the accuracy after it, on `test_set`; how long it took. But
    for the seconds they are the same on all ranks. After each epoch rank 0, and no other, writes to `checkpoint`, by
    `torch.save`, a dict whose `model` is the model's state dict.
    You may call the six functions above: the check has right ones, in case yours are not.
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
        loss = train_epoch(model, loader, optimizer, epoch, device)
        accuracy = evaluate(model, test_set, device)
        seconds = time.perf_counter() - began
        history.append({"epoch": epoch, "loss": loss, "accuracy": accuracy, "seconds": seconds})
        if hvd.rank() == 0:
            torch.save({"model": model.state_dict()}, checkpoint)
    return history
    ### END SOLUTION


# %% check="train"
check("train")

# %% [markdown]
# ## Four ranks, and one
#
# Now for real. The same model is trained twice: by four ranks with 16 images each, and by one rank with all 64, which
# takes steps as long.


# %%
def training(comm, rank: int, epochs: int, batch_size: int, lr: float, checkpoint: str) -> list[dict]:
    """`train` on this rank's own copy of the data, which must be the same on all, with weights that are not."""
    train_set, test_set = some_digits()
    same_on_all_ranks(comm, train_set.dataset.fingerprint, "digits")
    history = train(digit_model(rank), train_set, test_set, epochs, batch_size, lr, 0, checkpoint)
    assert len(history) == epochs
    return [{key: entry[key] for key in ("epoch", "loss", "accuracy")} for entry in history]


EPOCHS = 8 if len(some_digits()[0]) < 10_000 else 2  # of MNIST, some_digits takes a part
checkpoint = os.path.join(tempfile.mkdtemp(), "digits.pt")

seven = ("setup", "make_loader", "make_optimizer", "synchronize_start", "train_epoch", "evaluate", "train")
with needs(*seven):
    print("Training, some seconds ...")
    one = world.run(training, COMM, RANK, EPOCHS, 64, 0.06, checkpoint, size=1, init="horovod", deadline=300)[0]
    four = world.run(training, COMM, RANK, EPOCHS, 16, 0.015, checkpoint, init="horovod", deadline=300)[0]
    display(learning_picture({"1 rank, 64 images": one, "4 ranks, 16 images each": four}, goal=0.95))
    apart = max(abs(a["loss"] - b["loss"]) for a, b in zip(one, four, strict=True))
    print(f"{four[-1]['accuracy']:.1%} of the test set are right. The two runs' losses differ by {apart:.0e} at most.")

# %% [markdown]
# The dashed line is at 95%. The runs are the same, but for rounding, as the ranks add floats in another order. Where
# steps are too long, that is enough to lead them apart. Take `0.2` and `0.05` for the learning rates, for a try.
#
# What does the model make of images it never saw? This is what rank 0 saved:


# %%
def predictions(checkpoint: str) -> torch.Tensor:
    """What the model that was saved says to the images of the test set."""
    if not os.path.exists(checkpoint):
        raise NotImplementedError("nothing was saved yet")
    model = digit_model(0)
    model.load_state_dict(torch.load(checkpoint, map_location="cpu")["model"])
    with torch.inference_mode():
        return torch.cat([model(images).argmax(1) for images in digits()[1].images.split(500)])


with needs("train"):
    said = world.run(predictions, checkpoint, size=1, deadline=60)[0]
    wrong = said != test_set.labels
    chosen = torch.cat([(~wrong).nonzero().flatten()[:20], wrong.nonzero().flatten()[:20]])
    pairs = zip(said[chosen].tolist(), test_set.labels[chosen].tolist(), strict=True)
    captions = [f"{digit}" if digit == label else f"{digit}, is {label}" for digit, label in pairs]
    title = f"What the model says: {wrong.sum()} of {len(test_set)} are wrong"
    framed = wrong[chosen].nonzero().flatten().tolist()
    display(digits_picture(test_set.images[chosen], captions, title, wrong=framed))

# %% [markdown]
# ## 8. In batch
#
# On a cluster, a job takes as many ranks as it gets: 2 today, 8 tomorrow. If each of them takes 64 images a step, that
# is another training each time, with other losses. If all of them *share* 64 images, it is the same one, up to
# rounding, on any number of ranks. So a run on eight can be repeated on one, and nobody has to believe it.

# %% todo="batch_run"
import horovod.torch as hvd
from torch.utils.data import Dataset


def batch_run(train_set: Dataset, test_set: Dataset, epochs: int, checkpoint: str) -> list[dict]:
    """Train `digit_model(0)`, as rank 0 has it, by your `train` with seed 0; return the history that it returns.

    However many ranks there are, in a step all together take 64 images (or as many as they can share evenly, where 64
    cannot be), and the step is as long as that of one process with learning rate 0.06. Horovod is initialised. You may
    call `digit_model(seed)` and `train`; of `train` the check has one that only notes what it is given.
    """
    ### BEGIN SOLUTION
    size = hvd.size()
    return train(digit_model(hvd.rank()), train_set, test_set, epochs, 64 // size, 0.06 / size, 0, checkpoint)
    ### END SOLUTION


# %% check="batch_run"
check("batch_run")


# %%
def batch_training(comm, epochs: int, checkpoint: str) -> dict:
    """`batch_run` on this rank's own copy of the data, which must be the same on all; as `record` takes it."""
    train_set, test_set = some_digits()
    same_on_all_ranks(comm, train_set.dataset.fingerprint, "digits")
    history = batch_run(train_set, test_set, epochs, checkpoint)
    assert len(history) == epochs
    data = train_set.dataset.fingerprint
    return {"todo": "batch_run", "history": history, "samples": len(train_set), "data": data}


with needs(
    "setup", "make_loader", "make_optimizer", "synchronize_start", "train_epoch", "evaluate", "train", "batch_run"
):
    done = world.run(batch_training, COMM, 3, checkpoint, init="horovod", deadline=300)[0]
    print(f"{world.size} ranks: " + ", ".join(f"loss {entry['loss']:.4f}" for entry in done["history"]))
    record(world=world, **done)

# %% [markdown]
# Where there is Slurm, save this notebook, and type `sbatch run.sh` in a terminal, in its folder. That runs the whole
# notebook on all ranks of the job, over any number of nodes: `sbatch --nodes 2 --ntasks 4 run.sh`. The log tells the
# losses, which are those above. `run.json` is the record of the run. Hand it in with the notebook: it is held against
# what Slurm itself knows of the job, and against a short run of the same cells.

# %% [markdown]
# ## What Horovod does in a step
#
# Gradients come one by one, on each rank in its own time. Horovod writes down what it does with them, as rank 0 sees
# it. Here rank 2 begins its step 20 ms after the others.


# %%
def traced_step(comm, rank: int, path: str, fusion: bool) -> list[dict]:
    """What Horovod did with the gradients of the last of three steps. fusion: whether it may put them together."""
    with traceable(fusion):
        device = setup()
    model = digit_model(0).to(device)
    optimizer = make_optimizer(model, 0.02)
    loader = make_loader(Subset(digits()[0], range(64)), 16, seed=0)
    for step in range(3):
        if step == 2 and rank == 0:
            hvd.start_timeline(path)
        comm.Barrier()
        time.sleep(0.02 if rank == 2 else 0)
        train_epoch(model, loader, optimizer, step, device)
    comm.Barrier()
    if rank > 0:
        return []
    hvd.stop_timeline()
    entries = read_trace(path)
    assert entries, "Horovod reduced no gradient"
    return entries


with needs("setup", "make_loader", "make_optimizer", "train_epoch"):
    paths = [os.path.join(tempfile.mkdtemp(), "trace.json") for _ in range(2)]
    traces = [world.run(traced_step, COMM, RANK, path, path == paths[0])[0] for path in paths]
    until = max(entry["end"] for entries in traces for entry in entries)
    for entries, name in zip(traces, ("put together", "one by one"), strict=True):
        gradients, reductions = len({entry["tensor"] for entry in entries}), len(fused(entries))
        title = f"{gradients} gradients, {name}: {reductions} all-reduce{'s' if reductions > 1 else ''}"
        display(horovod_picture(entries, title, until))

# %% [markdown]
# The numbers are the ranks that say they have a gradient. It is reduced when the last of them has it; until then they
# **negotiate**, and one late rank keeps all waiting. Then Horovod copies the gradients that are ready, in an order that
# is the same on all ranks, into one buffer, and reduces that: its **fusion**. The second picture is a step without it,
# with one all-reduce for each gradient. A reduction costs something for each byte and something for each call, and most
# of these gradients are small.
#
# ## Is it faster?


# %%
def step_seconds(comm, batch_size: int, steps: int = 5) -> float:
    """Time that this rank takes for a step with `batch_size` random images of its own, on average over `steps`."""
    device = setup()
    model = digit_model(0).to(device)
    optimizer = make_optimizer(model, 0.001)
    images = torch.rand(batch_size, *train_shape, device=device)
    labels = torch.randint(10, (batch_size,), device=device)
    for step in range(steps + 2):
        if step == 2:  # the first are slower
            comm.Barrier()
            began = time.perf_counter()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        loss.item()  # waits for a GPU
    return (time.perf_counter() - began) / steps


def images_per_second(size: int, batch_size: int) -> float:
    """Images that `size` ranks train on in a second, `batch_size` each in a step; the slowest rank counts."""
    return size * batch_size / max(world.run(step_seconds, COMM, batch_size, size=size, init="horovod", deadline=60))


train_shape = tuple(train_set.images.shape[1:])
with needs("setup", "make_optimizer"):
    print("images/s with    1 rank   2 ranks   4 ranks")
    for batch_size in (16, 128, 512):
        speeds = [images_per_second(size, batch_size) for size in (1, 2, 4)]
        print(f"{batch_size:5} for each {speeds[0]:9,.0f} {speeds[1]:9,.0f} {speeds[2]:9,.0f}")

# %% [markdown]
# A step costs its reduction whether it is for 16 images or for 512, and more ranks than cores take turns. So a
# small model on small images is no reason for four ranks; it is a way to see that they do the same.
#
# ## What you saw
#
# - Four ranks with 16 images each make the same steps as one rank with 64, up to rounding.
# - For that, the same start (weights, buffers, the optimizer's state), averaged gradients and a longer step are needed.
# - A loss or an accuracy of one rank is about its own images. What is reported is reduced, and each image counts once.
# - A collective is for all ranks; a file, a line of output, is for rank 0 alone.
# - Horovod waits until all ranks have a gradient, and puts together what is there.
#
# ## A question
#
# The last table has two ranks slower than one, or faster, depending on the images that each has in a step. **From how
# many images per rank on do two ranks train on more images in a second than one, on this machine?** In a new cell,
# compare `images_per_second(1, n)` with `images_per_second(2, n)` for n = 16, 32, 64, ... Take the best of a few tries.
