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
# # 11 A rank dies, and nothing is lost
#
# After this lab you can
#
# - write a [checkpoint](GLOSSARY.md#checkpoint) in the middle of an [epoch](GLOSSARY.md#epoch), with all that a
#   training needs to go on: position, [momentum](GLOSSARY.md#momentum), and the random numbers of every
#   [rank](GLOSSARY.md#rank), one of several processes that train together,
# - resume a killed training so that it is the undisturbed one, bit for bit, by other processes, and go on with fewer,
# - let all ranks leave together when a cluster says that time is up,
# - work out how many steps apart checkpoints should be, and what failures cost on 10,000
#   [nodes](GLOSSARY.md#node), the computers of a cluster.
#
# The idea in one sentence: **{{idea}}**
#
# **Before you start.** {{needs}} (If your course leaves lab 10 out: section 1 says what is needed of it.)
#
# **Lecture.** [11 When a rank dies](../../course/lectures/11_failures.ipynb) kills a rank, resumes the run, and works
# out how often to save.
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
import os
import signal
import tempfile
import time
from itertools import pairwise
from statistics import median

import torch
import torch.distributed as dist
from IPython.display import display
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset

from autograde.notebook import Checker, needs
from course.batch.launched import by_torchrun
from course.lab.figures.noted_steps import NotedSteps, attempt_of
from course.lab.models.settled import settled
from course.models.digits import some_digits
from course.world import RanksFailed, World

# %% [markdown]
# This cell starts the [world](GLOSSARY.md#world), which is four ranks that will run your code, and loads the checks:

# %%
world = World(4)
check = Checker(world)

# %% [markdown]
# ## 1. What a training depends on
#
# The weights and the optimizer's momentum: lab 10 has saved those, after each epoch. In the
# middle of one, a training depends on more:
#
# - on its *position*: the epoch, and how many of its samples are done;
# - on the *random numbers* that come next, in dropout for instance. PyTorch draws them on each rank from a generator
#   of its own: `torch.get_rng_state()` is its state, a tensor of bytes, and `torch.set_rng_state(state)` puts it back.
#   A GPU has another one: `torch.cuda.get_rng_state(device)`.
#
# Ranks are not stable. After a restart, rank 2 is another process, perhaps on another node, and a file on the old
# node's disk is out of its reach. So what belongs to rank 2 goes into the *one* file that all ranks see, under its
# number. As in lab 10, rank 0 alone writes; the file is whole at any moment, because a new one is written beside the
# old one and then takes its place in one step (`os.replace`); and no rank returns before it is there. (That protects
# from a killed *process*. Where a node may lose power, the new file has to be on the disk before it is renamed:
# `os.fsync`, which is not asked for here.)

# %% todo="save_checkpoint"
import os

import torch
import torch.distributed as dist


def save_checkpoint(path: str, model, optimizer, epoch: int, consumed: int) -> None:
    """Write a checkpoint in the middle of an epoch. All ranks call it, with one `path`.

    model: the DistributedDataParallel. consumed: samples of this epoch that all ranks
    *together* have trained on.
    What the file holds afterwards:
    "model": state dict of the model inside the wrapper, without "module." in its names;
    "optimizer": state dict of the optimizer; "epoch" and "consumed": the ints;
    "random": a list. Entry r is a list of ByteTensors on the CPU, no views of larger
    ones (on some of these, torch.set_rng_state crashes): rank r's
    torch.get_rng_state(); where its model is on a GPU, also the state of that GPU's
    generator.

    As in lab 10, you may write to another name in the same folder first; use the same
    name in every call (no process id, no random part), so that the next call overwrites
    the half-written file of a call that was killed.
    """
    ### BEGIN SOLUTION
    device = next(model.parameters()).device
    own = [torch.get_rng_state()]
    if device.type == "cuda":
        own.append(torch.cuda.get_rng_state(device))
    on_rank_0 = dist.get_rank() == 0
    random = [None] * dist.get_world_size() if on_rank_0 else None
    dist.gather_object(own, random)
    if on_rank_0:
        state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save({**state, "epoch": epoch, "consumed": consumed, "random": random}, f"{path}.part")
        os.replace(f"{path}.part", path)
    dist.barrier()
    ### END SOLUTION


# %% check="save_checkpoint"
check("save_checkpoint")

