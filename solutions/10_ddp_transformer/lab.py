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
# # 10 A Transformer on several ranks
#
# After this lab you can
#
# - train one model on any number of [ranks](GLOSSARY.md#rank) with
#   [DistributedDataParallel](GLOSSARY.md#distributeddataparallel), and show that it is the *same* training,
# - [accumulate gradients](GLOSSARY.md#gradient-accumulation) over [micro-batches](GLOSSARY.md#micro-batch) of
#   unequal length, and synchronise them once a step,
# - write a [checkpoint](GLOSSARY.md#checkpoint) that survives a kill at any moment, and go on from it,
# - validate exactly, even if the ranks have different numbers of [batches](GLOSSARY.md#batch).
#
# The idea in one sentence: **{{idea}}**
#
# **Before you start.** {{needs}} From PyTorch: modules, optimizers, a `DataLoader`, and what `backward` leaves in
# `.grad`.
#
# **Lecture.** [7 Every sample once](../../course/lectures/07_samplers.ipynb) shows what the sampler of this lab does,
# and how a padded test set is counted. [10 Inside DistributedDataParallel](../../course/lectures/10_inside_ddp.ipynb)
# shows when gradients travel, and what [`no_sync`](GLOSSARY.md#no_sync) is for. [11 When a rank
# dies](../../course/lectures/11_failures.ipynb) says what a checkpoint is for, and what belongs in it.
#
# **Time:** about {{minutes}} minutes, in two sessions: sections 1 to 4, and sections 5 to 8.
#
# **A rank** is one of several processes that run the same program at the same time; its number, from 0 on, tells it
# from the others. This notebook is not one of them: `world.run(f)` calls `f` on every rank of the
# [world](GLOSSARY.md#world) and returns the results.
#
# A small Transformer translates English to Italian: a network of two halves, an *encoder* that reads the English
# sentence and a *decoder* that writes the Italian one. The model, its *tokenizer*, which cuts sentences into tokens,
# and the loop by which it writes are given: what is inside you need not know. You write what spreads its training over
# the ranks: ten functions, which are most of a real training script.
#
# Run the cells from top to bottom. Where you find `# YOUR CODE HERE`, it is your turn. The cell below it runs your code
# on real ranks and tells you what it saw. Grading tries more cases, all of the kinds that you see here. **Only the cell
# with your code is handed in and run: import in it what it uses.** `PAD`, `collate` and `loss_fn`, which you will meet
# below, are there by name.
#
# Stuck? Below each check that has not passed yet, you can read how to unfold a hint. There are three for each TODO.
# They cost no points; your instructor sees how many are used.
#
# Some cells are folded, as the next one is: what is in them is not what the lab is about. Run them like all others.

# %% folded=true
# Imports for the given cells: nothing to learn here.
import tempfile
import time

import torch
import torch.distributed as dist
from IPython.display import display
from torch.utils.data import DataLoader

from autograde.notebook import Checker, needs
from course.batch.record import record
from course.lab.figures.live_loss import LiveLoss
from course.lab.figures.training_steps import training_steps_picture
from course.lab.models.noted_losses import noting
from course.models.translator.bucketing import pair_length
from course.models.translator.sentences import PAD, collate, loss_fn
from course.models.translator.translation import build_model, build_optimizer
from course.world import World

# %% [markdown]
# This cell starts the four ranks that will run your code, and loads the checks:

# %%
world = World(4)
check = Checker(world)

# %% [markdown]
# One step of the training, as you will write it: each rank computes the gradients of three micro-batches, and then all
# ranks take the same step. (The folded cell also loads the sentences, which section *What is given* shows.)

# %% folded=true
# Makes the sentences, and draws how many tokens and how much padding a step has.
from course.data import sentence_pairs
from course.lab.figures.micro_batches import micro_batches_picture
from course.models.translator.tokens import train_tokenizer


def encoded() -> tuple:
    """The sentences, the tokenizer, and training pairs and held-out pairs as ids."""
    sentences = sentence_pairs(7000)
    texts = (text for pair in sentences.train for text in pair)
    tokenizer = train_tokenizer(texts, vocabulary=2000)
    sets = (sentences.train, sentences.held_out)
    return sentences, tokenizer, *map(tokenizer.encode_pairs, sets)


sentences, tokenizer, pairs, held_out = encoded()
drawn = [[pairs[8 * n : 8 * n + 8] for n in range(3 * r, 3 * r + 3)] for r in range(4)]
targets = [[collate(eight)[2] for eight in of_rank] for of_rank in drawn]
micro_batches_picture(
    [[int((target != PAD).sum()) for target in of_rank] for of_rank in targets],
    [[target.numel() for target in of_rank] for of_rank in targets],
    "One step: 3 micro-batches on each of 4 ranks",
)

# %% [markdown]
# Each micro-batch here has 8 sentences, and is filled up with [padding](GLOSSARY.md#padding) to the length of its
# longest one. The number of [tokens](GLOSSARY.md#token) in it depends on the sentences, and differs from rank to
# rank. That is the difficulty of this lab. What one process would minimise is the mean loss per token of the whole
# step,
#
# $$L = \frac{\sum_{r,m} \ell_{r,m}}{\sum_{r,m} T_{r,m}},$$
#
# where $\ell_{r,m}$ is the loss of micro-batch $m$ on rank $r$, *summed* over its $T_{r,m}$ tokens. The mean of the
# micro-batches' means is another number, and so is the mean of the ranks' means: in those, a token counts more where
# there are few. Four ranks that use the wrong mean agree perfectly with each other. They just do not train the way one
# process would, and no error is raised.
#
# ## What is given
#
# Sentences and their translations. They are synthetic, so that the lab needs no network: dates, times, numbers, units,
# countries and languages, as CLDR (the tables by which software formats such things) writes them in both languages.
# (Your course may have put sentences from real books in their place; the first line printed says which these are.)

