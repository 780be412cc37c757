"""Losses that a rank notes while it trains are read step by step, also while a line is being written."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from course.models.translator.sentences import collate, loss_fn

from ..models.noted_losses import noted_losses, noting


def test_noted_losses_are_means_over_the_tokens_of_whole_steps(tmp_path: Path) -> None:
    path, noted = tmp_path / "losses", noting(loss_fn, str(tmp_path / "losses"))
    assert noted_losses(str(path), 2) == []
    sums, tokens, generator = [], [], torch.Generator().manual_seed(0)
    for words in ([[3]], [[3, 4, 5], [6]], [[7]]):
        _, _, tgt_out = collate([(each, each) for each in words])
        logits = torch.randn(*tgt_out.shape, 9, generator=generator, requires_grad=True)
        sums.append(noted(logits, tgt_out).item())
        tokens.append(sum(len(each) + 1 for each in words))
        assert loss_fn(logits, tgt_out).item() == sums[-1]
    assert noted_losses(str(path), 1) == pytest.approx([a / b for a, b in zip(sums, tokens, strict=True)])
    assert noted_losses(str(path), 2) == pytest.approx([sum(sums[:2]) / sum(tokens[:2])])
    with open(path, "a") as file:
        file.write("3.5 1")  # a line that is still being written
    assert len(noted_losses(str(path), 2)) == 1
