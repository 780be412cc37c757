"""The model that lab 07 trains on handwritten digits: a small convolutional network."""

from __future__ import annotations

from torch import Tensor, nn


class DigitNet(nn.Sequential):
    """Images [B, 1, H, W] of any size from 8 x 8 on -> logits [B, 10]. About 25,000 weights.

    Two convolutions, each with batch normalisation, whose running statistics are buffers: state that no gradient moves.
    """

    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(1, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.AdaptiveMaxPool2d(3),
            nn.Flatten(),
            nn.Linear(32 * 9, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        )

    def forward(self, images: Tensor) -> Tensor:
        """images [B, 1, H, W] -> logits [B, 10]."""
        return super().forward(images)