# %%
print(sentences.source)
for english, italian in sentences.train[1:5]:
    print(f"  {english}\n    {italian}")

# %% [markdown]
# `collate` makes a batch of three tensors from some pairs. Here are the three rows of one sentence; it shares its batch
# with a longer one, hence the padding (`PAD`). `·` is a space. A token is a word or a piece of one.

# %% folded=true
# Shows one pair of sentences as the model gets it.
from course.lab.figures.token_table import TokenTable

chosen = sorted(pairs[:60], key=lambda pair: abs(len(pair[1]) - 9))[0]
longer = next(pair for pair in pairs if len(pair[1]) == len(chosen[1]) + 3)
src, tgt_in, tgt_out = collate([chosen, longer])
rows = {"src": src[0], "tgt_in": tgt_in[0], "tgt_out": tgt_out[0]}
TokenTable({name: tokenizer.pieces(row.tolist()) for name, row in rows.items()})

# %% [markdown]
# The encoder reads all of `src`. The decoder writes one token at a time, and each from those before it. In training we
# know the right translation, so we do not wait for what the model writes: at each place it gets the *right* tokens so
# far (`tgt_in`, which starts with BOS, the beginning of the sentence) and has to predict the next one (`tgt_out`, the
# same tokens one place further, which ends with EOS, the end of the sentence). So all places of a sentence train at
# once, in one forward pass. This is called [teacher forcing](GLOSSARY.md#teacher-forcing).
#
# `model(src, tgt_in)` returns the [logits](GLOSSARY.md#logits): for each place a number for each token of the
# vocabulary, and the higher it is, the more likely the model finds that token. `loss_fn(logits, tgt_out)` is the *sum*
# of the cross-entropies of all tokens in `tgt_out` that are not `PAD`. Working out what to divide it by is your job.

# %%
model = build_model(len(tokenizer), layers=1)
logits = model(src, tgt_in)
shapes = [list(tensor.shape) for tensor in (src, tgt_in, logits)]
print("src {}, tgt_in {} -> logits {}".format(*shapes))
print(f"loss of {int((tgt_out != PAD).sum())} tokens: {loss_fn(logits, tgt_out):.2f}")
print(f"{sum(each.numel() for each in model.parameters()):,} weights")

# %% [markdown]
# The model is worth reading: 250 lines, and nothing in it knows about ranks. To see it, run
# `from course.models import transformer` in a new cell, and then `transformer??`.
#
# ## 1. Find each other
#
# In other labs the world started `torch.distributed`. Here you do it yourself, as a training script has to. A
# [process group](GLOSSARY.md#process-group) is the set of ranks that communicate with each other; its
# [backend](GLOSSARY.md#backend) is the library that carries the data: [gloo](GLOSSARY.md#gloo) between CPUs,
# [nccl](GLOSSARY.md#nccl) between GPUs of NVIDIA. To find each other, all ranks need a place to meet: rank 0 listens
# at an address and a port, and the others connect there. `dist.init_process_group` starts the group, and reads the
# environment by itself; `torch.cuda.device_count()` counts the GPUs of this [node](GLOSSARY.md#node).
#
# The launcher (`torchrun`, or this notebook) gives every process its identity in environment variables. On two
# nodes, which are computers of a cluster, with two ranks each:
#
# | variable | what it is | on rank 0, 1, 2, 3 |
# |---|---|---|
# | `RANK` | number of the rank in the group | 0, 1, 2, 3 |
# | `WORLD_SIZE` | number of ranks in the group | 4, 4, 4, 4 |
# | `LOCAL_RANK` | number of the rank on its own node: its [local rank](GLOSSARY.md#local-rank) | 0, 1, 0, 1 |
# | `LOCAL_WORLD_SIZE` | number of ranks on that node | 2, 2, 2, 2 |
# | `MASTER_ADDR`, `MASTER_PORT` | where rank 0 listens | the same on all |
#
# A node numbers its GPUs from 0, whatever the other nodes have. (Lab 07, section 1, has a picture of nodes, ranks and
# local ranks.) The world ends the group after each `world.run`, so every run starts with your `setup`.

# %% todo="setup"
import os

import torch
import torch.distributed as dist


def setup() -> torch.device:
    """Start the default process group; return the device that this rank computes on.

    Who this rank is and where the ranks meet is in the environment: RANK, WORLD_SIZE,
    LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT.

    If this node has at least as many GPUs as ranks: the backend "nccl", and the GPU
    with the number of the local rank. Make it the current one by torch.cuda.set_device,
    before or after you start the group. Otherwise: the backend "gloo", and the CPU.
    (You may leave the backend out: torch then chooses it by the tensors' device.)

    Example: of 4 ranks on a node with 4 GPUs, the one with local rank 2 returns
    torch.device("cuda", 2). With 1 GPU, all four return torch.device("cpu").
    """
    ### BEGIN SOLUTION
    local_rank = int(os.environ["LOCAL_RANK"])
    if torch.cuda.device_count() < int(os.environ["LOCAL_WORLD_SIZE"]):
        dist.init_process_group("gloo")
        return torch.device("cpu")
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    return torch.device("cuda", local_rank)
    ### END SOLUTION


# %% check="setup"
check("setup")

