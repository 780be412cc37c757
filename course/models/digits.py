"""A small convolutional network for digits, and a training set that takes seconds."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.data import Subset

from course.data import Digits, digits

BATCH = 64  # images in a step, on all ranks together
MOST = 12_800  # images to train on; MNIST has more


def digit_model(seed: int) -> nn.Module:
    """A model that maps images [B, 1, H, W] to logits [B, 10]. seed: of its weights."""
    torch.manual_seed(seed)
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4)),
        *(nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10)),
    )


def some_digits() -> tuple[Subset, Digits]:
    """A training set of whole batches, and the test set, the same on each rank."""
    train_set, test_set = digits()
    return Subset(train_set, range(min(len(train_set), MOST) // BATCH * BATCH)), test_set
