"""A small convolutional network for digits that normalises each image by itself."""

from __future__ import annotations

import torch
from torch import nn


def digit_cnn(seed: int) -> nn.Module:
    """A model that maps images [B, 1, H, W] to logits [B, 10]. seed: of its weights.

    GroupNorm (Wu and He 2018) takes its mean over groups of channels of one image, so a sample's loss does not depend
    on which other samples its rank has drawn. BatchNorm's does, and SyncBatchNorm is for GPUs only.
    """
    torch.manual_seed(seed)
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.GroupNorm(8, 32), nn.ReLU(), nn.AdaptiveAvgPool2d(4)),
        *(nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10)),
    )
