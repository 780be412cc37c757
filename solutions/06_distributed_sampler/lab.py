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
# # 06 Samplers for several ranks
#
# After this lab you can
#
# - share out a data set among [ranks](GLOSSARY.md#rank), so that no sample is left out and no rank has to wait for
#   another,
# - shuffle it anew in every [epoch](GLOSSARY.md#epoch), in the same way on all ranks, and in the same way again when
#   a run is resumed,
# - see in the samples themselves whether a training loop really does so,
# - measure an accuracy that does not depend on the number of ranks.
#
# The idea in one sentence: **{{idea}}**
#
# **Before you start.** {{needs}} From Python: classes and iterators; from PyTorch: tensors, `Dataset` and `DataLoader`.
#
# **Lecture.** [7 Every sample once](../../course/lectures/07_samplers.ipynb) deals out samples by hand, and asks what
# goes wrong.
#
# **Time:** {{minutes}} minutes.
#
# A **rank** is one of several processes that run the same program side by side. Ranks are numbered
# from 0 and share no memory: what one rank knows, the others learn only if it is sent to them.
#
# Run the cells from top to bottom. Where you find `# YOUR CODE HERE`, it is your turn. The cell below it runs your code
# on real ranks and tells you what it saw. Grading tries other numbers, in cases of the same kinds. **Only the cell
# with your code is handed in and run: import in it what it uses.**
#
# Stuck? Below each check that has not passed yet, you can read how to unfold a hint. There are three for each TODO.
# They cost no points; your instructor sees how many are used.
#
# Some cells are folded: what is in them is not what the lab is about. Run them like all others.
#
# This is what the lab is about: which rank draws which sample.

# %% folded=true
# Draws which rank drew which sample, in a run on record.
from course.figures.data.draws import draws_picture
from course.lab.figures.sampler_draws import RECORDED

draws_picture(RECORDED, 14, "14 samples, as 4 ranks drew them in 5 epochs")

# %% [markdown]
# In [data-parallel training](GLOSSARY.md#data-parallelism) every rank holds the whole model. In each step, a rank
# computes the gradient of samples of its own, and the ranks average their gradients. Who takes which sample? The
# picture shows a recorded run: one row for each epoch, that is each pass over the data set, one
# column for each sample, one colour for each rank. Look for three things:
#
# - Every sample is drawn in every epoch.
# - 14 samples cannot be split into four equal parts. Two of them are drawn **again** (hatched), so that every rank
#   draws four. This is [padding](GLOSSARY.md#padding). Otherwise two ranks would take one step more than the others,
#   and wait for ever in the all-reduce of that step.
# - Each epoch has a new order, and samples move from rank to rank.
#
# No sample and no index is sent for this. Each rank works out its own share of the samples, its
# [shard](GLOSSARY.md#shard), by itself.
#
# ## 1. A shard for each rank
#
# First without shuffling: the samples are dealt out in turn. Sample 0 goes to rank 0, sample 1 to rank 1, and so on,
# round and round. When the samples run out, dealing starts again from sample 0. On $N$ ranks, each rank gets
# $\lceil n / N \rceil$ of the $n$ samples.
#
# The folded cell imports what the given cells use.

# %% folded=true
# Imports for the given cells: nothing to learn here.
from operator import eq

from IPython.display import display
from torch.utils.data import DistributedSampler

from autograde.notebook import Checker, needs
from course.world import RANK, SIZE, World

# %% [markdown]
# This cell starts the [world](GLOSSARY.md#world), which is four ranks that will run your code, and loads the checks.
# In later cells `RANK` and `SIZE` stand for a rank's number and for the number of ranks:

# %%
world = World(4)
check = Checker(world)


