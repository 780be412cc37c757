"""A translation model and optimizer with settings that were found to work, and translation of text."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from course.models.translator.tokens import SentenceTokenizer
from course.models.translator.transformer import Transformer, greedy

LONGEST = 80  # tokens after which a translation is cut off; CLDR's are shorter


def build_model(vocabulary: int, seed: int = 0, d_model: int = 64, layers: int = 2) -> Transformer:
    """A model small enough to learn something in seconds on a CPU; the same arguments give the same weights.

    Leaves torch's global generator unchanged.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Transformer(vocabulary, d_model=d_model, heads=4, layers=layers)


def build_optimizer(model: nn.Module, lr: float = 5e-3) -> torch.optim.AdamW:
    """AdamW for steps of about 64 sentences. With pre-norm, the small model needs no warm-up at this rate."""
    return torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.98), weight_decay=0.01)


def warm_up_and_decay(optimizer: torch.optim.Optimizer, steps: int, warm_up: int) -> torch.optim.lr_scheduler.LambdaLR:
    """A schedule for longer runs: the rate grows for `warm_up` steps, then falls linearly, to 1 % at step `steps`."""

    def factor(step: int) -> float:
        left = (steps - step) / max(1, steps - warm_up)
        return min((step + 1) / max(1, warm_up), max(0.01, left))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def translate(
    model: Transformer, tokenizer: SentenceTokenizer, sentences: Sequence[str], batch: int = 100
) -> list[str]:
    """Translate each sentence, in batches of similar lengths."""
    sources = [tokenizer.encode(sentence) for sentence in sentences]
    order = sorted(range(len(sources)), key=lambda index: len(sources[index]))
    texts = [""] * len(sources)
    for first in range(0, len(order), batch):
        chosen = order[first : first + batch]
        results = greedy(model, [sources[index] for index in chosen], LONGEST)
        for index, result in zip(chosen, results, strict=True):
            texts[index] = tokenizer.decode(result)
    return texts