# %% [markdown]
# <details><summary><b>Your own scripts with bare <code>srun</code></b>: it sets none of these variables.</summary>
#
# [Slurm](GLOSSARY.md#slurm)'s `srun python train.py` starts the ranks, too, but it knows nothing of PyTorch. It sets
# `SLURM_PROCID`, `SLURM_LOCALID` and `SLURM_NTASKS`, and no address and no port: the ranks would not find each other.
# The first node of the job runs rank 0, so its name will do as the address. All ranks must know the same port, and two
# jobs on one node need different ones: the number of the job gives one. With
# `srun --ntasks-per-node=2 python train.py` this will do:
#
# ```python
# def setup_for_srun() -> torch.device:
#     nodes = os.environ["SLURM_STEP_NODELIST"]  # such as "node[03-04]"
#     command = ["scontrol", "show", "hostnames", nodes]
#     first_host = subprocess.check_output(command, text=True).split()[0]
#     os.environ["RANK"] = os.environ["SLURM_PROCID"]
#     os.environ["LOCAL_RANK"] = os.environ["SLURM_LOCALID"]
#     os.environ["WORLD_SIZE"] = os.environ["SLURM_NTASKS"]
#     os.environ["LOCAL_WORLD_SIZE"] = os.environ["SLURM_NTASKS_PER_NODE"]
#     os.environ["MASTER_ADDR"] = first_host
#     os.environ["MASTER_PORT"] = str(20000 + int(os.environ["SLURM_JOB_ID"]) % 10000)
#     return setup()
# ```
#
# This is here to read and to take with you; it is not graded.
#
# </details>
#
# ## 2. Share the sentences
#
# In an [epoch](GLOSSARY.md#epoch) the ranks together go through all pairs, and each takes its own share: its
# [shard](GLOSSARY.md#shard). Lab 06 had you write the [sampler](GLOSSARY.md#sampler) that deals them out. Here
# you use PyTorch's, `torch.utils.data.DistributedSampler`. Like yours, it repeats some pairs where the ranks cannot
# share them evenly, so that all ranks make equally many steps.

# %% todo="make_loader"
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def make_loader(pairs, batch_size: int, seed: int) -> DataLoader:
    """A loader of this rank's share of `pairs`, in batches (src, tgt_in, tgt_out).

    pairs: a list of (source ids, target ids), the same on all ranks. batch_size: pairs
    in a batch of *one* rank; the last batch of an epoch may be smaller. The batches are
    made by the given function `collate`.

    `loader.sampler` is a DistributedSampler for the ranks of the default process group,
    which has been started. It shuffles with `seed`, differently after each
    `loader.sampler.set_epoch(epoch)`. Where the ranks cannot share the pairs evenly, it
    repeats some; it drops none.

    Example: 4 ranks, 10 pairs, batch_size 2: each rank draws 3 pairs, in batches of 2
    and 1.
    """
    ### BEGIN SOLUTION
    sampler = DistributedSampler(pairs, shuffle=True, seed=seed)
    return DataLoader(pairs, batch_size, sampler=sampler, collate_fn=collate)
    ### END SOLUTION


# %% check="make_loader"
check("make_loader")

# %% [markdown]
# ## 3. One model on all ranks
#
# `torch.nn.parallel.DistributedDataParallel` is a module around your module: a *wrapper*. You call it like the model
# itself; the model is inside, as `wrapper.module`. The wrapper communicates three times:
#
# 1. When it is made, it sends rank 0's parameters and [buffers](GLOSSARY.md#buffer) (tensors of a module that are
#    not trained, such as BatchNorm's running statistics) to all ranks. From then on they have one model.
# 2. In each backward pass it averages the gradients over the ranks. With $g_r$ for the gradient that rank $r$ of $N$
#    has computed itself, what it leaves in `.grad`, on every rank, is
#
#    $$\bar g = \frac{1}{N} \sum_{r=0}^{N-1} g_r .$$
#
#    It does not wait for the end of the backward pass: it packs gradients into [buckets](GLOSSARY.md#bucket) of some
#    megabytes, and sends a bucket as soon as all gradients in it are there, while the others are still being computed.
# 3. If the model has buffers, it [broadcasts](GLOSSARY.md#broadcast) rank 0's, that is, sends them to all ranks,
#    before each forward pass.

# %% todo="parallelize"
import torch
from torch.nn.parallel import DistributedDataParallel


def parallelize(
    model: torch.nn.Module,
    device: torch.device,
) -> DistributedDataParallel:
    """Move `model` to `device`, and wrap it in DistributedDataParallel.

    device: as `setup` returns it. On a GPU, `device_ids` is a list with this device
    alone (or with its number alone). On the CPU there are no `device_ids`: leave them
    out, or pass None. All other options keep their defaults, so the wrapper is for the
    default process group.
    """
    ### BEGIN SOLUTION
    model.to(device)
    ids = [device] if device.type == "cuda" else None
    return DistributedDataParallel(model, device_ids=ids)
    ### END SOLUTION


# %% check="parallelize"
check("parallelize")

# %% [markdown]
# ## 4. One step
#
# The gradient that all ranks have to step with is that of the loss $L$ above:
#
# $$g = \nabla L = \frac{\sum_{r,m} \nabla \ell_{r,m}}{\sum_{r,m} T_{r,m}} .$$
#
# You come to it in three parts: one rank and one micro-batch; several micro-batches; several ranks.
#
# ### 4a. One rank, one micro-batch
#
# With a single micro-batch on a single rank there is one $\ell$ and one $T$, and $g = \nabla \ell / T$. The model is
# not wrapped, and nobody communicates: this is an ordinary training step, with a loss that is a sum.

# %% todo="one_rank_step"
import torch


