"""Losses that a rank notes in a file while it trains, so that the notebook can show them meanwhile, and after a
kill."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path

from torch import Tensor

from course.models.translator.sentences import PAD

Loss = Callable[[Tensor, Tensor], Tensor]


def noting(loss_fn: Loss, path: str) -> Loss:
    """`loss_fn`, which adds a line to the file `path` in each call: the summed loss, and the number of tokens."""

    def noted(logits: Tensor, tgt_out: Tensor) -> Tensor:
        loss = loss_fn(logits, tgt_out)
        with open(path, "a") as file:  # closed in each call, so that a kill loses nothing
            file.write(f"{loss.item()} {int((tgt_out != PAD).sum())}\n")
        return loss

    return noted


def noted_losses(path: str, micro_batches: int) -> list[float]:
    """The mean loss per token of each step that is noted whole. micro_batches: in a step."""
    text = Path(path).read_text() if Path(path).exists() else ""
    lines = iter(text.splitlines() if text.endswith("\n") else text.splitlines()[:-1])
    means = []
    while len(step := [[*map(float, line.split())] for line in islice(lines, micro_batches)]) == micro_batches:
        loss, tokens = map(sum, zip(*step, strict=True))
        means.append(loss / tokens)
    return means
