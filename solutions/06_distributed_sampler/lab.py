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
# - share out a data set among ranks, so that nothing is left out and no rank has to wait for another,
# - shuffle it anew in each epoch, alike on all ranks, and again alike when the run is resumed,
# - see in the samples themselves whether a training loop does so,
# - measure an accuracy that does not depend on the number of ranks.
#
# Run the cells from top to bottom. Where you find `# YOUR CODE HERE`, it is your turn; the cell below tells you what
# it saw. It runs your cell by itself, on the ranks, so import in the cell what you use there.

# %%
from IPython.display import display

from autograde.notebook import Checker, needs
from course.figures.data.batches import batches_picture
from course.figures.data.counting import counting_picture
from course.figures.data.draws import draws_picture
from course.world import RANK, SIZE, World

world = World(4)
check = Checker("checks", world)

# %%
recorded = [  # a line for each epoch, and in it what each of four ranks drew
    [[11, 13, 7, 9], [12, 0, 5, 3], [6, 4, 2, 11], [10, 1, 8, 12]],
    [[0, 9, 12, 11], [13, 1, 10, 3], [2, 5, 8, 0], [4, 6, 7, 13]],
    [[5, 9, 12, 0], [13, 8, 2, 11], [7, 6, 1, 5], [3, 4, 10, 13]],
    [[10, 5, 7, 12], [4, 0, 9, 11], [3, 8, 13, 10], [1, 2, 6, 4]],
    [[1, 7, 11, 10], [0, 2, 13, 4], [5, 9, 12, 1], [3, 8, 6, 0]],
]
draws_picture(recorded, 14, "14 samples, as 4 ranks drew them in 5 epochs")

# %% [markdown]
# In **data-parallel training** each rank computes the gradient of its own samples, and all gradients are averaged. Who
# draws which sample? Above, a run that somebody recorded. Look for three things:
#
# - In each epoch every sample is drawn.
# - 14 samples do not make four equal parts. Two are drawn **again** (hatched), so that all ranks draw four. Otherwise
#   two ranks would make one step more than the others, and wait in its all-reduce for ever.
# - Each epoch is another order, and samples change their ranks.
#
# Nobody sends a sample or an index for that: each rank works out its own share, from its number alone.
#
# ## 1. A share for each rank
#
# First without shuffling. The samples are dealt out like cards: one to rank 0, one to rank 1, and so on, in turn. What
# is drawn again comes from the start, too.


