"""Batches of sentences as token ids, and the loss of a translation model on them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

PAD, BOS, EOS = 0, 1, 2  # ids: padding, beginning of a sentence, end of a sentence

Pair = tuple[Sequence[int], Sequence[int]]


def collate(pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
    """A batch of B pairs of (source ids, target ids), which contain no PAD, BOS or EOS.

    Returns src [B, S], tgt_in [B, T] and tgt_out [B, T], int64, each padded with PAD to its longest row. Sources end
    with EOS; tgt_in begins with BOS; tgt_out holds the token that follows each of tgt_in, up to EOS.
    """
    return (
        padded([[*source, EOS] for source, _ in pairs]),
        padded([[BOS, *target] for _, target in pairs]),
        padded([[*target, EOS] for _, target in pairs]),
    )


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """The rows as int64 [rows, longest], padded with PAD."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows], dtype=torch.int64)


def loss_fn(logits: Tensor, tgt_out: Tensor) -> Tensor:
    """Cross-entropy, summed over the tokens that are not PAD. logits: [B, T, V]. tgt_out: [B, T]. Returns a scalar."""
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), tgt_out.flatten(), ignore_index=PAD, reduction="sum")