# %% [markdown]
# ## 2. Put it back
#
# Everything goes back to its place: build first, then load, as whatever draws random numbers after that, such as
# building a model, would spoil them. More ranks than before? Then some find no random numbers of their own in the
# file, and keep what they have. A file that does not fit must end the training with an error: if it were ignored, the
# training would begin anew, and its first checkpoint would overwrite the file.

# %% todo="load_checkpoint"
import os

import torch
import torch.distributed as dist


def load_checkpoint(path: str, model, optimizer) -> tuple[int, int]:
    """Load what `save_checkpoint` wrote; return its (epoch, consumed), two ints.

    All ranks call this, and all see the file. model: the DistributedDataParallel, on
    the device where it is to stay. A rank's random numbers are torch's on the CPU and,
    where the file has them and the model is on a GPU, that GPU's.
    Where a file is refused, the model may have been changed by then. Python's and
    torch's own messages often do not say which file it was; yours does.
    """
    ### BEGIN SOLUTION
    if not os.path.exists(path):
        return 0, 0
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        random, place = state["random"], (state["epoch"], state["consumed"])
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        device, rank = next(model.parameters()).device, dist.get_rank()
        if rank < len(random):
            torch.set_rng_state(random[rank][0])
            if device.type == "cuda" and len(random[rank]) > 1:
                torch.cuda.set_rng_state(random[rank][1], device)
    except Exception as error:
        raise ValueError(f"{path} does not fit this training: {error!r}") from error
    return place
    ### END SOLUTION


# %% check="load_checkpoint"
check("load_checkpoint")

# %% [markdown]
# ## 3. The rest of an epoch
#
# The order of an epoch follows from [seed](GLOSSARY.md#seed) and epoch, as in lab 06. So its first `consumed` entries
# are known to be done, whoever did them, and the *rest* is dealt out anew, to however many ranks there are now:
#
# ```
# order of the epoch      7 2 9 4 0 5 8 1 6 3
# consumed 4              x x x x
# rank 0 of 2                     0   8   6
# rank 1 of 2                       5   1   3
# rank 0 of 4                     0       6
# rank 3 of 4                           1       2     <- the rest has run out: padding, from the epoch's start,
#                                                          where rank 2 of 4 has taken the 7
# ```
#
# It is tempting to let the sampler count what it has handed out. But a `DataLoader` with workers fetches
# [batches](GLOSSARY.md#batch) ahead: what is handed out is not yet trained on. Only the training knows.

# %% todo="ResumableSampler"
from collections.abc import Iterator
from itertools import cycle, islice

import torch
from torch.utils.data import Sampler


