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
# - train one model on any number of ranks with DistributedDataParallel, and show that it is the *same* training,
# - accumulate gradients over micro-batches of unequal length, with one synchronisation a step,
# - write a checkpoint that survives a kill at any moment, and go on from it,
# - validate exactly, however few batches a rank has.
#
# A small encoder-decoder translates English to Italian. The model, its tokenizer and its decoding are given. To spread
# its training over the ranks is your work: eight functions, which are most of a real training script.

# %%
import os
import signal
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from IPython.display import display
from torch.utils.data import DataLoader

from autograde.notebook import Checker, needs
from course.batch.record import record
from course.data import sentence_pairs
from course.figures.data.micro_batches import micro_batches_picture
from course.figures.data.padding import padding_picture
from course.figures.ranks.synchronisation import all_reduces_picture, bytes_picture
from course.figures.training.attention import attention_picture
from course.figures.training.training_steps import training_steps_picture
from course.figures.training.translations import TranslationTable
from course.models.bucketing import BucketingSampler, padding_shares, pair_length
from course.models.scores import score
from course.models.sentences import PAD, collate, loss_fn
from course.models.tokens import train_tokenizer
from course.models.transformer import cross_attention
from course.models.translation import build_model, build_optimizer, translate
from course.watch.ddp_buckets import record_buckets
from course.world import World

world = World(4)
check = Checker("checks", world)

# %%
sentences = sentence_pairs()
tokenizer = train_tokenizer(text for pair in sentences.train for text in pair)
pairs, held_out = tokenizer.encode_pairs(sentences.train), tokenizer.encode_pairs(sentences.held_out)


def targets(rank: int, number: int) -> torch.Tensor:
    """tgt_out of a micro-batch of 8 pairs, as 4 ranks might draw them."""
    first = 8 * (3 * rank + number)
    return collate(pairs[first : first + 8])[2]


batches = [[targets(rank, number) for number in range(3)] for rank in range(4)]
micro_batches_picture(
    [[int((batch != PAD).sum()) for batch in own] for own in batches],
    [[batch.numel() for batch in own] for own in batches],
    "One step: 3 micro-batches on each of 4 ranks",
)

# %% [markdown]
# Every micro-batch here has 8 sentences, padded to its longest. How many *tokens* that makes is chance, and no rank has
# as many as another. The mean loss per token of the whole step is one number. The mean of the micro-batches' means is
# another, and so is the mean of the ranks' means: in those, a token counts more where there are few. Four ranks that
# take a wrong one agree perfectly. They just do not train as one process would, and no error says so.
#
# ## What is given

# %%
print(sentences.source)
for english, italian in sentences.train[:4]:
    print(f"  {english}\n    {italian}")
print(tokenizer)
print(tokenizer.pieces(pairs[1][0]), "->", tokenizer.pieces(pairs[1][1]))

src, tgt_in, tgt_out = collate([pairs[11], pairs[1]])
for name, batch in {"src": src, "tgt_in": tgt_in, "tgt_out": tgt_out}.items():
    print(f"{name:8}{batch[0].tolist()}\n        {batch[1].tolist()}")

model = build_model(len(tokenizer))
logits = model(src, tgt_in)
print(f"{sum(each.numel() for each in model.parameters())} weights; logits {list(logits.shape)}")
print(f"loss, summed over {int((tgt_out != PAD).sum())} tokens: {loss_fn(logits, tgt_out):.2f}")

# %% [markdown]
# `collate`, `loss_fn` and `PAD` are used by name in your cells below. The sum, not the mean, is what `loss_fn` gives:
# what it is to be divided by is for you to find. `course/models/transformer.py` is worth reading: 250 lines, and
# nothing in it knows of ranks.
#
# ## 1. Find each other
#
# In other labs the world started torch.distributed. Here you do, as a training script has to. Whoever starts the
# processes, be it `torchrun`, `srun` or this notebook, sets variables in the environment of each.

# %% todo="setup"
import os

import torch
import torch.distributed as dist