# %% todo="shard"
def shard(dataset_size: int, rank: int, size: int) -> list[int]:
    """This rank's share of the samples 0, 1, ..., dataset_size - 1.

    Examples: of 6 samples on 4 ranks, rank 0 gets [0, 4], rank 1 gets [1, 5], rank 2
    gets [2, 0], and rank 3 gets [3, 1]. Of 2 samples on 5 ranks, rank 4 gets [0].
    """
    ### BEGIN SOLUTION
    length = -(-dataset_size // size)
    return [(rank + turn * size) % dataset_size for turn in range(length)]
    ### END SOLUTION


# %% check="shard"
check("shard")

# %% [markdown]
# This is how your function deals 14 samples to four ranks, in three epochs:

# %% folded=true
# Draws what your shard deals out.
with needs("shard"):
    dealt = [shard(14, rank, 4) for rank in range(4)]
    title = "14 samples, as your shard deals them in 3 epochs"
    display(draws_picture([dealt] * 3, 14, title))

# %% [markdown]
# Every epoch is the same, and it is always samples 0 and 1 that are drawn twice.
#
# ## 2. A new order in each epoch
#
# A [sampler](GLOSSARY.md#sampler) tells a `DataLoader` which samples to take, and in which order. Yours shuffles: it
# puts all samples into *one* random order that all ranks have in common, and each rank takes its shard of that order.
# But the ranks do not communicate, and each has its own random generator. What do they all know that determines one
# common order? And what makes the next epoch's order a new one?
#
# A random generator that starts from a given [seed](GLOSSARY.md#seed) always draws the same numbers. Python, numpy
# and torch each have a global one. You can also make one of your own: look up `torch.Generator`, and the argument
# `generator` of `torch.randperm`.

# %% todo="ShuffledSampler"
from collections.abc import Iterator

import torch
from torch.utils.data import Sampler


class ShuffledSampler(Sampler):
    """Yields this rank's share of all samples, in a random order.

    Another seed may have the same order in another epoch, as in torch's own sampler.
    You may call `shard(dataset_size, rank, size)`: the check has a right one, in case
    yours is not.
    """

    def __init__(self, dataset_size: int, rank: int, size: int, seed: int = 0) -> None:
        ### BEGIN SOLUTION
        self.dataset_size, self.rank, self.size = dataset_size, rank, size
        self.seed, self.epoch = seed, 0
        ### END SOLUTION

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch, counted from 0, of all passes that begin after this call.

        Until it is called, the epoch is 0. A pass that has yielded samples before the
        call goes on in its order.
        """
        ### BEGIN SOLUTION
        self.epoch = epoch
        ### END SOLUTION

    def __iter__(self) -> Iterator[int]:
        """Begin a pass."""
        ### BEGIN SOLUTION
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randperm(self.dataset_size, generator=generator).tolist()
        for position in shard(self.dataset_size, self.rank, self.size):
            yield order[position]
        ### END SOLUTION

    def __len__(self) -> int:
        """How many samples a rank draws in an epoch; all ranks draw equally many."""
        ### BEGIN SOLUTION
        return -(-self.dataset_size // self.size)
        ### END SOLUTION


# %% check="ShuffledSampler"
check("ShuffledSampler")

# %% [markdown]
# This is what your sampler yields on four ranks:

# %% folded=true
# Draws what your sampler yields on four ranks.
from course.lab.figures.sampler_draws import draws_of

with needs("ShuffledSampler"):
    by_rank = world.run(draws_of, ShuffledSampler, 14, 5, RANK, SIZE)
    title = "14 samples, as your ShuffledSampler draws them on 4 ranks"
    display(draws_picture([*zip(*by_rank, strict=True)], 14, title))

# %% [markdown]
# ## 3. The training loop must help
#
# A sampler cannot know which epoch it is: the training loop has to tell it, every time. If the loop forgets, nothing
# fails, and the loss still falls. Only the samples show it. In a data set whose samples are their own ids, you can see
# them.

# %% todo="samples_seen"
from torch.utils.data import DataLoader


def samples_seen(loader: DataLoader, epochs: int) -> list[list[int]]:
    """The ids that this rank sees in several epochs.

    loader: yields batches, which are int64 tensors of ids; the last one may be
    smaller. An id is any whole number, not a position in the data set. The loader's
    sampler has a method `set_epoch`.

    Example: two epochs of three samples are [[31, 7, 12], [7, 12, 31]].
    """
    ### BEGIN SOLUTION
    seen = []
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        seen.append([sample for batch in loader for sample in batch.tolist()])
    return seen
    ### END SOLUTION


# %% check="samples_seen"
check("samples_seen")

# %% [markdown]
# Your function and your sampler, in [batches](GLOSSARY.md#batch) of two; on the left with a sampler whose
# `set_epoch` does nothing. A batch has its rank's colour if no earlier epoch had the same samples in one batch.

# %% folded=true
# Draws the batches of three epochs, without and with set_epoch.
from course.lab.figures.batches import batches_picture

ids = [100 + 11 * number for number in range(14)]


def three_epochs(deaf: bool, rank: int, size: int) -> list[list[int]]:
    """The ids that this rank sees. deaf: whether `set_epoch` does nothing."""
    sampler = ShuffledSampler(len(ids), rank, size)
    if deaf:
        sampler.set_epoch = lambda epoch: None
    return samples_seen(DataLoader(ids, batch_size=2, sampler=sampler), 3)


with needs("ShuffledSampler", "samples_seen"):
    seen = []
    for deaf in (True, False):
        by_rank = world.run(three_epochs, deaf, RANK, SIZE)
        seen.append([*zip(*by_rank, strict=True)])
    display(batches_picture(*seen, 2, ["without set_epoch", "with set_epoch"]))

# %% [markdown]
# Without `set_epoch`, each epoch repeats the first: the same batches on the same ranks, so the same samples meet in a
# batch for ever. Accuracy suffers, and nothing tells you. (With `set_epoch`, and so few samples, a batch may come again
# by chance.)
#
# ## 4. Count each sample once
#
# In training, a few samples that are drawn twice hardly matter. In an evaluation they do: ten samples on four ranks are
# counted as twelve, and the accuracy depends on the number of ranks. What we want is
#
# $$\text{accuracy} = \frac{1}{n} \sum_{i=0}^{n-1} c_i ,$$
#
# where $c_i$ is 1 if sample $i$ is predicted correctly, and 0 if not, no matter how many ranks hold sample $i$. Each
# rank knows some of the $c_i$, and for which samples $i$ it knows them. Every rank has to learn enough from the others
# to return the accuracy of all.

# %% todo="distributed_accuracy"
import torch
import torch.distributed as dist


def distributed_accuracy(
    correct: torch.Tensor,
    indices: torch.Tensor,
    dataset_size: int,
) -> float:
    """The fraction of samples that are predicted correctly.

    correct: bool [k], whether this rank's predictions are right. indices: int64 [k],
    the samples that they are for, from 0 to dataset_size - 1, in any order. Each sample
    is on some rank. It may be on several ranks, and twice on one rank; its entries in
    `correct` are then all the same. Both tensors are on the device of the group's
    backend: the CPU for "gloo", the current GPU ("cuda") for "nccl". The process
    group exists already.

    Example: three samples on two ranks. If rank 0 has indices [0, 2] with correct
    [True, False], and rank 1 has [1, 0] with [True, True], it is 2 / 3 on both.
    """
    ### BEGIN SOLUTION
    hits = torch.zeros(dataset_size, dtype=torch.int64, device=indices.device)
    hits[indices] = correct.long()
    dist.all_reduce(hits, op=dist.ReduceOp.MAX)
    return hits.sum().item() / dataset_size
    ### END SOLUTION


# %% check="distributed_accuracy"
check("distributed_accuracy")

# %% [markdown]
# One model makes 50 predictions, of which some are wrong. Here its accuracy is measured on 1, 2, 3 and 4 ranks by your
# function, and for comparison computed with the copies counted, for up to 40 ranks.

# %% folded=true
# Draws the accuracy on 1 to 40 ranks, with copies counted and without.
from course.lab.figures.counting import counting_picture

SAMPLES = 50
right = torch.rand(SAMPLES, generator=torch.Generator().manual_seed(1)) < 0.8


def evaluate(rank: int, size: int) -> float:
    """The accuracy, from the predictions for this rank's shard."""
    import torch.distributed as dist

    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    indices = torch.tensor(shard(SAMPLES, rank, size), device=device)
    return distributed_accuracy(right.to(device)[indices], indices, SAMPLES)


with needs("shard", "distributed_accuracy"):
    exact = {}
    for size in (1, 2, 3, 4):
        exact[size] = world.run(evaluate, RANK, SIZE, size=size, init="torch")[0]
    padded = []
    for size in range(1, 41):
        held = [right[shard(SAMPLES, rank, size)] for rank in range(size)]
        padded.append(torch.cat(held).double().mean().item())
    display(counting_picture(padded, exact, SAMPLES))

# %% [markdown]
# The predictions are the same everywhere. With copies counted, one and the same model looks better on some numbers of
# ranks than on others. The dashed line is what all numbers of ranks should give.
#
# ## 5. Your sampler and torch's
#
# PyTorch has a sampler for this job, `torch.utils.data.DistributedSampler`. Lab 07 uses it. Here both draw the same
# 14 samples, with the same seed:


# %%
def torchs(dataset_size: int, rank: int, size: int, seed: int) -> DistributedSampler:
    """torch's sampler, made from the arguments of yours."""
    return DistributedSampler(range(dataset_size), size, rank, seed=seed)


with needs("ShuffledSampler"):
    draws = {}
    for name, sampler in {"yours": ShuffledSampler, "torch's": torchs}.items():
        by_rank = world.run(draws_of, sampler, 14, 5, RANK, SIZE)
        draws[name] = [*zip(*by_rank, strict=True)]
        display(draws_picture(draws[name], 14, f"14 samples on 4 ranks, {name}"))
    same = sum(map(eq, *draws.values()))
    print(f"The two have the same order in {same} of 5 epochs.")

# %% [markdown]
# Both pad, and both draw a new order in each epoch. The two orders need not be the same: a seed stands for an order
# only together with the code that uses it. Read `DistributedSampler.__iter__` and compare: how does it join the seed
# and the epoch, and which orders do two seeds then share? With `shuffle=False` it is your `shard`; with
# `drop_last=True` it leaves samples out instead of padding.
#
# <details><summary>How does torch's sampler join the seed and the epoch?</summary>
#
# It adds them: the generator is seeded with `seed + epoch`. So seed 0 has in epoch 1 the order that seed 1 has in epoch
# 0, and two runs with neighbouring seeds go through nearly the same orders, one epoch apart. In one run this does no
# harm. Who compares runs takes seeds that are far apart, or joins the two in another way.
#
# </details>
#
# ## What you saw
#
# - Shards of equal size keep the ranks in step. The price is that a few samples are drawn twice.
# - A forgotten `set_epoch` is a mistake that only the samples show.
# - Duplicates are recognised by their index, and each sample counts once. That all ranks agree on a number does not
#   make it right.
#
# <details><summary>From what can all ranks work out the same order, without communicating?</summary>
#
# From the seed and the epoch. Whatever differs from rank to rank, or from process to process, must stay out of it: the
# state of a global random generator, the clock, the hash of a text.
#
# </details>
#
# ## Two questions
#
# They count no points. The first answer is a number: write it in place of `None`, and run the cell to hear whether it
# is right. The second answer is a text: double-click the cell, write a few sentences, and run it. Your instructor reads
# it. Both are handed in.
#
# `shard` draws samples 0 and 1 of 14 twice in every epoch, so they count twice as much as the others. Your
# `ShuffledSampler` draws different ones twice each time. In a new cell, draw 1000 epochs on 4 ranks with it, and count
# with `collections.Counter` how often it draws each of the 14 samples.
#
# **1. On average.** How often does it draw a sample in the 1000 epochs, on average over the 14? One decimal place will
# do.

# %% answer="draws_on_average"
check.answer("draws_on_average", None)

# %% [markdown]
# **2. Fair in the long run?** How many per cent more often does it draw the most frequent sample than the rarest? How
# many would it be with `shard` alone, and how does the number change with more epochs?

# %% [markdown] answer="fair_in_the_long_run"
# About 3 % (it depends on the sampler: our own draws the rarest 1124 times and the most frequent 1158 times). With
# `shard` alone it is 100 %, since samples 0 and 1 are drawn 2000 times and the others 1000 times, and it stays 100 %
# for ever. With a new order in each epoch, chance decides which two samples are drawn twice, so the differences even
# out: with four times the epochs, the percentage is about half as large.