def one_rank_step(model, batch, optimizer, loss_fn) -> float:
    """One step of `optimizer` with the gradient of the batch's mean loss per token.

    model: a Transformer, not wrapped, in any mode; it is in train mode for the step.
    batch: (src, tgt_in, tgt_out) on the CPU. Move them to the device of the model's
    parameters (`next(model.parameters()).device`) by `.to(device)`.
    loss_fn(logits, tgt_out): the *sum* of the losses of the tokens that are not PAD.

    Start from zero: discard whatever `.grad` holds. Returns the mean loss per token as
    it was before the step, as a float.

    Example: if loss_fn gives 12.0 for a tgt_out of [[5, 7, 2], [9, 2, PAD]], there are
    5 tokens, and the function returns 2.4.
    """
    ### BEGIN SOLUTION
    device = next(model.parameters()).device
    src, tgt_in, tgt_out = (tensor.to(device) for tensor in batch)
    model.train()
    optimizer.zero_grad()
    loss = loss_fn(model(src, tgt_in), tgt_out) / (tgt_out != PAD).sum()
    loss.backward()
    optimizer.step()
    return loss.item()
    ### END SOLUTION


# %% check="one_rank_step"
check("one_rank_step")

# %% [markdown]
# ### 4b. Several micro-batches, one synchronisation
#
# A batch that does not fit into memory comes as micro-batches. Each runs forward and backward before the next one
# begins, and their gradients add up in `.grad`, as in lab 01. But every backward pass through the wrapper would send
# all gradients over the network, and only the last sum is needed. Inside `with model.no_sync():` the wrapper does not
# average. Read the warning in [its
# documentation](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html) before
# you start: it says what has to be inside the context. `contextlib.nullcontext()` is a context that does nothing.
#
# After the last micro-batch, the wrapper leaves in `.grad`, on each rank,
#
# $$\bar g = \frac{1}{N} \sum_r g_r \quad\text{with}\quad g_r = \sum_m \nabla \ell_{r,m} .$$
#
# This function stops there. Nothing is divided by tokens yet: no rank knows how many the others have.

# %% todo="accumulate_gradients"
from contextlib import nullcontext

import torch


def accumulate_gradients(model, micro_batches, loss_fn) -> tuple[float, int]:
    """Run all micro-batches forward and backward; synchronise their gradients once.

    model: the DistributedDataParallel, in train mode. Nothing is in its `.grad`: there
    is no need to discard anything.
    micro_batches: a list of (src, tgt_in, tgt_out) on the CPU, as many on each rank.
    Move them to the device of the model's parameters by `.to(device)`. loss_fn: the sum
    over the tokens that are not PAD.

    Each micro-batch goes forward and backward before the next one goes forward. The
    backward pass of the last one, and no other, synchronises the gradients; the ranks
    communicate nothing else. Afterwards `.grad` is the average over the ranks of their
    gradients of the *summed* loss. There is no optimizer step.

    Leave the list as it is. Returns two numbers of *this* rank (tensors of one number
    will do), without a graph for gradients: its summed loss, and its number of tokens
    that are not PAD, both over all its micro-batches. Example: with losses 12.0 and 8.0
    of 5 and 3 tokens, (20.0, 8).
    """
    ### BEGIN SOLUTION
    device, loss, tokens = next(model.parameters()).device, 0.0, 0
    for left, batch in enumerate(micro_batches, 1 - len(micro_batches)):
        src, tgt_in, tgt_out = (tensor.to(device) for tensor in batch)
        with model.no_sync() if left else nullcontext():
            part = loss_fn(model(src, tgt_in), tgt_out)
            part.backward()
        loss += part.item()
        tokens += int((tgt_out != PAD).sum())
    return loss, tokens
    ### END SOLUTION


# %% check="accumulate_gradients"
check("accumulate_gradients")

# %% [markdown]
# ### 4c. Several ranks
#
# Now all together. The ranks have $\bar g$, and need $g$. Compare the two formulas: by which factor do they differ, and
# which number in it does a rank not know by itself? One small all-reduce settles it. The gradients have to be right
# when `optimizer.step` is called, not earlier: you may scale them after the last backward pass.

# %% todo="train_step"
import torch
import torch.distributed as dist


def train_step(model, micro_batches, optimizer, loss_fn) -> float:
    """One step of `optimizer` with the gradient of all ranks' mean loss per token.

    model: the DistributedDataParallel, in any mode; it is in train mode for the step.
    micro_batches, loss_fn: as for `accumulate_gradients`, which you may call: the check
    has a right one. If you do not call it, keep its promises here.

    The step's gradient is that of L: the sum of all losses, divided by the number of
    all tokens that are not PAD, over all micro-batches of all ranks. Start from zero:
    discard whatever `.grad` holds. Some parameters may be frozen: their `.grad` is
    None. The gradients cross the network once. Besides, the ranks may make up to two
    all-reduces of up to 8 numbers each.

    Returns L as it was before the step: the same float on all ranks. Example: with
    losses 20.0 and 10.0 and 8 and 4 tokens on two ranks, both return 2.5.
    """
    ### BEGIN SOLUTION
    model.train()
    optimizer.zero_grad()
    totals = accumulate_gradients(model, micro_batches, loss_fn)
    device = next(model.parameters()).device
    totals = torch.tensor(totals, dtype=torch.float64, device=device)
    dist.all_reduce(totals)
    loss, tokens = totals.tolist()
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad *= dist.get_world_size() / tokens
    optimizer.step()
    return loss / tokens
    ### END SOLUTION


# %% check="train_step"
check("train_step")

# %% [markdown]
# How often do the gradients cross the network? Five steps of four micro-batches each, with `no_sync` as you use it,
# and with a `no_sync` that does nothing:

# %% folded=true
# Counts and draws the all-reduces of five steps, with and without no_sync.
import time
from contextlib import nullcontext

from course.figures.ranks.synchronisation import all_reduces_picture, overlap_picture
from course.watch.ddp_buckets import record_buckets


