"""What a GPU keeps in training, by arithmetic: weights, gradients, optimizer state and activations, and their shards.

The model states follow Rajbhandari et al. 2020, arXiv:1910.02054, figure 1; the activations follow Korthikanti et al.
2022, arXiv:2205.05198, without attention's scores, which today's kernels do not keep.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from types import MappingProxyType

NODE = 8  # GPUs that a layer is cut over, at most
ASPECT = 128  # width over layers, as GPT-3 has it: 12,288 over 96
WEIGHTS_OF_A_LAYER = 12  # times the square of the width: 4 in attention, 8 in the MLP
KEPT_NUMBERS, KEPT_MASKS = 16, 2  # of a token in a layer, times the width: in the precision, and of one byte

# Bytes a weight. Mixed precision: the optimizer keeps the weights in float32 as well, beside Adam's two numbers.
BYTES = MappingProxyType(
    {
        "mixed": MappingProxyType({"weights": 2, "gradients": 2, "optimizer": 4 + 8}),
        "float32": MappingProxyType({"weights": 4, "gradients": 4, "optimizer": 8}),
    }
)
SHARED_FROM = MappingProxyType({"optimizer": 1, "gradients": 2, "weights": 3})  # the first stage of ZeRO that does
ONCE, EACH = (2, 2, 1, 0), (0, 0, 1, 3)  # by stage: reduce-scatters and all-gathers in a step, and in a micro-batch
FREE = 0.2  # of a GPU's memory, for buffers, for gaps, and for the layer that has just been gathered


@dataclass(frozen=True)
class Setting:
    """A Transformer and the machines for it.

    billions: of weights. gigabytes: of each GPU's memory. precision: "mixed" or "float32". tokens: that a GPU takes at
    once, a sequence at least. micro_batches: of a step. hidden_from: with so many tokens at once, a GPU computes as
    long as the gathers and sums of ZeRO 3 take; that is its speed in FLOP/s over its bandwidth in bytes/s, here 400e12
    over 50e9. Raises ValueError for what cannot be.
    """

    billions: float
    gpus: int
    gigabytes: float
    precision: str = "mixed"
    tokens: int = 4096
    micro_batches: int = 1
    hidden_from: int = 8000

    def __post_init__(self) -> None:
        if self.precision not in BYTES:
            raise ValueError(f"precision is {' or '.join(map(repr, BYTES))}, not {self.precision!r}")
        if self.gpus != int(self.gpus) or self.gpus < 1:
            raise ValueError(f"gpus has to be a number of GPUs, 1 or more, not {self.gpus!r}")
        if self.billions <= 0 or self.gigabytes <= 0 or self.tokens < 0:
            raise ValueError("billions and gigabytes have to be more than 0, and tokens 0 or more")
        if self.micro_batches != int(self.micro_batches) or self.micro_batches < 1:
            raise ValueError(f"micro_batches has to be a whole number, 1 or more, not {self.micro_batches!r}")

    @property
    def layers(self) -> float:
        """How many layers so many weights make, in a Transformer of GPT-3's proportions; no whole number."""
        return (self.billions * 1e9 / (WEIGHTS_OF_A_LAYER * ASPECT**2)) ** (1 / 3)

    @property
    def width(self) -> float:
        """Numbers of a token between two layers."""
        return ASPECT * self.layers

    @property
    def room(self) -> float:
        """Bytes of a GPU that may be filled."""
        return (1 - FREE) * self.gigabytes * 1e9

    @property
    def border(self) -> float:
        """Bytes of all tokens' numbers between two layers."""
        return self.tokens * self.width * BYTES[self.precision]["weights"]


@dataclass(frozen=True)
class Choice:
    """What is done to make a model fit.

    stage: of ZeRO, 0 to 3. recompute: keep what comes into a layer, and compute the rest again. tensor: GPUs that each
    layer is cut over, by tensor and by sequence parallelism. context: parts of each sequence, on top of that.
    """

    stage: int = 0
    recompute: bool = False
    tensor: int = 1
    context: int = 1


def kept(setting: Setting, choice: Choice) -> dict[str, float]:
    """Bytes that a GPU keeps, by part. Raises ValueError for a stage that is not there, or parts that do not divide."""
    if choice.stage not in range(len(ONCE)):
        raise ValueError(f"ZeRO has the stages 0 to 3, not {choice.stage!r}")
    if setting.gpus % (choice.tensor * choice.context):
        raise ValueError(f"{setting.gpus} GPUs do not make groups of {choice.tensor * choice.context}")
    own = setting.billions * 1e9 / choice.tensor
    ranks = setting.gpus // choice.tensor
    parts = {
        part: own * size / (ranks if choice.stage >= SHARED_FROM[part] else 1)
        for part, size in BYTES[setting.precision].items()
    }
    number = BYTES[setting.precision]["weights"]
    layer = setting.tokens * setting.width * (KEPT_NUMBERS * number + KEPT_MASKS)
    # The layer whose backward pass comes is there in full.
    activations = setting.layers * setting.border + layer if choice.recompute else setting.layers * layer
    return {**parts, "activations": activations / (choice.tensor * choice.context)}


def states(setting: Setting, choice: Choice) -> float:
    """Bytes that a GPU keeps before it has read a sample."""
    parts = kept(setting, choice)
    return sum(parts.values()) - parts["activations"]


def fits(setting: Setting, choice: Choice) -> bool:
    """Whether a GPU has room for what it keeps, with a fifth of its memory left free."""
    return total(setting, choice) <= setting.room


def total(setting: Setting, choice: Choice) -> float:
    """Bytes that a GPU keeps."""
    return sum(kept(setting, choice).values())


def sent(stage: int, micro_batches: int = 1) -> float:
    """What a step of ZeRO sends, in all-reduces of all gradients: 1 is plain data parallelism with `no_sync`."""
    return (ONCE[stage] + EACH[stage] * micro_batches) / 2


def node(setting: Setting) -> int:
    """How many GPUs a layer is cut over: as many as a node has, if they divide."""
    return gcd(setting.gpus, NODE)