def setup() -> torch.device:
    """Start torch.distributed's default process group, and return the device that this rank computes on.

    All it needs is in the environment: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE (the number of ranks on this
    node), MASTER_ADDR and MASTER_PORT. Where each rank of the node has a GPU of its own: the backend "nccl", and the
    GPU with the number of the *local* rank, which is made the current one. Else: "gloo", and the CPU.
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
# ## 2. Share the sentences
#
# What a rank does not draw in an epoch, others draw. What is drawn twice, counts twice.

# %% todo="make_loader"
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def make_loader(pairs, batch_size: int, seed: int) -> DataLoader:
    """This rank's share of `pairs` in batches, for the ranks of the default process group, which is there already.

    pairs: a list of (source ids, target ids), the same on all ranks. batch_size: pairs in a batch of *one* rank; the
    last batch may be smaller. `loader.sampler` is a DistributedSampler that shuffles with `seed`, anew for each
    `loader.sampler.set_epoch(epoch)`; it repeats pairs where the ranks cannot share them evenly, and drops none. The
    batches are made by the given `collate(pairs) -> (src [B, S], tgt_in [B, T], tgt_out [B, T])`.
    """
    ### BEGIN SOLUTION
    sampler = DistributedSampler(pairs, shuffle=True, seed=seed)
    return DataLoader(pairs, batch_size=batch_size, sampler=sampler, collate_fn=collate)
    ### END SOLUTION


# %% check="make_loader"
check("make_loader")

# %% [markdown]
# ## 3. One model on all ranks
#
# DistributedDataParallel is a module around your module. When it is made, it sends rank 0's weights to all. In every
# backward pass, it averages the gradients over the ranks, bucket by bucket, while the rest is still being computed.

# %% todo="parallelize"
from torch.nn.parallel import DistributedDataParallel


def parallelize(model: torch.nn.Module, device: torch.device) -> DistributedDataParallel:
    """`model`, moved to `device` and wrapped in DistributedDataParallel, for the default process group.

    device: what `setup` returns. Where it is a GPU, `device_ids` holds it alone; on the CPU there are no `device_ids`.
    All other options stay as they are by default.
    """
    ### BEGIN SOLUTION
    model.to(device)
    return DistributedDataParallel(model, device_ids=[device] if device.type == "cuda" else None)
    ### END SOLUTION


# %% check="parallelize"
check("parallelize")

# %% [markdown]
# ## 4. One step
#
# A batch too large for the memory comes as micro-batches, whose gradients add up in `.grad`. Only the sum has to cross
# the network. `model.no_sync()` is a context in which DistributedDataParallel does not average; look up in its
# documentation what has to happen inside.

# %% todo="train_step"
from contextlib import nullcontext

import torch
import torch.distributed as dist


def train_step(model, micro_batches, optimizer, loss_fn) -> float:
    """One step of `optimizer`, with the gradient of the mean loss per token of all micro-batches of all ranks.

    model: the DistributedDataParallel; model(src, tgt_in) gives logits [B, T, V]. micro_batches: a list of
    (src, tgt_in, tgt_out) on the CPU, equally many on each rank, of any lengths. loss_fn(logits, tgt_out) is the *sum*
    of the losses of the tokens in tgt_out that are not PAD.

    The gradient is that of the sum of all losses over the number of all those tokens, both over all micro-batches of
    all ranks; DistributedDataParallel *averages* the ranks' gradients. Each micro-batch runs forward and backward
    before the next begins, on the model's device; gradients are synchronised once, by the last one's backward. Besides,
    the ranks may make one or two all-reduces of a few numbers. What lies in `.grad` before does not count.

    The model is put into train mode. Returns the mean loss per token over all ranks, as it was before the step: on
    each rank the same float.
    """
    ### BEGIN SOLUTION
    model.train()
    optimizer.zero_grad()
    device = next(model.parameters()).device
    totals = torch.zeros(2, dtype=torch.float64, device=device)  # loss, tokens
    for left, (src, tgt_in, tgt_out) in enumerate(micro_batches, 1 - len(micro_batches)):
        with model.no_sync() if left else nullcontext():
            loss = loss_fn(model(src.to(device), tgt_in.to(device)), tgt_out.to(device))
            loss.backward()
        totals += torch.stack([loss.detach().double(), (tgt_out != PAD).sum().to(device)])
    dist.all_reduce(totals)
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad *= dist.get_world_size() / totals[1].item()
    optimizer.step()
    return (totals[0] / totals[1]).item()
    ### END SOLUTION


# %% check="train_step"
check("train_step")


# %%
def first_steps(settings: tuple, synchronise_always: bool, d_model: int = 64) -> list[list[int]]:
    """Bytes of each all-reduce of gradients, for each of three steps of four micro-batches."""
    pairs, vocabulary = settings
    device = setup()
    model = parallelize(build_model(vocabulary, d_model=d_model), device)
    buckets = record_buckets(model)
    if synchronise_always:
        model.no_sync = nullcontext  # a context that does nothing
    optimizer, steps = build_optimizer(model), []
    own = iter(make_loader(pairs, 8, seed=0))
    for _ in range(3):
        before = len(buckets)
        train_step(model, [next(own) for _ in range(4)], optimizer, loss_fn)
        steps.append([bucket["bytes"] for bucket in buckets[before:]])
    return steps


settings = (pairs[:400], len(tokenizer))
with needs("setup", "make_loader", "parallelize", "train_step"):
    always = world.run(first_steps, settings, True, deadline=60)[0]
    once = world.run(first_steps, settings, False, deadline=60)[0]
    counts = {"without no_sync": [*map(len, always)], "your train_step": [*map(len, once)]}
    display(all_reduces_picture(counts))

# %% [markdown]
# Same gradients, same model afterwards, a fourth of the traffic. And what is in an all-reduce? Here with a model of
# four times as many weights:

# %%
with needs("setup", "make_loader", "parallelize", "train_step"):
    display(bytes_picture(world.run(first_steps, settings, False, 128, deadline=60)[0]))

# %% [markdown]
# In the first step DistributedDataParallel does not know yet in which order gradients become ready. It sends all in one
# bucket, and cuts new ones after that: the first small, so that the network starts early.
#
# ## 5. Write it down
#
# Long runs die: a time limit, a full disk, a node. What is written must be whole at any moment.

# %% todo="save_checkpoint"
import os

import torch
import torch.distributed as dist


def save_checkpoint(path: str, model, optimizer, epoch: int) -> None:
    """Write the training's state to the file `path`: by rank 0 alone; all ranks return after it is there.

    model: the DistributedDataParallel. epoch: the last finished one, from 0. The file holds
    ``{"model": state dict of the model as it was before it was wrapped, "optimizer": state dict, "epoch": epoch}``, to
    be loaded by torch.load with weights_only=True. A crash at any moment leaves the old file or the new one, whole, and
    nothing else in its folder that lasts beyond the next call.
    """
    ### BEGIN SOLUTION
    if dist.get_rank() == 0:
        state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
        torch.save(state, f"{path}.part")
        os.replace(f"{path}.part", path)
    dist.barrier()
    ### END SOLUTION


# %% check="save_checkpoint"
check("save_checkpoint")

# %% [markdown]
# ## 6. Go on from there

# %% todo="load_checkpoint"
import os

import torch


def load_checkpoint(path: str, model, optimizer, device: torch.device) -> int:
    """Load what `save_checkpoint` wrote into `model` and `optimizer`, on each rank; return the epoch to go on with.

    model: the DistributedDataParallel, on `device`. path: visible to all ranks. Where there is no such file, nothing is
    loaded and 0 is returned. A file that is damaged, incomplete or another model's is an error, which names the file.
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
        raise ValueError(f"{path} is no checkpoint of this training: {error!r}") from error
    ### END SOLUTION