class ResumableSampler(Sampler):
    """This rank's share of what is left of an epoch.

    Of the epoch's permutation of all samples, the first `consumed` entries are done,
    whatever number of ranks did them. The rest is dealt out to the ranks.
    """

    def __init__(self, dataset_size: int, rank: int, size: int, seed: int = 0) -> None:
        ### BEGIN SOLUTION
        self.dataset_size, self.rank, self.size, self.seed = dataset_size, rank, size, seed
        self.set_position(0, 0)
        ### END SOLUTION

    def set_position(self, epoch: int, consumed: int) -> None:
        """Passes that begin from now on start here; before any call, at (0, 0).

        consumed: 0 or more, any number; from `dataset_size` on nothing is left.
        """
        ### BEGIN SOLUTION
        self.epoch, self.consumed = epoch, consumed
        ### END SOLUTION

    def __iter__(self) -> Iterator[int]:
        """Begin a pass."""
        ### BEGIN SOLUTION
        generator = torch.Generator().manual_seed(1_000_003 * self.seed + self.epoch)
        order = torch.randperm(self.dataset_size, generator=generator).tolist()
        rest = islice(cycle(order), self.consumed, self.consumed + self.size * len(self))
        return islice(rest, self.rank, None, self.size)
        ### END SOLUTION

    def __len__(self) -> int:
        """How many samples this rank draws in a pass from here."""
        ### BEGIN SOLUTION
        return -(-max(0, self.dataset_size - self.consumed) // self.size)
        ### END SOLUTION


# %% check="ResumableSampler"
check("ResumableSampler")

# %% [markdown]
# An epoch of 10 samples, of which 4 are done, as your sampler deals it out. Compare with the picture above; your
# numbers are others.

# %%
with needs("ResumableSampler"):
    for size in (2, 4):
        samplers = [ResumableSampler(10, rank, size) for rank in range(size)]
        for sampler in samplers:
            sampler.set_position(0, 4)
        print(f"{size} ranks:", [list(sampler) for sampler in samplers])

# %% [markdown]
# ## 4. When the cluster says: time is up
#
# Not every end is a surprise. Before [Slurm](GLOSSARY.md#slurm) ends a job it can send a *signal*, and clouds do so
# before they take a machine back. That is called *[preemption](GLOSSARY.md#preemption)*: the cluster takes the nodes
# back before the job is done. A process says by `signal.signal(number, handler)` which function is to be called then:
# at any moment, between two instructions of the Python program. (Not while it waits inside an
# [all-reduce](GLOSSARY.md#all-reduce): then it is called right after that.) So the handler does as little as possible:
# it makes a note.
#
# Then the ranks have to agree. Signals do not reach all of them, nor all in the same step; a rank that leaves by itself
# leaves the others waiting in their next all-reduce. So after each step, they ask each other.

# %% todo="Preemption"
import signal

import torch
import torch.distributed as dist


class Preemption:
    """Notes the signals that ask this process to end; all ranks agree on it.

    Each object is used for one block.

    with Preemption([signal.SIGTERM, signal.SIGUSR2]) as preemption:
        ...                       # a signal of these that comes here is noted
        if preemption.agreed():   # on all ranks, at the same point
            ...

    """

    def __init__(self, signals) -> None:
        ### BEGIN SOLUTION
        self.signals, self.noted = list(signals), False
        ### END SOLUTION

    def __enter__(self) -> "Preemption":
        """Start catching these signals, and no others. Returns the object itself."""
        ### BEGIN SOLUTION

        def note(number: int, frame: object) -> None:
            self.noted = True

        self.before = {number: signal.signal(number, note) for number in self.signals}
        return self
        ### END SOLUTION

    def __exit__(self, *error) -> None:
        """End, however the block ends; an exception of the block goes on."""
        ### BEGIN SOLUTION
        for number, handler in self.before.items():
            signal.signal(number, handler)
        ### END SOLUTION

    def agreed(self) -> bool:
        """Whether any rank has been signalled.

        All ranks of the default process group call this at the same point. Once it is
        True, it stays so. A signal that comes while the ranks agree may count at the
        next call.
        """
        ### BEGIN SOLUTION
        on_gpu = dist.get_backend() == "nccl"
        device = torch.device("cuda", torch.cuda.current_device()) if on_gpu else "cpu"
        noted = torch.tensor([float(self.noted)], device=device)
        dist.all_reduce(noted, dist.ReduceOp.MAX)
        return bool(noted.item())
        ### END SOLUTION


# %% check="Preemption"
check("Preemption")

# %% [markdown]
# ## 5. A training that can be killed
#
# Now put them together. The call that starts a training is the one that resumes it: it loads, tells the sampler where
# to begin, and then after each step counts, asks and perhaps saves. One thing is prepared for you: iterating over a
# `DataLoader` draws a number from torch's global generator, unless it has a `generator` of its own; the lab's loaders
# have one.
#
# When is which position saved? Two epochs of 5 steps, each of 8 samples on all ranks together, and `every` = 3:
#
# | what happens | checkpoint at (epoch, consumed) |
# |---|---|
# | nothing, in 10 steps | after step 3 at (0, 24), step 6 at (1, 8), step 9 at (1, 32), and at the end at (2, 0) |
# | a signal, on which the ranks agree after step 4 | after step 3, and after step 4 at (0, 32); then `train` returns |
# | the next call | after *its* third step, the seventh in all, at (1, 16); and so on |
# | a signal in the last step, 10 | at (1, 40) or (2, 0), both are right |
# | a call that finds (2, 0) | no step is made; it may save once more |
#
# Where a step has just been saved and is to be saved again, a second save does no harm.

# %% todo="train"
import torch
import torch.distributed as dist


def train(
    model,
    loader,
    optimizer,
    loss_fn,
    epochs: int,
    every: int,
    checkpoint: str,
    preemption,
) -> list[float]:
    """Train until `epochs` epochs are done, those of earlier runs included.

    model: the DistributedDataParallel, in train mode. loader: yields batches (inputs,
    targets) of tensors, as many on all ranks, of the same length; its `sampler` is a
    ResumableSampler. loss_fn(outputs, targets): a mean. A step is one batch on each
    rank: one forward pass through the wrapper, one backward pass, one step of the
    optimizer with the gradients of this batch alone.

    every: steps between two checkpoints. checkpoint: the path of the file. preemption:
    a `Preemption` whose block has begun.

    Tells the sampler by `set_position(epoch, consumed)` before each epoch, and saves by
    `save_checkpoint(path, model, optimizer, epoch, consumed)`.
    `consumed` counts the samples that all ranks together have trained on in this epoch,
    padding included; what is saved after an epoch's last step may also have the
    position (epoch + 1, 0).

    Returns a list of floats, the losses.
    You may call the functions above: the check has right ones. It brings a sampler and
    a preemption of its own, which have the methods named here, and no others.
    """
    ### BEGIN SOLUTION
    device = next(model.parameters()).device
    losses, since = [], 0
    epoch, consumed = load_checkpoint(checkpoint, model, optimizer)
    while epoch < epochs:
        loader.sampler.set_position(epoch, consumed)
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(inputs.to(device)), targets.to(device))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            consumed += dist.get_world_size() * len(targets)
            since += 1
            leaving = preemption.agreed()
            if leaving or since == every:
                save_checkpoint(checkpoint, model, optimizer, epoch, consumed)
                since = 0
            if leaving:
                return losses
        epoch, consumed = epoch + 1, 0
    save_checkpoint(checkpoint, model, optimizer, epochs, 0)
    return losses
    ### END SOLUTION


