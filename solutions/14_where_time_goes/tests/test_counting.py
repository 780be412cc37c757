"""What PyTorch counts of a small Transformer's training step."""

from __future__ import annotations

import random

from seeds import SEED

from course.models.decoder import Decoder

from ..checks.counting import counted_flops


def test_a_step_takes_six_operations_for_each_weight_and_token_and_attention_besides():
    rng = random.Random(SEED)
    for _ in range(3):
        layers, width, hidden, vocabulary, sequences, length = (rng.randint(1, 9) for _ in range(6))
        weights = sum(each.numel() for each in Decoder(layers, width, hidden, vocabulary).parameters())
        multiplied = weights - vocabulary * width  # all but the embedding
        counted = counted_flops(layers, width, hidden, vocabulary, sequences, length)
        assert counted["weights"] == 6 * multiplied * sequences * length
        assert counted["attention"] == 12 * layers * width * sequences * length**2
