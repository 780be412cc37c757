"""What the translation lab's model is trained on: batches of sentences as token ids, and their loss."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

PAD, BOS, EOS = 0, 1, 2  # ids: nothing (fills a row up), a sentence begins, a sentence ends

Pair = tuple[Sequence[int], Sequence[int]]


def collate(pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
    """A batch from B pairs of (source ids, target ids), which hold no PAD, BOS or EOS.

    Returns src [B, S], tgt_in [B, T] and tgt_out [B, T], int64, padded with PAD to the longest of each: a source ends
    with EOS; tgt_in begins with BOS, and tgt_out is what is to follow it, token by token, up to EOS.
    """
    return (
        padded([[*source, EOS] for source, _ in pairs]),
        padded([[BOS, *target] for _, target in pairs]),
        padded([[*target, EOS] for _, target in pairs]),
    )


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """int64 [rows, longest], filled up with PAD."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows], dtype=torch.int64)


def loss_fn(logits: Tensor, tgt_out: Tensor) -> Tensor:
    """Cross-entropy, summed over the tokens that are not PAD. logits: [B, T, V]. tgt_out: [B, T]. Returns a scalar."""
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), tgt_out.flatten(), ignore_index=PAD, reduction="sum")