# %% check="train"
check("train")

# %% [markdown]
# ## 6. Kill it
#
# A small network for digits, with dropout. Each step also sleeps for 50 ms, as long as a larger model might compute.
# Two epochs of 12 steps, a checkpoint after every 5th step. First undisturbed; then the same training again, in which
# rank 2 kills itself in step 19 (`kill -9`: no handler is called). The others wait for it in vain, the
# [world](GLOSSARY.md#world) replaces all of them, and the same call goes on, on new processes, whose numbers are dealt
# out backwards: rank 0 is a process that never was rank 0.
#
# The folded cell has what is needed for it: `build` makes the model, the optimizer and the loader of a rank; `training`
# calls your `train` with them, on a rank; `killed_and_resumed` has all ranks train, and once more after the kill.

# %% folded=true
# Trains on the ranks, notes what they do, and kills one.
BATCH, IMAGES = 16, 768  # images of a rank in a step, and of an epoch
EPOCHS = 2


def build(images: int, dropout: float = 0.2) -> tuple:
    """Model, optimizer and loader of this rank."""
    rank, size = dist.get_rank(), dist.get_world_size()
    on_gpu = dist.get_backend() == "nccl"
    device = torch.device("cpu")
    if on_gpu:
        device = torch.device("cuda", torch.cuda.current_device())
    # Each rank drops others; the wrapper gives all of them rank 0's weights.
    torch.manual_seed(rank)
    hidden = [nn.LazyLinear(32), nn.ReLU(), nn.Dropout(dropout)]
    layers = [nn.Flatten(), *hidden, nn.Linear(32, 10)]
    dataset = Subset(some_digits()[0], range(images))
    example = dataset[0][0][None]
    net = nn.Sequential(*layers).to(device)
    net(example.to(device))  # LazyLinear finds out its size
    wrapper = DistributedDataParallel(net, device_ids=[device] if on_gpu else None)
    model = settled(wrapper, example)
    optimizer = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
    sampler = ResumableSampler(images, rank, size, seed=1)
    batch = 4 * BATCH // size if 4 * BATCH % size == 0 else BATCH
    own = torch.Generator()
    loader = DataLoader(dataset, batch, sampler=sampler, generator=own)
    return model, optimizer, loader


