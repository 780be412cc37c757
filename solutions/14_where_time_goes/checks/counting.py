"""The operations of a small Transformer's training step, as PyTorch counts them."""

from __future__ import annotations

import torch
from torch.utils.flop_counter import FlopCounterMode

from course.models.decoder import Decoder


def counted_flops(layers: int, width: int, hidden: int, vocabulary: int, sequences: int, length: int) -> dict[str, int]:
    """The floating point operations of a forward and a backward pass of a `Decoder`, as `FlopCounterMode` counts them.

    sequences: in the batch. length: tokens of each. "weights": of products with weights. "attention": of products of
    queries with keys, and of attention with values. Other operations, such as those of a softmax, are not counted.
    Nothing is computed: the tensors have shapes, and no numbers.
    """
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        scores = Decoder(layers, width, hidden, vocabulary)(torch.zeros(sequences, length, dtype=torch.long))
        scores.sum().backward()
    of = counter.get_flop_counts()["Global"]
    return {"weights": of[torch.ops.aten.mm], "attention": of[torch.ops.aten.bmm]}