# %% check="load_checkpoint"
check("load_checkpoint")

# %% [markdown]
# ## 7. How good is it?
#
# For training, a few sentences drawn twice do no harm. A result that is to be reported counts each sentence once. So
# each rank takes every fourth sentence here, unpadded, and may have one batch less than another.

# %% todo="validate"
import torch
import torch.distributed as dist


def validate(model, loader, loss_fn) -> float:
    """The mean loss per token over all batches of all ranks, exactly; the same float on each rank.

    model: the DistributedDataParallel, with BatchNorm or without. loader: yields this rank's own batches
    (src, tgt_in, tgt_out) on the CPU; ranks may have different numbers of them, some none, but not all. loss_fn: the
    sum over the tokens that are not PAD, as in `train_step`.

    The model is in eval mode meanwhile, and afterwards in the mode in which it came; nothing else of it changes, and no
    graph for gradients is built.
    """
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    totals = torch.zeros(2, dtype=torch.float64, device=device)  # loss, tokens
    with torch.no_grad():
        for src, tgt_in, tgt_out in loader:
            loss = loss_fn(model.module(src.to(device), tgt_in.to(device)), tgt_out.to(device))
            totals += torch.stack([loss.double(), (tgt_out != PAD).sum().to(device)])
    dist.all_reduce(totals)
    model.train(was_training)
    return (totals[0] / totals[1]).item()
    ### END SOLUTION


# %% check="validate"
check("validate")

# %% [markdown]
# ## 8. The whole training