def training(
    folder: str,
    name: str,
    every: int,
    kill_at: int = 0,
    signal_at: int = 0,
) -> list[float]:
    """`train` on this rank, which notes in the folder `name` what happens when.

    kill_at: number of the step in which rank 2 kills itself; signal_at: in which the
    last rank gets a SIGTERM.
    """
    model, optimizer, loader = build(IMAGES)
    rank, size = dist.get_rank(), dist.get_world_size()
    checkpoint, samples = f"{folder}/checkpoint.pt", size * loader.batch_size
    noted = f"{folder}/{name}"
    os.makedirs(noted, exist_ok=True)
    kill_at = kill_at if rank == min(2, size - 1) else 0

    def compute() -> None:
        time.sleep(0.05)
        if rank == size - 1 and notes.step + 1 == signal_at:
            os.kill(os.getpid(), signal.SIGTERM)

    notes = NotedSteps(noted, rank, checkpoint, samples, IMAGES, kill_at, compute)
    with Preemption([signal.SIGTERM, signal.SIGUSR2]) as preemption:
        parts = (model, loader, optimizer, notes.loss(cross_entropy))
        asked = notes.asking(preemption)
        losses = train(*parts, EPOCHS, every, checkpoint, asked)
    notes.look()
    return losses


def weights_in(folder: str) -> torch.Tensor:
    """All weights of the checkpoint in this folder, in a row."""
    state = torch.load(f"{folder}/checkpoint.pt", map_location="cpu", weights_only=True)
    return torch.cat([values.flatten() for values in state["model"].values()])


def killed_and_resumed(name: str, every: int, kill_at: int) -> list:
    """The two attempts of a run in which a rank kills itself."""
    folder, attempts = f"{folder_of_all}/{name}", []
    os.makedirs(folder)
    backwards = [*range(world.size)][::-1]
    for number, kill, order in (("first", kill_at, None), ("second", 0, backwards)):
        given = (folder, number, every, kill)
        began, noticed = time.time(), None
        try:
            world.run(training, *given, ranks=order, init="torch", deadline=60)
        except RanksFailed as failed:
            noticed = time.time()
            why = failed.outcome.detail.partition(";")[0]
            print(f"after step {kill_at - 1}: {why}")
        attempts.append(attempt_of(f"{folder}/{number}", world.size, began, noticed))
    return attempts


# %% [markdown]
# Are the weights at the end the same, with the kill and without it?

# %%
ALL = ("save_checkpoint", "load_checkpoint", "ResumableSampler", "Preemption", "train")
temporary = tempfile.TemporaryDirectory()
folder_of_all, attempts = temporary.name, []
with needs(*ALL):
    folder = f"{folder_of_all}/whole"
    os.makedirs(folder)
    undisturbed = world.run(training, folder, "first", 5, init="torch", deadline=60)
    attempts = killed_and_resumed("killed", 5, kill_at=19)
    whole, resumed = weights_in(folder), weights_in(f"{folder_of_all}/killed")
    equal = torch.equal(whole, resumed)
    print("weights at the end:", "equal, bit for bit" if equal else "they differ")
    before, after = ({number for _, number, _ in each.steps[0]} for each in attempts)
    print("steps that were made twice:", sorted(before & after))

# %% [markdown]
# What the failure has cost, on this machine, by part: the notebook has to notice it, new processes have to start, they
# load the checkpoint, and make the lost steps once more. Steps that were lost are shaded.

# %% folded=true
# Draws the loss against the clock through kill and resume, and the wait by parts.
from course.lab.figures.resume import resume_picture

if attempts:
    display(resume_picture(attempts))
else:
    print("Here comes a picture of your killed and resumed training, once it has run.")

# %% [markdown]
# The same as a film: a lane of steps for each rank, a flag for each checkpoint, the strike, and back to the flag.

# %% folded=true
# Draws the kill and the resume as a film, a lane for each rank.
from course.lab.figures.failover_movie import failover_movie

if attempts:
    display(failover_movie(attempts))
else:
    print("Here comes a film of your killed and resumed training, once it has run.")

# %% [markdown]
# ## 7. Leave together, and go on with three
#
# Now nobody is killed, but rank 3, and it alone, gets a SIGTERM in step 7. All ranks make that step, agree, save and
# return. The same call then goes on with three ranks: the rest of the epoch is dealt out to those. (Their [global
# batch](GLOSSARY.md#global-batch) is smaller, and dropout draws other numbers on three ranks than on four, so the
# losses are no longer those of the undisturbed training.)

