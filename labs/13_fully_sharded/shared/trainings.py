"""Models of layers, and what the ranks have of them, as both sides draw them from a seed."""

from __future__ import annotations

import torch

from .values import drawn


def calls_of(call: dict) -> list[dict]:
    """By layer, what `layers` draws it from."""
    return [
        {"sizes": [call["width"], hidden], "tied": number in call["tied"], "seed": call["seed"] + 1000 * number}
        | {"zeros": True}
        for number, hidden in enumerate(call["hidden"])
    ]


def batch_of(call: dict, rank: int, step: int, part: int) -> torch.Tensor:
    """A rank's samples in one micro-batch of a step."""
    return drawn(call["seed"] + 17 * rank + 1000 * step + 100 * part + 5, [2, call["width"]])
