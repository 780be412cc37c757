"""Three large CNNs, with as many trained weights as their authors' versions in Keras have, to be counted, not trained.

    with torch.device("meta"):
        model, size = CNNS["VGG-16"]()

size: of its images, in pixels. Built on the meta device, a model takes no memory.
"""

from __future__ import annotations

from types import MappingProxyType

import torch
from torch import Tensor, nn


class Branches(nn.Module):
    """Several ways through the network; their channels are put together."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        """x [B, C, H, W] -> [B, all branches' channels, H', W']."""
        return torch.cat([branch(x) for branch in self.branches], 1)


class Residual(nn.Module):
    """The sum of a block and of a shortcut past it."""

    def __init__(self, block: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.block, self.shortcut = block, shortcut

    def forward(self, x: Tensor) -> Tensor:
        """x [B, C, H, W] -> [B, C', H', W']."""
        return torch.relu(self.block(x) + self.shortcut(x))


class Shift(nn.Module):
    """BatchNorm without its factor, as in Inception V3: of a channel, only the shift is trained. Counts, no more."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.empty(channels, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """x [B, C, H, W] -> the same shape."""
        return x + self.bias


def conv(inputs: int, outputs: int, kernel: int | tuple[int, int], stride: int = 1, valid: bool = False) -> nn.Module:
    """Inception's convolution: no bias, a BatchNorm without factor, ReLU. valid: without padding."""
    sides = (kernel, kernel) if isinstance(kernel, int) else kernel
    padding = 0 if valid else (sides[0] // 2, sides[1] // 2)
    return nn.Sequential(nn.Conv2d(inputs, outputs, sides, stride, padding, bias=False), Shift(outputs), nn.ReLU())


def pooled(inputs: int, outputs: int) -> nn.Module:
    """An average over 3 x 3 pixels, then a 1 x 1 convolution."""
    return nn.Sequential(nn.AvgPool2d(3, 1, 1), conv(inputs, outputs, 1))


def inception_v3() -> tuple[nn.Module, int]:
    """Inception V3 without its auxiliary classifier; Szegedy and others 2015, arXiv:1512.00567. 23,817,352 weights."""
    chain, one = nn.Sequential, conv

    def a(inputs: int, pool: int) -> nn.Module:
        return Branches(
            one(inputs, 64, 1),
            chain(one(inputs, 48, 1), conv(48, 64, 5)),
            chain(one(inputs, 64, 1), conv(64, 96, 3), conv(96, 96, 3)),
            pooled(inputs, pool),
        )

    def b(middle: int) -> nn.Module:
        row, column = (1, 7), (7, 1)
        return Branches(
            one(768, 192, 1),
            chain(one(768, middle, 1), conv(middle, middle, row), conv(middle, 192, column)),
            chain(
                *(one(768, middle, 1), conv(middle, middle, column), conv(middle, middle, row)),
                *(conv(middle, middle, column), conv(middle, 192, row)),
            ),
            pooled(768, 192),
        )

    def c(inputs: int) -> nn.Module:
        def both() -> nn.Module:
            return Branches(conv(384, 384, (1, 3)), conv(384, 384, (3, 1)))

        return Branches(
            one(inputs, 320, 1),
            chain(one(inputs, 384, 1), both()),
            chain(one(inputs, 448, 1), conv(448, 384, 3), both()),
            pooled(inputs, 192),
        )

    def shrink(*branches: nn.Module) -> nn.Module:
        return Branches(*branches, nn.MaxPool2d(3, 2))

    model = chain(
        *(conv(3, 32, 3, 2, True), conv(32, 32, 3, valid=True), conv(32, 64, 3), nn.MaxPool2d(3, 2)),
        *(conv(64, 80, 1, valid=True), conv(80, 192, 3, valid=True), nn.MaxPool2d(3, 2)),
        *(a(192, 32), a(256, 64), a(288, 64)),
        shrink(conv(288, 384, 3, 2, True), chain(one(288, 64, 1), conv(64, 96, 3), conv(96, 96, 3, 2, True))),
        *(b(128), b(160), b(160), b(192)),
        shrink(
            chain(one(768, 192, 1), conv(192, 320, 3, 2, True)),
            chain(one(768, 192, 1), conv(192, 192, (1, 7)), conv(192, 192, (7, 1)), conv(192, 192, 3, 2, True)),
        ),
        *(c(1280), c(2048)),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)),
    )
    return model, 299


def resnet_101() -> tuple[nn.Module, int]:
    """ResNet-101, with biases in its convolutions; He and others 2015, arXiv:1512.03385. 44,601,832 weights."""

    def normed(inputs: int, outputs: int, kernel: int, stride: int = 1) -> list[nn.Module]:
        return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2), nn.BatchNorm2d(outputs)]

    def block(inputs: int, width: int, stride: int) -> nn.Module:
        outputs = 4 * width
        way = [*normed(inputs, width, 1), nn.ReLU(), *normed(width, width, 3, stride), nn.ReLU()]
        shortcut = nn.Identity() if inputs == outputs else nn.Sequential(*normed(inputs, outputs, 1, stride))
        return Residual(nn.Sequential(*way, *normed(width, outputs, 1)), shortcut)

    layers = [*normed(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for number, (width, count) in enumerate(zip((64, 128, 256, 512), (3, 4, 23, 3), strict=True)):
        for which in range(count):
            layers.append(block(inputs, width, 2 if number and not which else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)), 224


def vgg_16() -> tuple[nn.Module, int]:
    """VGG-16; Simonyan and Zisserman 2014, arXiv:1409.1556. 138,357,544 weights."""
    layers: list[nn.Module] = []
    inputs = 3
    for channels, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            layers += [nn.Conv2d(inputs, channels, 3, padding=1), nn.ReLU()]
            inputs = channels
        layers.append(nn.MaxPool2d(2))
    dense = [nn.Linear(25_088, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000)]
    return nn.Sequential(*layers, nn.Flatten(), *dense), 224


CNNS = MappingProxyType({"Inception V3": inception_v3, "ResNet-101": resnet_101, "VGG-16": vgg_16})
