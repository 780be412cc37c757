"""A small Transformer sees earlier tokens alone, and learns."""

from __future__ import annotations

import torch
from seeds import SEED
from torch.nn import functional

from course.models.decoder import Decoder


def test_a_token_sees_those_before_it_alone():
    torch.manual_seed(SEED % 2**31)
    model, tokens = Decoder(2, 8, 16, 20), torch.randint(20, (3, 6))
    later = torch.cat([tokens[:, :4], (tokens[:, 4:] + 1) % 20], dim=1)
    before, after = model(tokens), model(later)
    assert before.shape == (3, 6, 20)
    assert torch.allclose(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


def test_it_learns():
    torch.manual_seed(0)
    model, tokens = Decoder(2, 16, 32, 10), torch.randint(10, (4, 8))
    optimizer, losses = torch.optim.Adam(model.parameters(), 0.01), []
    for _ in range(30):
        loss = functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 4