# %%
with needs(*ALL):
    folder = f"{folder_of_all}/signalled"
    os.makedirs(folder)
    losses = world.run(training, folder, "first", 5, 0, 7, init="torch", deadline=60)
    kept = torch.load(f"{folder}/checkpoint.pt", map_location="cpu", weights_only=True)
    steps = [len(each) for each in losses]
    position = f"epoch {kept['epoch']}, consumed {kept['consumed']}"
    print(f"after the signal: {steps} steps, {position}")
    if world.size >= 3:
        given = (folder, "second", 5)
        losses = world.run(training, *given, size=3, init="torch", deadline=60)
        steps, last = [len(each) for each in losses], losses[0][-1]
        print(f"on three ranks: {steps} more steps, loss {last:.3f} at the end")

# %% [markdown]
# ## 8. Who starts it again?
#
# In this notebook, you did. Elsewhere something has to notice, and to start the same command again.
#
# **[torchrun](GLOSSARY.md#torchrun)** watches the ranks of its node. If one dies, it ends the others and starts all of
# them anew, up to `--max-restarts` times. Here two ranks run under torchrun, in processes of their own, and one kills
# itself. (Over [gloo](GLOSSARY.md#gloo), a restart takes `--rdzv-backend=c10d` and
# `TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1`: otherwise the new ranks find the addresses of the dead ones, see
# pytorch/pytorch#135712.)


# %%
def restarted(folder: str) -> dict:
    """`training` on a rank of torchrun; in the first attempt a rank kills itself."""
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    losses = training(folder, f"attempt-{attempt}", 5, 0 if attempt else 17)
    return {"attempt": attempt, "steps": len(losses)}


with needs(*ALL):
    if not attempts:  # no training has run above: ask before torchrun starts two
        raise NotImplementedError()
    folder = f"{folder_of_all}/torchrun"
    os.makedirs(folder)
    launch = by_torchrun(restarted, folder, ranks=2, restarts=2)
    if launch.error:
        print(f"torchrun: {launch.error}")
    else:
        print("returned after a restart:", *launch.results)

# %% [markdown]
# ### On Slurm
#
# [Slurm](GLOSSARY.md#slurm) ends a job at its time limit. So the job has to save before that, and to ask for another
# turn. The script for it is `requeue.sh`, in the notebook's folder. Beside the lines of `run.sh`, by which any lab's
# notebook runs as a job, it has
#
# | line in `requeue.sh` | what it is for |
# |---|---|
# | `#SBATCH --time=00:02:00` | the time limit of one attempt |
# | `#SBATCH --signal=USR2@60` | SIGUSR2 to all ranks 60 seconds before it, or up to a minute earlier |
# | `#SBATCH --requeue` | the job may be queued again |
# | `#SBATCH --open-mode=append` | each attempt goes on in the same log |
#
# The ranks agree, save and leave. Then *one* of them calls `scontrol requeue`: the job keeps its number, waits for its
# turn, and the same command goes on from the checkpoint. After five times it gives up, because a training that never
# gets further would be queued for ever. Each rank of the job calls this function:


# %%
def requeued_training(folder: str, epochs: int, seconds: float) -> tuple[bool, list]:
    """Train on this rank.

    Returns whether all is done, or a signal has ended it, and the losses of the steps
    made.
    """
    checkpoint = f"{folder}/failover.pt"
    with Preemption([signal.SIGTERM, signal.SIGUSR2]) as preemption:
        model, optimizer, loader = build(IMAGES)
        model.register_forward_hook(lambda *_: time.sleep(seconds))
        parts = (model, loader, optimizer, cross_entropy)
        losses = train(*parts, epochs, 50, checkpoint, preemption)
    kept = torch.load(checkpoint, map_location="cpu", weights_only=True)
    return kept["epoch"] >= epochs, losses


