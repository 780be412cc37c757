"""What PyTorch counts of a small Transformer's training step, and that it learns."""

from __future__ import annotations

import random

import torch
from seeds import SEED
from torch.nn import functional

from course.models.decoder import Decoder, counted_flops


def test_a_step_takes_six_operations_for_each_weight_and_token_and_attention_besides():
    rng = random.Random(SEED)
    for _ in range(3):
        layers, width, hidden, vocabulary, sequences, length = (rng.randint(1, 9) for _ in range(6))
        weights = sum(each.numel() for each in Decoder(layers, width, hidden, vocabulary).parameters())
        multiplied = weights - vocabulary * width  # all but the embedding
        counted = counted_flops(layers, width, hidden, vocabulary, sequences, length)
        assert counted["weights"] == 6 * multiplied * sequences * length
        assert counted["attention"] == 12 * layers * width * sequences * length**2


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