def first_steps(pairs, vocabulary: int, no_sync: bool, d_model: int) -> list[dict]:
    """Five steps of four micro-batches: the buckets that rank 0 sends, in seconds.

    Of each step: `buckets`, and `backward`, when its last backward pass begins.
    """
    device = setup()
    model = parallelize(build_model(vocabulary, d_model=d_model), device)
    began = time.perf_counter()
    buckets, backward = record_buckets(model), []

    def timed(logits, tgt_out):
        loss = loss_fn(logits, tgt_out)
        backward.append(time.perf_counter() - began)
        return loss

    if not no_sync:
        model.no_sync = nullcontext
    optimizer, steps = build_optimizer(model), []
    own = iter(make_loader(pairs, 8, seed=0))
    for _ in range(5):
        first = len(buckets)
        train_step(model, [next(own) for _ in range(4)], optimizer, timed)
        steps.append({"backward": backward[-1], "buckets": buckets[first:]})
    return steps


STEP = ("setup", "make_loader", "parallelize", "accumulate_gradients", "train_step")
with needs(*STEP):
    given = [pair for pair in pairs if len(pair[1]) <= 20][:800], len(tokenizer)
    always = world.run(first_steps, *given, False, 64, deadline=60)[0]
    once = world.run(first_steps, *given, True, 64, deadline=60)[0]
    counts = {"without no_sync": always, "your train_step": once}
    bars = {name: [len(step["buckets"]) for step in counts[name]] for name in counts}
    display(all_reduces_picture(bars))

# %% [markdown]
# The same gradients, the same model afterwards, and a fraction of the traffic. And when does a bucket travel? Here is
# the last backward pass of a step, on rank 0 and with a larger model: in the first step, and in the fastest of the
# others. (The machine does other things, too, and four ranks may have to share two cores.)

# %% folded=true
# Draws when the buckets are sent, beside the backward pass.
with needs(*STEP):
    steps = world.run(first_steps, *given, True, 128, deadline=60)[0]
    seconds = [step["buckets"][-1]["end"] - step["backward"] for step in steps]
    best = min(range(1, 5), key=seconds.__getitem__)
    display(overlap_picture({"step 1": steps[0], f"step {best + 1}": steps[best]}))

# %% [markdown]
# In the first step, DistributedDataParallel does not know yet in which order the gradients become ready: it sends them
# all in one bucket, at the end. From the second step on it has cut new buckets in that order. The first one is small,
# so that the network has something to do early; it is on its way while the rest is still being computed.
#
# ## 5. Write a checkpoint
#
# Long trainings get killed: by a time limit, by a node that runs out of memory, by you. So they write all that is
# needed to go on (the model's and the optimizer's [state dict](GLOSSARY.md#state-dict), and the epoch) to a file,
# again and again. What if the kill comes in the middle of writing? Then half of a new file has replaced a whole old
# one, and both are lost. So a checkpoint is never written in place. The module `os` has a call that puts one file in
# the place of another in one atomic step: no kill leaves half of it. Find it in the
# [documentation of `os`](https://docs.python.org/3/library/os.html#files-and-directories). And what becomes of the
# temporary file of a call that was killed? If its name is always the same, the next call overwrites it.
#
# (This is about processes that are killed. To survive a power failure, too, the new file's content has to reach the
# disk before it takes the old one's place: that needs `os.fsync`, and is not asked for here.)

# %% todo="save_checkpoint"
import os

import torch
import torch.distributed as dist


def save_checkpoint(path: str, model, optimizer, epoch: int) -> None:
    """Write the state of the training to the file `path`. All ranks call this.

    model: the DistributedDataParallel. epoch: the last finished one, counted from 0.
    The file holds {"model": the state dict of the model inside the wrapper (names
    without "module."), "optimizer": its state dict, "epoch": epoch}, and
    torch.load(path, weights_only=True) can read it.

    Only rank 0 writes. No rank returns before the new file is in place. Whenever a
    process is killed, `path` is the whole old file or the whole new one. So write to a
    temporary file first, in the folder of `path` or in a temporary folder in it: from
    another disk, a file cannot be moved in one step. After each call no temporary file
    or folder is left, not even one from an earlier call for this path that was killed.
    Other files in the folder stay as they are.
    """
    ### BEGIN SOLUTION
    if dist.get_rank() == 0:
        state = {"model": model.module.state_dict(), "epoch": epoch}
        state["optimizer"] = optimizer.state_dict()
        torch.save(state, f"{path}.part")
        os.replace(f"{path}.part", path)
    dist.barrier()
    ### END SOLUTION


# %% check="save_checkpoint"
check("save_checkpoint")

# %% [markdown]
# ## 6. Go on from a checkpoint
#
# A training that was killed is started again by the same command. So the program has to find out by itself where it
# stands: if there is a checkpoint, it goes on from it; if there is none, it begins with epoch 0. Three things to watch:
#
# - *Every* rank loads. DistributedDataParallel sends rank 0's weights around when it wraps a model, not later.
# - A tensor remembers the device that it was saved from. `torch.load` would put rank 0's GPU tensors on that GPU, for
#   all ranks: `map_location` says where they should go.
# - A file that does not fit must end the training with an error. If it were ignored, training would begin anew, and its
#   first checkpoint would overwrite the file.

# %% todo="load_checkpoint"
import os

import torch


