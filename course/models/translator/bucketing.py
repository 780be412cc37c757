"""Batches of sentences of similar length, so that little of the computation is padding.

A batch is padded to its longest sentence. If sentences are in random order, most of it may be padding; if they are
sorted by length, almost none is (Khomenko et al. 2017, https://arxiv.org/abs/1708.05604). A batch then has a budget of
tokens rather than sentences: few long sentences take as much memory and time as many short ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from course.models.translator.sentences import Pair, collate


class BucketingSampler(Sampler[list[int]]):
    """This rank's batches of an epoch, as lists of indices into `lengths`.

    Sentences are sorted by length, with a new random order of equal lengths each epoch, and cut into steps. Every rank
    takes equally many sentences of each step as its batch, so ranks have equally many batches of similar size, and none
    waits long for another. Then the steps are shuffled. Each sentence comes once per epoch, on one rank; only the last
    cut is filled up, by repeating fewer than `size` sentences. Everything depends on seed and epoch only.

    lengths: of each sentence, in tokens. tokens: budget of a batch, including padding; a longer sentence is a batch of
    its own. sentences: maximum in a batch. rank, size: this rank, and the number of ranks.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        tokens: int,
        rank: int = 0,
        size: int = 1,
        seed: int = 0,
        sentences: int | None = None,
    ) -> None:
        if not 0 <= rank < size:
            raise ValueError(f"There is no rank {rank} among {size}.")
        if tokens < 1 or (sentences is not None and sentences < 1):
            raise ValueError(f"A batch holds at least one token and one sentence, not {tokens} and {sentences}.")
        self.lengths = torch.as_tensor(lengths)
        self.tokens = tokens
        self.sentences = sentences
        self.rank = rank
        self.size = size
        self.seed = seed
        self.epoch = 0
        self.cuts = self.find_cuts()

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch of the next pass."""
        self.epoch = epoch

    def find_cuts(self) -> list[tuple[int, int]]:
        """Where the sentences, sorted from long to short, are cut into steps: (first, first of the next step).

        Only lengths matter, so every epoch has equally many steps.
        """
        longest_first = self.lengths.sort(descending=True).values.tolist()
        cuts, first = [], 0
        while first < len(longest_first):
            in_batch = max(1, self.tokens // max(1, longest_first[first]))
            in_batch = min(in_batch, self.sentences or in_batch)
            after = min(first + in_batch * self.size, len(longest_first))
            cuts.append((first, after))
            first = after
        return cuts

    def __len__(self) -> int:
        """Number of batches in an epoch, the same on all ranks."""
        return len(self.cuts)

    def __iter__(self) -> Iterator[list[int]]:
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randperm(len(self.lengths), generator=generator)
        order = order[self.lengths[order].sort(descending=True, stable=True).indices].tolist()
        for step in torch.randperm(len(self.cuts), generator=generator).tolist():
            members = order[slice(*self.cuts[step])]
            missing = -len(members) % self.size
            members += (members * missing)[:missing]
            yield members[self.rank :: self.size]


class Batches(Dataset):
    """Indexes pairs by lists: `batches[[3, 8]]` is the list of pairs 3 and 8."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = pairs

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, indices: Sequence[int]) -> list[Pair]:
        return [self.pairs[index] for index in indices]


def bucketing_loader(
    pairs: Sequence[Pair],
    tokens: int,
    rank: int = 0,
    size: int = 1,
    seed: int = 0,
    sentences: int | None = None,
) -> DataLoader:
    """A loader of bucketed batches (src, tgt_in, tgt_out); the other arguments are those of `BucketingSampler`.

    The sampler draws whole batches and is the loader's `sampler`, so `loader.sampler.set_epoch` works as with a
    DistributedSampler.
    """
    sampler = BucketingSampler([pair_length(pair) for pair in pairs], tokens, rank, size, seed, sentences)
    return DataLoader(Batches(pairs), batch_size=None, sampler=sampler, collate_fn=collate)


def pair_length(pair: Pair) -> int:
    """Length of the longer side, including EOS: an upper bound of what this pair adds to either side of a batch."""
    return 1 + max(map(len, pair))


def padding_shares(pairs: Sequence[Pair], batches: Sequence[Sequence[int]]) -> list[float]:
    """The share of PAD in each batch, source and target together, from 0 to 1. batches: indices into `pairs`."""
    shares = []
    for batch in batches:
        sizes = [[len(side) + 1 for side in pairs[index]] for index in batch]
        real = sum(map(sum, sizes))
        padded = len(sizes) * sum(map(max, zip(*sizes, strict=True)))
        shares.append(1 - real / padded)
    return shares