# %% [markdown]
# If there is Slurm where you are, save this notebook, open a terminal in its folder, and type
#
# ```
# sbatch requeue.sh
# squeue --me                          # running; or waiting for its next turn, under the same number
# tail -f 11_failover.requeue.*        # what the ranks say
# ```
#
# It trains for 20 epochs of 12 steps, each of which takes 0.3 seconds: more than fits before the signal. Without Slurm,
# here is what the ranks of such a job have said, two of them, on a machine that had much else to do:
#
# ```
# attempt 1: 95 steps, stopped by a signal
# queued again: job 1
# attempt 2: 68 steps, stopped by a signal
# queued again: job 1
# attempt 3: 34 steps, stopped by a signal
# queued again: job 1
# attempt 4: 4 steps, stopped by a signal
# queued again: job 1
# attempt 5: 26 steps, stopped by a signal
# queued again: job 1
# attempt 6: 13 steps, done
# ```
#
# Add up the steps: they are 240, which is 20 times 12, so none is made twice, and none is left out. (Slurm may send the
# signal up to a minute early. Then starting Python and loading take nearly all of what is left, as in attempt 4.)
# `EPOCHS=40 sbatch --ntasks 8 requeue.sh` goes on for 20 epochs more, on eight ranks. If you want a training that
# begins anew, remove `failover.pt`.

# %% [markdown]
# ## 9. How often should you save?
#
# Each checkpoint costs the time of saving, $s$. Each failure costs the steps since the last one: with a checkpoint
# after every $k$-th step of $t$ seconds, half of $k t$ on average. Nodes fail independently. With $n$ of them, and a
# *mean time between failures* ([MTBF](GLOSSARY.md#mtbf)) of $m$ seconds for each, some node fails every $M = m / n$
# seconds on average. The share of the time that is lost is then, to first order,
#
# $$\frac{s}{k\,t} + \frac{k\,t}{2 M}$$
#
# (Young, [*A first order approximation to the optimum checkpoint
# interval*](https://doi.org/10.1145/361147.361115), CACM 17, 1974). One term falls with $k$, and the other grows.

# %% todo="best_every"
import math


def best_every(
    step_seconds: float,
    save_seconds: float,
    node_mtbf_seconds: float,
    nodes: int,
) -> int:
    """After how many steps k to save, so that least time is lost.

    The share that is lost is
        save_seconds / (k * step_seconds) + k * step_seconds / (2 M),
    where M = node_mtbf_seconds / nodes. A real number k makes it least, and you return
    a whole one.
    """
    ### BEGIN SOLUTION
    mtbf = node_mtbf_seconds / nodes

    def lost(k: int) -> float:
        return save_seconds / (k * step_seconds) + k * step_seconds / (2 * mtbf)

    below = max(1, math.floor(math.sqrt(2 * mtbf * save_seconds) / step_seconds))
    return min(below, below + 1, key=lost)
    ### END SOLUTION


# %% check="best_every"
check("best_every")

# %% [markdown]
# Now measure a step and a save of your own, and let a rank die in two more trainings, with other numbers of steps
# between checkpoints. This is how a save and a loss are measured:


# %%
def save_cost(folder: str) -> float:
    """Seconds of a `save_checkpoint` on these ranks: the median of seven."""
    model, optimizer, _ = build(IMAGES)
    seconds = []
    for _ in range(7):
        began = time.perf_counter()
        save_checkpoint(f"{folder}/save.pt", model, optimizer, 0, 0)
        seconds.append(time.perf_counter() - began)
    return median(seconds)


def lost_share(attempts: list, step: float, save: float) -> float:
    """Share of the time that was lost by saving and by making steps again."""
    made = sum(len(attempt.steps[0]) for attempt in attempts)
    kept = len({number for attempt in attempts for _, number, _ in attempt.steps[0]})
    lost = (made - kept) * step + sum(len(attempt.saves) for attempt in attempts) * save
    return lost / (kept * step + lost)


# %% [markdown]
# And here it is done, on your ranks:

# %%
costs, kills = None, []
with needs(*ALL):
    save = world.run(save_cost, folder_of_all, init="torch")[0]
    whole = attempt_of(f"{folder_of_all}/whole/first", world.size, 0.0)
    ends = [when for when, _, _ in whole.steps[0]]
    step = median(after - before for before, after in pairwise(ends))
    costs = step, save
    print(f"a step takes {1000 * step:.0f} ms, a save {1000 * save:.1f} ms")
    kills = [(5, lost_share(attempts, step, save))]
    for every in (2, 10):
        run = killed_and_resumed(f"every-{every}", every, 17)
        kills.append((every, lost_share(run, step, save)))