# %% todo="train"
def train(model, loader, optimizer, loss_fn, epochs: int, accumulate: int, checkpoint: str) -> list[float]:
    """Train up to epoch number `epochs`, counted from the very first run; return what `train_step` returned, in order.

    model: the DistributedDataParallel. loader: as from `make_loader`; its sampler is told each epoch, from 0.
    accumulate: micro-batches in a step; the last step of an epoch takes what is left. After each epoch a checkpoint is
    written to the file `checkpoint`; where that file is there at the start, training goes on from it. You may call
    `train_step`, `save_checkpoint` and `load_checkpoint`: the check has right ones.
    """
    ### BEGIN SOLUTION
    device = next(model.parameters()).device
    losses = []
    for epoch in range(load_checkpoint(checkpoint, model, optimizer, device), epochs):
        loader.sampler.set_epoch(epoch)
        batches = list(loader)
        for start in range(0, len(batches), accumulate):
            losses.append(train_step(model, batches[start : start + accumulate], optimizer, loss_fn))
        save_checkpoint(checkpoint, model, optimizer, epoch)
    return losses
    ### END SOLUTION


# %% check="train"
check("train")

# %% [markdown]
# Now for real. Long sentences make long batches, mostly of padding, so this quick training leaves them out.


# %%
def short(pairs: list) -> list[int]:
    """Numbers of the pairs that have at most 20 tokens."""
    return [number for number, pair in enumerate(pairs) if pair_length(pair) <= 20]


def training(pairs: list, held_out: list, vocabulary: int, epochs: int, checkpoint: str) -> dict:
    """All your functions together, on one rank."""
    device = setup()
    rank, size = dist.get_rank(), dist.get_world_size()
    model = parallelize(build_model(vocabulary, seed=rank), device)
    optimizer = build_optimizer(model)
    loader = make_loader(pairs, batch_size=8, seed=1)
    test = DataLoader(held_out[rank::size], batch_size=16, collate_fn=collate)
    before = validate(model, test, loss_fn)
    losses = train(model, loader, optimizer, loss_fn, epochs, accumulate=2, checkpoint=checkpoint)
    return {"before": before, "losses": losses, "after": validate(model, test, loss_fn)}


def by_epoch(losses: list[float], epochs: int, seconds: float) -> list[dict]:
    """The mean loss of each epoch's steps, as `record` takes it."""
    means = torch.tensor(losses).view(epochs, -1).mean(1).tolist()
    return [{"epoch": epoch, "loss": loss, "seconds": seconds / epochs} for epoch, loss in enumerate(means)]