# %% todo="shard"
def shard(dataset_size: int, rank: int, size: int) -> list[int]:
    """This rank's share of the samples 0, 1, ..., dataset_size - 1, as a list of ints.

    They are dealt out in their order, one after the other, to rank 0, rank 1, ..., rank size - 1, and round again. When
    all are gone and some ranks have one more than others, dealing goes on from sample 0, until all have equally many.
    There may be more ranks than samples: then it starts again as often as needed.
    """
    ### BEGIN SOLUTION
    length = -(-dataset_size // size)
    return [(rank + turn * size) % dataset_size for turn in range(length)]
    ### END SOLUTION


# %% check="shard"
check("shard")

# %%
with needs("shard"):
    dealt = [shard(14, rank, 4) for rank in range(4)]
    display(draws_picture([dealt] * 3, 14, "14 samples, as your shard deals them"))

# %% [markdown]
# Every epoch is the same, and it is always the first samples that are drawn twice.
#
# ## 2. Another order in each epoch
#
# A **sampler** tells a `DataLoader` which samples to take, in which order. Yours is to shuffle: *one* order, common to
# all ranks, of which each takes its share. But the ranks do not talk, and each has random numbers of its own. From what
# can they all work out the same order? And how does the next epoch get another one?

# %% todo="ShuffledSampler"
from collections.abc import Iterator

import torch
from torch.utils.data import Sampler


class ShuffledSampler(Sampler):
    """Yields this rank's share of all samples in a random order, as ints.

    The order is one permutation, common to all ranks. It is dealt out to them as by `shard`, and what is drawn again
    comes from its own start. It depends on `seed` and the epoch only: another pass, another sampler and another process
    on another day give the same. The epoch is 0 until `set_epoch` is called. Python's, numpy's and torch's global
    random generators are left alone: other code draws from them.
    """

    def __init__(self, dataset_size: int, rank: int, size: int, seed: int = 0) -> None:
        ### BEGIN SOLUTION
        self.dataset_size, self.rank, self.size, self.seed, self.epoch = dataset_size, rank, size, seed, 0
        ### END SOLUTION

    def set_epoch(self, epoch: int) -> None:
        """Make the next pass that of `epoch`, which counts from 0."""
        ### BEGIN SOLUTION
        self.epoch = epoch
        ### END SOLUTION

    def __iter__(self) -> Iterator[int]:
        ### BEGIN SOLUTION
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randperm(self.dataset_size, generator=generator).tolist()
        for turn in range(len(self)):
            yield order[(self.rank + turn * self.size) % self.dataset_size]
        ### END SOLUTION

    def __len__(self) -> int:
        """How many samples this rank draws in an epoch; all ranks draw equally many."""
        ### BEGIN SOLUTION
        return -(-self.dataset_size // self.size)
        ### END SOLUTION


# %% check="ShuffledSampler"
check("ShuffledSampler")


# %%
def draw(epochs: int, rank: int, size: int) -> list[list[int]]:
    """What this rank's sampler yields in each epoch."""
    sampler, drawn = ShuffledSampler(14, rank, size, seed=7), []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        drawn.append(list(sampler))
    return drawn


with needs("ShuffledSampler"):
    by_rank = world.run(draw, 5, RANK, SIZE)
    by_epoch = [[own[epoch] for own in by_rank] for epoch in range(5)]
    display(draws_picture(by_epoch, 14, "14 samples, as your ShuffledSampler draws them on 4 ranks"))

# %% [markdown]
# ## 3. The loop has its part in it
#
# A sampler does not know which epoch it is: the training loop has to tell it, each time. If it forgets, nothing fails.
# The loss falls, too. So look at the samples themselves: a data set whose samples are their own ids shows them.

# %% todo="samples_seen"
from torch.utils.data import DataLoader


def samples_seen(loader: DataLoader, epochs: int) -> list[list[int]]:
    """The ids that this rank sees: for each epoch a list of ints, in the order in which the loader yields them.

    loader: its batches are int64 tensors of ids; ids need not be indices, and the last batch may be smaller. Its
    sampler has a `set_epoch`. Epochs are counted from 0, and each is in its own order, whatever came before.
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


# %%
ids = (100 + 11 * torch.arange(14)).tolist()


def three_epochs(deaf: bool, rank: int, size: int) -> list[list[int]]:
    """The ids that this rank sees in three epochs. deaf: whether the sampler hears of no epoch."""
    loader = DataLoader(ids, batch_size=2, sampler=ShuffledSampler(len(ids), rank, size))
    if deaf:
        loader.sampler.set_epoch = lambda epoch: None
    return samples_seen(loader, 3)


with needs("ShuffledSampler", "samples_seen"):
    seen = []
    for deaf in (True, False):
        by_rank = world.run(three_epochs, deaf, RANK, SIZE)
        seen.append([[own[epoch] for own in by_rank] for epoch in range(3)])
    display(batches_picture(*seen, 2, ["as without set_epoch", "with set_epoch"]))

# %% [markdown]
# Without `set_epoch`, the second epoch brings nothing new: the same batches on the same ranks, with the same samples
# left to stand beside each other for ever. It costs accuracy, and no error tells.
#
# ## 4. Count each sample once
#
# Samples that are drawn twice hardly matter in training. In an evaluation they do: ten samples on four ranks are
# counted as twelve, and the accuracy depends on the number of ranks. So the ranks tell each other *which* samples
# their predictions are for.

# %% todo="distributed_accuracy"
import torch
import torch.distributed as dist


def distributed_accuracy(correct: torch.Tensor, indices: torch.Tensor, dataset_size: int) -> float:
    """The share of samples that were predicted right, each counted once: exactly hits / dataset_size, on all ranks.

    correct: bool [k], whether this rank's predictions are right. indices: int64 [k], for which samples they are, from 0
    to dataset_size - 1, in any order. k may differ from rank to rank, and may be 0. Each sample is on some rank; where
    several have it, they agree. Both tensors are on the device of torch.distributed's default group, which is there
    already: CPU for "gloo", the current GPU for "nccl". They are left as they are.
    """
    ### BEGIN SOLUTION
    hits = torch.zeros(dataset_size, dtype=torch.int64, device=indices.device)
    hits[indices] = correct.long()
    dist.all_reduce(hits, op=dist.ReduceOp.MAX)
    return hits.sum().item() / dataset_size
    ### END SOLUTION


# %% check="distributed_accuracy"
check("distributed_accuracy")

# %%
SAMPLES = 50
right = torch.rand(SAMPLES, generator=torch.Generator().manual_seed(1)) < 0.8  # of a model, sample by sample


def evaluate(rank: int, size: int) -> float:
    """The accuracy, from the predictions for this rank's share."""
    import torch.distributed as dist

    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    indices = torch.tensor(shard(SAMPLES, rank, size), device=device)
    return distributed_accuracy(right.to(device)[indices], indices, SAMPLES)


with needs("shard", "distributed_accuracy"):
    exact = {size: world.run(evaluate, RANK, SIZE, size=size, init="torch")[0] for size in (1, 2, 3, 4)}
    padded = []
    for size in range(1, 41):
        drawn = [sample for rank in range(size) for sample in shard(SAMPLES, rank, size)]
        padded.append(right[drawn].double().mean().item())
    display(counting_picture(padded, exact, SAMPLES))

# %% [markdown]
# The predictions are the same everywhere. With copies counted, one and the same model is better on some numbers of
# ranks than on others.
#
# ## What you saw
#
# - Equal shares keep ranks in step, and cost some samples drawn twice.
# - One order for all ranks follows from what all ranks know: the seed and the epoch. What differs from rank to rank or
#   from process to process must not get into it: a random generator, the clock, the hash of a text.
# - A forgotten `set_epoch` is a mistake that only the samples show.
# - Copies are counted out by their index. Ranks that agree on a number may all be wrong.
#
# torch has `torch.utils.data.DistributedSampler` for all that. Now you know what to ask of it.
#
# ## A question
#
# `shard` draws samples 0 and 1 of 14 twice in every epoch, so they count twice as much as the others. With your
# `ShuffledSampler` it is others each time. **In 1000 epochs on 4 ranks, how often does it draw each sample, and how
# many per cent more often the most frequent one than the rarest?** In a new cell, count with `collections.Counter`.