# %% [markdown]
# Young's curve for your step and your save, with your `best_every` marked. The points are what the three killed runs
# lost by saving and by making steps twice. The curve is a mean over many kills, and each point is a single one: a kill
# just before a save loses nearly $k$ steps and lies above the curve, one just after it loses none and lies below.
# Neither counts the time that new processes take to start.

# %% folded=true
# Draws the share of the time that is lost, by the number of steps between checkpoints.
from course.figures.failures.share_lost import share_lost_picture

with needs("best_every"):
    if costs:
        failing = len(ends) * costs[0]  # one kill in a run of so many steps
        best = best_every(*costs, failing, 1)
        display(share_lost_picture(*costs, failing, best, kills))
    else:
        print("Here comes Young's curve, once a step and a save have been measured.")

# %% [markdown]
# And with nodes that fail every five years? One curve for each number of nodes; your `best_every` is marked.

# %% folded=true
# Draws the share that is lost on 1, 100 and 10,000 nodes that fail every five years.
from course.lab.figures.share_by_nodes import share_by_nodes_picture

FIVE_YEARS = 5 * 365.25 * 86_400
with needs("best_every"):
    if costs:
        display(share_by_nodes_picture(*costs, FIVE_YEARS, best=best_every))
        for nodes in (1, 100, 10_000):
            k = best_every(*costs, FIVE_YEARS, nodes)
            share = costs[1] / (k * costs[0]) + k * costs[0] * nodes / (2 * FIVE_YEARS)
            print(
                f"nodes: {nodes:6,}, a checkpoint after every {k:,} steps,",
                f"{share:.2e} of the time is lost",
            )
    else:
        print("Here come the curves, once a step and a save have been measured.")

# %% [markdown]
# ## What you saw
#
# Answer first, then unfold.
#
# <details><summary>What has to be in a checkpoint beside weights and momentum?</summary>
#
# The position in the epoch, counted in samples of all ranks, and every rank's random numbers. The order of the samples
# need not be: it follows from seed and epoch.
#
# </details>
#
# <details><summary>Why are the random numbers put back last?</summary>
#
# Because whatever draws after that, such as building a model, moves them on. Then dropout drops other units than it
# would have.
#
# </details>
#
# <details><summary>Why may a rank that has got a signal not just save and leave?</summary>
#
# The others wait for it in their next all-reduce, for ever. And a checkpoint of one rank's step that the others have
# not made is of no use.
#
# </details>
#
# <details><summary>What if nodes fail four times as often?</summary>
#
# Then checkpoints should be half as far apart, and twice the share of the time is lost.
#
# </details>
#
# ## What comes next
#
# So far each rank has had a whole model. Lab 12 is about models that do not fit. (A lab that your course leaves out is
# not needed: go on with the next one that you have.)
#
# ## Two questions
#
# They count no points. The first answer is a number: write it in place of `None`, and run the cell to hear whether it
# is right. The second answer is a text: double-click the cell, write a few sentences, and run it. Your instructor reads
# it. Both are handed in.
#
# **1. A slower save.** Nodes fail every five years, and there are 10,000 of them. Let `save_checkpoint` take 10 times
# as long as you measured: by which factor does the share of the time that is lost at the best $k$ grow? (In a new cell,
# call `share_by_nodes_picture(step, 10 * save, FIVE_YEARS, best=best_every)`, or work it out.)

# %% answer="slower_save"
check.answer("slower_save", None)

# %% [markdown]
# **2. Ten thousand nodes.** Which share of the time is lost on 1, 100 and 10,000 nodes, with your step and your save?
# A real model's checkpoint may take minutes. What would you change first to lose less, and what does the formula leave
# out that your picture of the kill shows?

# %% [markdown] answer="ten_thousand_nodes"
# The share at the best k is about the square root of 2 s / M, whatever the step takes. With s = 5 ms it is 8e-6 on one
# node, 8e-5 on 100 and 8e-4 on 10,000: 100 times the nodes lose 10 times the share. With a save of two minutes on
# 10,000 nodes, which fail every four hours together, it is 12 %. First make saving cheaper for the training: copy the
# weights to the CPU's memory and write them while the steps go on, or let every rank write its part. The formula leaves
# out what follows a failure beside the lost steps: noticing it, starting new processes, and loading. In the picture
# these are most of the wait. They cost their time over M whatever k is, so on many nodes they have to become fast, too.
