"""Which cuts to choose: the cheapest that fit, by the order of their prices."""

from __future__ import annotations

from typing import NamedTuple

from course.figures.fitting.shares import BYTES, EACH, ONCE, Choice, Setting, fits, node, sent

SUMS, FORWARD_SUMS = 4, 2  # of a tensor cut, in a layer: of a step without recomputation, and of one forward pass
AROUND, FORWARD_AROUND = 6, 2  # the same for keys and values, and their gradients, in borders that go around the ring
AGAIN = 1 / 3  # of a step's work: its forward pass


class Price(NamedTuple):
    """What a choice costs in a step, on the same batch.

    waits: bytes of the sums of a tensor cut that a GPU sends, while it waits. ring: bytes of keys and values. sent:
    bytes of weights and gradients that go into collectives; both travel while the GPU computes. recomputed: work that
    is done again, as part of the step's.
    """

    waits: float
    ring: float
    sent: float
    recomputed: float


def price(setting: Setting, choice: Choice) -> Price:
    """The price. GPUs that share their samples make so many times as many micro-batches for the same batch."""
    tensor, context = choice.tensor, choice.context
    micro_batches = setting.micro_batches * tensor * context
    borders = setting.layers * setting.border / context * micro_batches
    again = choice.recompute
    sums = SUMS + FORWARD_SUMS * again
    around = AROUND + FORWARD_AROUND * again
    weights = setting.billions * 1e9 / tensor * BYTES[setting.precision]["weights"]
    return Price(
        waits=sums * borders * 2 * (tensor - 1) / tensor,
        ring=around * borders / tensor * (context - 1),
        sent=2 * weights * sent(choice.stage, micro_batches) if setting.gpus > tensor else 0.0,
        recomputed=AGAIN * again,
    )


def duration(setting: Setting, cost: Price) -> float:
    """How long a step of this price takes, apart from what waits: its work, or what it sends for weights, whichever is
    longer. In the time that a GPU computes a token.
    """
    work = setting.micro_batches * setting.tokens * (1 + cost.recomputed)
    weights = setting.billions * 1e9 * BYTES[setting.precision]["weights"]
    return max(work, setting.hidden_from * cost.sent / (EACH[3] * weights))


def ways(setting: Setting, tensor: int = 1, context: int = 1) -> list[Choice]:
    """The stages of ZeRO with and without recomputation, from the fastest step to the slowest, for the same cuts."""
    stages = range(len(ONCE)) if setting.gpus > tensor else range(1)
    found = [Choice(stage, again, tensor, context) for again in (False, True) for stage in stages]

    def slowness(choice: Choice) -> tuple:
        cost = price(setting, choice)
        return duration(setting, cost), cost.sent, choice.recompute, choice.stage

    return sorted(found, key=slowness)


def advised(setting: Setting) -> Choice | None:
    """The first choice that fits: without a cut, then layers cut over more GPUs of a node, then the sequence as well.

    None if nothing fits.
    """
    wide = node(setting)
    cuts = [(tensor, 1) for tensor in divisors(wide)]
    cuts += [(wide, context) for context in divisors(setting.gpus // wide)[1:]]
    return next((each for cut in cuts for each in ways(setting, *cut) if fits(setting, each)), None)


def divisors(number: int) -> list[int]:
    """The numbers that divide it, from 1."""
    return [each for each in range(1, number + 1) if number % each == 0]


def in_words(choice: Choice) -> str:
    """Such as ``ZeRO 3 and recomputation``."""
    parts = [f"tensor over {choice.tensor} GPUs"] * (choice.tensor > 1)
    parts += [f"context over {choice.context}"] * (choice.context > 1)
    parts += [f"ZeRO {choice.stage}"] * (choice.stage > 0)
    parts += ["recomputation"] * choice.recompute
    if not parts:
        return "data parallelism"
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
