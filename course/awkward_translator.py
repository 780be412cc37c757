"""A tiny translation model with what trips up distributed training: tied weights, a frozen weight, BatchNorm.

Its batches are those of `course.sentences`; it learns nothing worth having, but its gradients are exact to 1e-12.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from course.sentences import PAD

Pair = tuple[list[int], list[int]]
Batch = tuple[Tensor, Tensor, Tensor]  # src, tgt_in, tgt_out, as `course.sentences.collate` makes them

FIRST = 3  # the lowest id of a word, after PAD, BOS and EOS
WORDS = 9  # different words in drawn sentences
VOCABULARY = FIRST + WORDS  # ids that an AwkwardTranslator knows
WIDTH = 3


class AwkwardTranslator(torch.nn.Module):
    """model(src [B, S], tgt_in [B, T]) -> logits [B, T, VOCABULARY], in float64.

    One `embedding` [VOCABULARY, WIDTH] serves source, target and output (tied); `mix` [WIDTH, WIDTH] is trained, and
    `frozen` [WIDTH, WIDTH] is not. What is PAD in `src` has no influence; a target's token sees itself and the source.

    seed: of the weights and of BatchNorm's running statistics, so that two processes can build the same model.
    norm: whether with BatchNorm, whose statistics include padding, as they would in a careless model.
    record: called with (src, tgt_in) of each forward pass.
    """

    def __init__(
        self, seed: int, *, norm: bool = False, record: Callable[[Tensor, Tensor], None] | None = None
    ) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)

        def drawn(*shape: int) -> Tensor:
            return torch.randn(shape, generator=generator, dtype=torch.float64)

        self.embedding = torch.nn.Parameter(drawn(VOCABULARY, WIDTH))
        self.mix = torch.nn.Parameter(drawn(WIDTH, WIDTH))
        self.frozen = torch.nn.Parameter(drawn(WIDTH, WIDTH), requires_grad=False)
        self.norm = torch.nn.BatchNorm1d(WIDTH, dtype=torch.float64) if norm else None
        if self.norm is not None:
            self.norm.running_mean.copy_(drawn(WIDTH))
            self.norm.running_var.copy_(drawn(WIDTH).abs() + 0.5)
        self.record = record

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """src [B, S], tgt_in [B, T] -> logits [B, T, VOCABULARY]."""
        if self.record is not None:
            self.record(src, tgt_in)
        words = (src != PAD).unsqueeze(2).to(self.embedding.dtype)
        source = (self.embedding[src] * words).sum(1) / words.sum(1)
        hidden = torch.tanh((self.embedding[tgt_in] + source.unsqueeze(1)) @ self.mix)
        if self.norm is not None:
            hidden = self.norm(hidden.flatten(0, 1)).reshape(hidden.shape)
        return torch.tanh(hidden @ self.frozen) @ self.embedding.T


def draw_pairs(rng: random.Random, count: int, longest: int = 6) -> list[Pair]:
    """`count` pairs of sentences of 1 to `longest` words, plain JSON, no two of which have the same source.

    Up to 500 of them; the source begins with the pair's number, written in two or three words, so `number_of` finds it.
    """
    if count > 500:
        raise ValueError(f"at most 500 pairs can be told apart, not {count}")
    digits = 2 if count <= WORDS**2 else 3

    def words(least: int) -> list[int]:
        return [FIRST + rng.randrange(WORDS) for _ in range(rng.randint(least, max(least, longest)))]

    def mark(number: int) -> list[int]:
        return [FIRST + number // WORDS**place % WORDS for place in range(digits)]

    return [(mark(number) + words(1)[1:], words(1)) for number in range(count)]


def number_of(source: Sequence[int], pairs: Sequence[Sequence[Sequence[int]]]) -> int | None:
    """Which of `pairs` a source sentence is of, given a row of src (with EOS and PAD); None: of none."""
    known = {tuple(source): number for number, (source, _) in enumerate(pairs)}
    return known.get(tuple(token for token in source if token >= FIRST))


def state_row(model: torch.nn.Module) -> list[float]:
    """All parameters of an AwkwardTranslator, frozen ones too, in one list, in the order of `model.parameters()`."""
    return [number for parameter in model.parameters() for number in parameter.detach().flatten().tolist()]


def draw_batches(rng: random.Random, ranks: int, micro_batches: int) -> list[list[list[Pair]]]:
    """For each rank `micro_batches` lists of pairs, to be collated: of unequal numbers of tokens, much of it padding.

    No two ranks have equally many tokens in their targets, nor have two micro-batches in a row of one rank.
    """

    def tokens(pairs: list[Pair]) -> int:
        return sum(len(target) + 1 for _, target in pairs)

    while True:
        drawn = [
            [draw_pairs(rng, rng.randint(2, 4), rng.choice((2, 5, 9))) for _ in range(micro_batches)]
            for _ in range(ranks)
        ]
        counts = [[tokens(pairs) for pairs in own] for own in drawn]
        uneven = all(a != b for own in counts for a, b in pairwise(own))
        if uneven and len({sum(own) for own in counts}) == ranks:
            return drawn


def draw_shares(rng: random.Random, counts: Sequence[int]) -> list[list[Pair]]:
    """For each rank so many pairs, 0 or more; no two ranks that have any have equally many tokens in their targets."""
    while True:
        drawn = [draw_pairs(rng, count, rng.choice((3, 6, 9))) for count in counts]
        tokens = [sum(len(target) + 1 for _, target in own) for own in drawn if own]
        if len(set(tokens)) == len(tokens):
            return drawn