def load_checkpoint(path: str, model, optimizer, device: torch.device) -> int:
    """Load what `save_checkpoint` wrote; return the number of the next epoch to train.

    All ranks call this, and all see the file. model: the DistributedDataParallel, on
    `device`. If there is no file `path`, change nothing and return 0. After a file with
    epoch 4, return 5.

    A file that is damaged, that lacks one of the three entries, or whose weights do not
    have exactly this model's names, is an error on every rank: any exception whose
    message contains the file's name (`path`, or its last part). By then the model may
    have been changed. After a good file, `optimizer.step` goes on to move `model`.
    """
    ### BEGIN SOLUTION
    if not os.path.exists(path):
        return 0
    try:
        state = torch.load(path, map_location=device, weights_only=True)
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        return state["epoch"] + 1
    except Exception as error:
        raise ValueError(f"{path} does not fit this training: {error!r}") from error
    ### END SOLUTION


# %% check="load_checkpoint"
check("load_checkpoint")

# %% [markdown]
# ## 7. Validate
#
# In training, a few sentences that are drawn twice do no harm. A result that you report has to count each sentence
# once. So for validation each rank takes every fourth sentence, and nothing is repeated: one rank may have one batch
# fewer than another, or none. Two hints. If the model has buffers, each forward pass through the wrapper is a
# [collective](GLOSSARY.md#collective) (section 3), so all ranks must make the same number of forward passes. And a rank
# without batches still has to take part in what the others do.

# %% todo="validate"
import torch
import torch.distributed as dist


def validate(model, loader, loss_fn) -> float:
    """The mean loss per token over all batches of all ranks: the same float on each.

    model: the DistributedDataParallel, in any mode; it may have buffers, which are the
    same on all ranks. loader: yields this rank's own batches (src, tgt_in, tgt_out) on
    the CPU. Ranks may have different numbers of batches; some may have none, but not
    all. Move them to the device of the model's parameters by `.to(device)`. loss_fn:
    the sum over the tokens that are not PAD.

    Evaluate in eval mode, without a graph for gradients. Then leave everything as you
    found it: the mode (`model.training`, which all modules in it have), parameters,
    buffers, gradients, and whether torch records gradients.

    Example: rank 0 has losses 6.0 and 4.0 of 3 and 2 tokens, rank 1 has no batch: both
    return 2.0.
    """
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    totals = torch.zeros(2, dtype=torch.float64, device=device)  # loss, tokens
    with torch.no_grad():
        for batch in loader:
            src, tgt_in, tgt_out = (tensor.to(device) for tensor in batch)
            totals[0] += loss_fn(model.module(src, tgt_in), tgt_out)
            totals[1] += (tgt_out != PAD).sum()
    dist.all_reduce(totals)
    model.train(was_training)
    return (totals[0] / totals[1]).item()
    ### END SOLUTION


# %% check="validate"
check("validate")

# %% [markdown]
# ## 8. The whole training
#
# All parts are there. `train` runs the epochs that are not done yet. In each, it tells the sampler the epoch (what
# happens without that was the subject of lab 06) and writes a checkpoint at the end. For each step it takes the next
# `accumulate` micro-batches from the loader: an epoch of $B$ batches has $\lceil B / \text{accumulate} \rceil$ steps.
# Leftovers form a smaller last step. They are not kept for the next epoch, since the checkpoint would not contain them.


# %% todo="train"
def train(
    model,
    loader,
    optimizer,
    loss_fn,
    epochs: int,
    accumulate: int,
    checkpoint: str,
) -> list[float]:
    """Train the epochs 0, ..., epochs - 1, except those that the checkpoint covers.

    model: the DistributedDataParallel. loader: as `make_loader` returns it; tell its
    sampler the number of each epoch before the epoch begins. accumulate: micro-batches
    in a step; the last step of an epoch takes what is left. checkpoint: path of a file;
    if it is there, go on from it. Write it after all steps of each epoch.

    Returns the loss of each step of this call, in order, as `train_step` gives it.
    Example: if the file says that epochs 0 and 1 are done, and epochs is 3, only epoch
    2 is trained and its losses are returned; if epochs is 2, none is: [].

    You may call `train_step`, `save_checkpoint` and `load_checkpoint`, whose `device`
    is that of the model's parameters: the check has right ones.
    """
    ### BEGIN SOLUTION
    device = next(model.parameters()).device
    losses = []
    done = load_checkpoint(checkpoint, model, optimizer, device)
    for epoch in range(done, epochs):
        loader.sampler.set_epoch(epoch)
        batches = list(loader)
        for start in range(0, len(batches), accumulate):
            step = batches[start : start + accumulate]
            losses.append(train_step(model, step, optimizer, loss_fn))
        save_checkpoint(checkpoint, model, optimizer, epoch)
    return losses
    ### END SOLUTION


# %% check="train"
check("train")

# %% [markdown]
# ## Train it
#
# Now for real, on four ranks. Long sentences make long batches, mostly of padding, so this short training leaves them
# out. Every rank builds a model from a [seed](GLOSSARY.md#seed) of its own, and yet they train one. (Which line of
# yours sees to that?) This is what each rank does, in your functions:


# %%
def training(pairs, held_out, vocabulary, epochs, checkpoint, notes=None) -> dict:
    """All your functions together, on one rank. notes: the file for rank 0's losses."""
    device = setup()
    rank, size = dist.get_rank(), dist.get_world_size()
    model = parallelize(build_model(vocabulary, seed=rank, layers=1), device)
    optimizer = build_optimizer(model)
    loader = make_loader(pairs, batch_size=8, seed=1)
    test = DataLoader(held_out[rank::size], batch_size=16, collate_fn=collate)
    before = validate(model, test, loss_fn)
    noted = noting(loss_fn, notes) if notes and rank == 0 else loss_fn
    losses = train(model, loader, optimizer, noted, epochs, 2, checkpoint)
    return {"before": before, "losses": losses, "after": validate(model, test, loss_fn)}


# %% [markdown]
# The folded cell calls it on all ranks. The curve shows rank 0's part of the loss while the ranks train.