EPOCHS = 4
chosen, unseen = [pairs[number] for number in short(pairs)], short(held_out)[:100]
folder = tempfile.TemporaryDirectory()
checkpoint = f"{folder.name}/translator.pt"
trained = None
eight = ("setup", "make_loader", "parallelize", "train_step", "save_checkpoint", "load_checkpoint", "validate", "train")
with needs(*eight):
    print(f"{EPOCHS} epochs of {len(chosen)} sentences on {world.size} ranks. On 2 cores this takes about 12 s.")
    began = time.monotonic()
    tests = [held_out[number] for number in unseen]
    seen = world.run(training, chosen, tests, len(tokenizer), EPOCHS, checkpoint, deadline=300)[0]
    steps, seconds = len(seen["losses"]), time.monotonic() - began
    print(f"{steps} steps in {seconds:.1f} s")
    trained = build_model(len(tokenizer))
    trained.load_state_dict(torch.load(checkpoint, weights_only=True, map_location="cpu")["model"])
    marks = {"held out, before": (0, seen["before"]), "held out, after": (steps, seen["after"])}
    display(training_steps_picture({"training": seen["losses"]}, steps // EPOCHS, marks))
    record("train", world, by_epoch(seen["losses"], EPOCHS, seconds), len(chosen), sentences.fingerprint)

# %% [markdown]
# Every rank made a model of its own, from its own seed, and yet they trained one. What does it make of sentences that
# it never saw?

# %%
if trained is not None:
    english, italian = zip(*[sentences.held_out[number] for number in unseen], strict=True)
    after = translate(trained, tokenizer, english)
    print(f"On {len(unseen)} sentences that were held out: {score(after, italian)}")
    before = translate(model, tokenizer, english[:6])
    display(TranslationTable(english[:6], italian[:6], before, after[:6]))

# %% [markdown]
# On a cluster, `sbatch run.sh` trains on all ranks of a job, and leaves the losses on record. `LAUNCHER=torchrun sbatch
# run.sh` does it without a notebook, as training scripts are run: torchrun starts the ranks, and each calls this.


# %%
def batch_training(comm, epochs: int, checkpoint: str) -> dict:
    """`training` on this rank's own copy of the sentences, as `record` takes it."""
    sentences = sentence_pairs()
    tokenizer = train_tokenizer(text for pair in sentences.train for text in pair)
    pairs, held_out = tokenizer.encode_pairs(sentences.train), tokenizer.encode_pairs(sentences.held_out)
    chosen, tests = ([of[number] for number in short(of)] for of in (pairs, held_out))
    began = time.monotonic()
    losses = training(chosen, tests[:100], len(tokenizer), epochs, checkpoint)["losses"]
    history = by_epoch(losses, epochs, time.monotonic() - began)
    return {"todo": "train", "history": history, "samples": len(chosen), "data": sentences.fingerprint}


# %% [markdown]
# Where does the model look, while it writes?

# %%
if trained is not None:
    source, target = min(held_out, key=lambda pair: abs(len(pair[0]) - 12))
    src, tgt_in, tgt_out = collate([(source, target)])
    weights = cross_attention(trained, src, tgt_in)[0]
    words = [tokenizer.pieces(ids[0].tolist()) for ids in (src, tgt_out)]
    display(attention_picture(weights, *words, "Cross-attention of the last layer"))

# %% [markdown]
# ## A kill, and a resume
#
# Three epochs with 240 sentences; and the same once more, in which the last rank kills itself in the middle of the
# second epoch, as a node does that loses power. Then the same call again.


# %%
def killing(kill_at: int | None):
    """`loss_fn`, which ends this process, without any chance to clean up, at its call number `kill_at`."""
    calls = []

    def loss(logits, tgt_out):
        calls.append(1)
        if len(calls) == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return loss_fn(logits, tgt_out)

    return loss


def short_training(pairs: list, vocabulary: int, checkpoint: str, kill_at: int | None = None) -> int:
    """Three epochs of plain SGD with momentum; the last rank dies at its `kill_at`-th micro-batch."""
    device = setup()
    last = dist.get_rank() == dist.get_world_size() - 1
    model = parallelize(build_model(vocabulary, seed=0, layers=1), device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    loader = make_loader(pairs, batch_size=10, seed=1)
    return len(train(model, loader, optimizer, killing(kill_at if last else None), 3, 2, checkpoint))


def weights_in(path: str) -> torch.Tensor:
    """All weights of a checkpoint in a row."""
    state = torch.load(path, weights_only=True, map_location="cpu")["model"]
    return torch.cat([values.flatten() for values in state.values()])


with needs(*eight):
    for size in (2, 4):
        given = (chosen[:240], len(tokenizer))
        whole, killed = f"{folder.name}/whole-{size}.pt", f"{folder.name}/killed-{size}.pt"
        [steps, *_] = world.run(short_training, *given, whole, size=size)
        outcome = world.attempt(short_training, *given, killed, 240 // (10 * size) * 3 // 2, size=size)
        print(f"{size} ranks: {outcome.detail}")
        print(f"  in its folder: {sorted(path.name for path in Path(folder.name).glob('killed-*'))}")
        [resumed, *_] = world.run(short_training, *given, killed, size=size)
        far = float((weights_in(whole) - weights_in(killed)).abs().max())
        print(f"  {steps} steps uninterrupted, {resumed} after the resume; weights differ by at most {far:.1e}")

# %% [markdown]
# On 2 ranks nothing differs, bit for bit. On 4, the last digits may: DistributedDataParallel cuts new buckets after its
# first step, and a sum of four numbers depends on the order in which a ring or a tree adds them. A process that starts
# afresh makes its first step with the first buckets. a + b is b + a, but (a + b) + c is not a + (b + c).
#
# ## Padding
#
# A batch is padded to its longest sentence. Draw sentences of like length together, and little is left to waste;
# `course/models/bucketing.py` does so, and `bench/` trains with it.

# %%
batch = 32
generator = torch.Generator().manual_seed(0)
drawn = torch.randperm(len(pairs), generator=generator).split(batch)
bucketed = list(BucketingSampler([pair_length(pair) for pair in pairs], tokens=32 * 24, sentences=128))
padding_picture(
    {
        "in random order": padding_shares(pairs, [each.tolist() for each in drawn]),
        "by length": padding_shares(pairs, bucketed),
    }
)

# %% [markdown]
# ## What you saw
#
# - Eight functions make a training script for any number of ranks. What they compute is what one process computes.
# - Unequal numbers of tokens are the rule, and the mean of means is not the mean. One small all-reduce settles it.
# - `no_sync` around forward *and* backward: one synchronisation a step, whatever the number of micro-batches.
# - A checkpoint is a file that is replaced, never one that is being written.
# - A forward pass through the wrapper may communicate; one of `model.module` does not.
#
# ## A question
#
# Two all-reduces in a step: the gradients, and a few numbers. **How many bytes of gradients does each rank send in an
# epoch of the training above, and how many without `no_sync`?** Take what `first_steps` measures, and the number of
# steps. Then try `accumulate=8`: what becomes of the bytes, and what of the loss after the same number of epochs?