# %% folded=true
# Trains on the ranks, draws the loss, and puts it on record.
def short(pairs: list) -> list[int]:
    """Numbers of the pairs that have at most 8 tokens on either side, with EOS."""
    return [number for number, pair in enumerate(pairs) if pair_length(pair) <= 8]


def by_epoch(losses: list[float], epochs: int, seconds: float) -> list[dict]:
    """The mean loss of each epoch's steps, as `record` takes it."""
    means = torch.tensor(losses).view(epochs, -1).mean(1).tolist()
    each = {"seconds": seconds / epochs}
    return [{"epoch": epoch, "loss": loss, **each} for epoch, loss in enumerate(means)]


EPOCHS = 4
trained_on, unseen = [pairs[number] for number in short(pairs)], short(held_out)[:100]
folder = tempfile.TemporaryDirectory()
checkpoint, notes = f"{folder.name}/translator.pt", f"{folder.name}/losses"
trained = None
TEN = ("setup", "make_loader", "parallelize", "one_rank_step", "accumulate_gradients")
TEN += ("train_step", "save_checkpoint", "load_checkpoint", "validate", "train")
with needs(*TEN):
    tests = [held_out[number] for number in unseen]
    given = (trained_on, tests, len(tokenizer), EPOCHS, checkpoint, notes)
    steps = EPOCHS * -(-len(trained_on) // (2 * 8 * world.size))
    began = time.monotonic()
    with LiveLoss(notes, steps, micro_batches=2):
        seen = world.run(training, *given, deadline=300)[0]
    seconds, steps = time.monotonic() - began, len(seen["losses"])
    trained = build_model(len(tokenizer), layers=1)
    weights = torch.load(checkpoint, weights_only=True, map_location="cpu")["model"]
    trained.load_state_dict(weights)
    marks = {"held out, before": (0, seen["before"])}
    marks["held out, after"] = steps, seen["after"]
    runs = {"training": seen["losses"]}
    display(training_steps_picture(runs, steps // EPOCHS, marks))
    history = by_epoch(seen["losses"], EPOCHS, seconds)
    record("train", world, history, len(trained_on), sentences.fingerprint)

# %% [markdown]
# What does it make of sentences that it has never seen? In a wrong translation, letters that should not be there are
# underlined, and missing ones are struck through.

# %% folded=true
# Shows translations of sentences that the model has never seen.
from course.lab.figures.translations import TranslationTable, typical
from course.models.translator.scores import score
from course.models.translator.translation import translate

if trained is None:
    print("Here come translations by your model, once the cell above has trained it.")
else:
    tests = [sentences.held_out[number] for number in unseen]
    english, italian = zip(*tests, strict=True)
    after = translate(trained, tokenizer, english)
    print(f"Of {len(unseen)} held-out sentences: {score(after, italian)}")
    shown = typical(after, italian, count=8)
    columns = [[of[number] for number in shown] for of in (english, italian, after)]
    before = translate(model, tokenizer, columns[0])
    display(TranslationTable(columns[0], columns[1], before, columns[2]))

# %% [markdown]
# Where does the model look while it writes? For each token that it writes, its *attention* gives each token of the
# English sentence a weight, and the weights add up to 1. Here is that of its last layer, for one sentence:

# %% folded=true
# Draws the attention of your model for one sentence.
from course.lab.figures.attention import attention_picture
from course.models.translator.transformer import cross_attention

if trained is None:
    print("Here comes a picture of your model's attention, once it has been trained.")
else:
    source, target = min(held_out, key=lambda pair: abs(len(pair[0]) - 7))
    src, tgt_in, tgt_out = collate([(source, target)])
    attention = cross_attention(trained, src, tgt_in)[0]
    words = [tokenizer.pieces(ids[0].tolist()) for ids in (src, tgt_out)]
    display(attention_picture(attention, *words, "Cross-attention of the last layer"))

# %% [markdown]
# **On a cluster**, `sbatch run.sh` runs this notebook on all ranks of a job, and puts the losses on record.
# `LAUNCHER=torchrun sbatch run.sh` trains without a notebook, the way training scripts are run:
# [torchrun](GLOSSARY.md#torchrun) starts the ranks, and each calls this function.


# %%
def batch_training(comm, epochs: int, checkpoint: str) -> dict:
    """`training` on this rank's own copy of the sentences, as `record` takes it."""
    sentences, tokenizer, *sets = encoded()
    chosen, tests = ([of[number] for number in short(of)] for of in sets)
    began = time.monotonic()
    given = (chosen, tests[:100], len(tokenizer), epochs, checkpoint)
    losses = training(*given)["losses"]
    history = by_epoch(losses, epochs, time.monotonic() - began)
    about = {"samples": len(chosen), "data": sentences.fingerprint}
    return {"todo": "train", "history": history, **about}


# %% [markdown]
# ## A kill, and a resume
#
# Three epochs with 160 sentences. Then the same training again, but in the middle of the second epoch the last rank
# kills itself (`kill -9`): it has no chance to clean up, and its partners wait in vain until the world ends them and
# starts four new ranks. Then the very same call once more.

# %% folded=true
# Kills a rank in the middle of a training, resumes, and draws the losses.
import os
import signal
from pathlib import Path

from course.lab.figures.kill_and_resume import kill_and_resume_picture
from course.lab.models.noted_losses import noted_losses


def killing(loss_fn, kill_at: int):
    """`loss_fn`, which kills this process in its call number `kill_at`."""
    calls = []

    def loss(logits, tgt_out):
        calls.append(1)
        if len(calls) == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return loss_fn(logits, tgt_out)

    return loss


def short_training(pairs, vocabulary, checkpoint, notes, kill_at=0) -> int:
    """Three epochs of four steps; the last rank dies at micro-batch `kill_at`."""
    device = setup()
    rank, size = dist.get_rank(), dist.get_world_size()
    model = parallelize(build_model(vocabulary, seed=0, layers=1), device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    loader = make_loader(pairs, batch_size=20 // size, seed=1)
    own = noting(loss_fn, notes) if rank == 0 else loss_fn
    own = killing(own, kill_at) if rank == size - 1 else own
    return len(train(model, loader, optimizer, own, 3, 2, checkpoint))


def weights_in(path: str) -> torch.Tensor:
    """All weights of a checkpoint in a row."""
    state = torch.load(path, weights_only=True, map_location="cpu")["model"]
    return torch.cat([values.flatten() for values in state.values()])


with needs(*TEN):
    for size in (2, 4):
        given = (trained_on[:160], len(tokenizer))
        whole, killed = f"{folder.name}/whole-{size}", f"{folder.name}/killed-{size}"
        files = [f"{folder.name}/losses-{size}-{name}" for name in "abc"]
        [steps, *_] = world.run(short_training, *given, whole, files[0], size=size)
        # The last rank dies at its 13th micro-batch: step 3 of the second epoch begins.
        attempt = world.attempt(short_training, *given, killed, files[1], 13, size=size)
        last = attempt.ranks[-1].sentence(source=False)
        [again, *_] = world.run(short_training, *given, killed, files[2], size=size)
        differ = float((weights_in(whole) - weights_in(killed)).abs().max())
        print(f"Training on {size} ranks: rank {size - 1} {last}.")
        print(f"  undisturbed {steps} steps; after the kill, {again} steps more")
        print(f"  weights at the end differ by at most {differ:.1e}")
    print("Files:", *sorted(path.name for path in Path(folder.name).glob("killed-*")))
    display(kill_and_resume_picture(*[noted_losses(file, 2) for file in files], 4))

# %% [markdown]
# The steps after the last checkpoint are lost, and made once more, with the same losses. So the number of steps between
# two checkpoints is what a kill may cost you.
#
# On two ranks nothing differs, bit for bit. On four, the last digits may: DistributedDataParallel cuts new buckets
# after its first step, and the sum of four numbers depends on the order in which they are added. A process that starts
# afresh makes its first step with the first buckets. $a + b$ is $b + a$, but $(a + b) + c$ is not $a + (b + c)$.
#
# ## Padding
#
# A batch is padded to its longest sentence. Batch sentences of similar length together, and there is little padding.
# `course/models/translator/bucketing.py` does that.

# %% folded=true
# Draws how much of each batch is padding.
from course.lab.figures.padding import padding_picture
from course.models.translator.bucketing import BucketingSampler, padding_shares

generator = torch.Generator().manual_seed(0)
drawn = torch.randperm(len(pairs), generator=generator).split(32)
lengths = [pair_length(pair) for pair in pairs]
bucketed = list(BucketingSampler(lengths, tokens=32 * 24, sentences=128))
padding_picture(
    {
        "in random order": padding_shares(pairs, [each.tolist() for each in drawn]),
        "by length": padding_shares(pairs, bucketed),
    }
)

# %% [markdown]
# ## What you saw
#
# - Ten functions make a training script for any number of ranks. What they compute is what one process computes.
# - Unequal numbers of tokens are the rule, and a mean of means is not the mean. One small all-reduce settles it.
#
# Can you answer these without looking?
#
# <details><summary>By which factor do the ranks have to scale what the wrapper leaves in <code>.grad</code>?</summary>
#
# By $N / \sum_{r,m} T_{r,m}$: the number of ranks undoes the average, and the number of all tokens makes the sum a
# mean.
#
# </details>
# <details><summary>What has to be inside <code>no_sync</code>, and why?</summary>
#
# Forward *and* backward: DistributedDataParallel decides in the forward pass whether the backward pass will
# synchronise.
#
# </details>
# <details><summary>Why can a checkpoint never be half a file?</summary>
#
# Because it is never written in place: a whole file replaces it in one step.
#
# </details>
# <details><summary>Why does <code>validate</code> hang with some models if it calls the wrapper?</summary>
#
# The wrapper broadcasts buffers in each forward pass, and the ranks make different numbers of them. The model inside,
# `model.module`, communicates nothing.
#
# </details>
#
# ## Two questions
#
# They count no points. The first answer is a number: write it in place of `None`, and run the cell to hear whether it
# is right. The second answer is a text: double-click the cell, write a few sentences, and run it. Your instructor reads
# it. Both are handed in.
#
# **1. Made twice.** Look at the run on four ranks in "A kill, and a resume". How many steps were finished before the
# kill and had to be made once more after it?

# %% answer="steps_made_twice"
check.answer("steps_made_twice", None)

# %% [markdown]
# **2. Bytes, and steps.** A step makes two all-reduces: one of the gradients, one of two numbers. How many bytes of
# gradients does each rank hand over in an epoch of the training above, and how many would it be without `no_sync`? Take
# the number of weights (4 bytes each) and the number of steps. Then train with 8 micro-batches in a step instead of 2
# (change the 2 in `training`, and for the picture the two in the folded cell below it):
# what happens to the bytes, and what to the loss after the same number of epochs? Why?

# %% [markdown] answer="bytes_and_steps"
# With the sentences that the kit brings: 243 136 weights of 4 bytes, and 41 steps in an epoch, make 40 MB; without
# `no_sync` each step sends them twice, 80 MB. With 8 micro-batches there are 11 steps in an epoch, so 11 MB. But the
# model has made 44 steps instead of 164, each as long as before, and has learnt less: after four epochs the held-out
# loss is about 2.1, not 0.4. Fewer, larger batches save traffic; to learn as much they need a larger learning rate or
# more epochs, as lab 07 showed.
