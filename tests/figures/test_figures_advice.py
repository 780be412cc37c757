"""What the tree of lecture 14 advises is never dearer than something that fits, by arithmetic written out here."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import gcd

import pytest

from course.figures.fitting.advice import advised, divisors, in_words, price, ways
from course.figures.fitting.shares import Choice, Setting, total

SETTINGS = [
    Setting(*numbers)
    for numbers in product(
        (0.3, 1, 4, 7.5, 30, 70, 405, 1000),
        (1, 8, 12, 64, 256, 2048),
        (24, 80, 141),
        ("mixed", "float32"),
        (512, 4096, 8192, 131_072, 2_000_000),
        (1, 8),
    )
]


def plain(setting: Setting, choice: Choice) -> tuple[float, tuple[float, ...]]:
    """Bytes of a GPU, and the price: sums, keys and values, weights and gradients, and work that is done again."""
    count, tensor, context, again = setting.billions * 1e9, choice.tensor, choice.context, choice.recompute
    ranks = setting.gpus / tensor
    layers = (count / 12 / 128 / 128) ** (1 / 3)
    number, optimizer, layer = (2, 12, 34) if setting.precision == "mixed" else (4, 8, 66)
    states = [number, number, optimizer]  # of weights, gradients and optimizer
    for part, stage in ((0, 3), (1, 2), (2, 1)):
        states[part] /= ranks if choice.stage >= stage else 1
    of_a_token = 128 * layers * (layers * number + layer if again else layers * layer)
    memory = sum(states) * count / tensor + setting.tokens * of_a_token / tensor / context

    steps = setting.micro_batches * tensor * context
    border = setting.tokens / context * 128 * layers * number
    sums = (6 if again else 4) * layers * border * steps * 2 * (tensor - 1) / tensor
    around = (8 if again else 6) * layers * border / tensor * steps * (context - 1)
    gathers = (2, 2, steps + 1, 3 * steps)[choice.stage] if ranks > 1 else 0
    return memory, (sums, around, gathers * number * count / tensor, 1 / 3 if again else 0)


def choices(setting: Setting) -> Iterator[Choice]:
    """All that can be done on so many GPUs, with a layer on those of a node at most."""
    for tensor in divisors(gcd(setting.gpus, 8)):
        for context in divisors(setting.gpus // tensor):
            for stage, again in product(range(4) if setting.gpus > tensor else (0,), (False, True)):
                yield Choice(stage, again, tensor, context)


def test_memory_and_price_are_plain_arithmetic() -> None:
    for setting in SETTINGS[::37]:
        for choice in choices(setting):
            memory, cost = plain(setting, choice)
            assert total(setting, choice) == pytest.approx(memory)
            assert price(setting, choice) == pytest.approx(cost)


def test_what_is_advised_fits_and_nothing_that_fits_costs_less() -> None:
    answered = 0
    for setting in SETTINGS:
        found = advised(setting)
        room = 0.8e9 * setting.gigabytes
        fitting = [each for each in map(lambda way: plain(setting, way), choices(setting)) if each[0] <= room]
        if found is None:
            assert fitting == [], setting
            continue
        memory, cost = plain(setting, found)
        assert memory <= room, setting
        # A little less is rounding.
        cheaper = [
            other
            for _, other in fitting
            if all(one <= two * (1 + 1e-9) for one, two in zip(other, cost, strict=True))
            and any(one < two * (1 - 1e-9) for one, two in zip(other, cost, strict=True))
        ]
        assert cheaper == [], setting
        answered += 1
    assert 0.5 * len(SETTINGS) < answered < len(SETTINGS)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (Setting(4, 64, 80, tokens=8192), "ZeRO 1"),  # and not recomputation
        (Setting(3, 1, 80, tokens=16_384), "recomputation"),
        (Setting(11, 64, 80), "ZeRO 2"),
        # With micro-batches, ZeRO 2 sends in each of them: it is the answer where many tokens hide that.
        (Setting(11, 64, 80, micro_batches=8), "ZeRO 2"),
        (Setting(12, 64, 80, tokens=2048, micro_batches=8), "ZeRO 1 and recomputation"),
        # Weights in shards or recomputation: what is hidden better.
        (Setting(13, 64, 80, tokens=8192), "ZeRO 3"),
        (Setting(13, 64, 80, tokens=8192, hidden_from=16_000), "ZeRO 1 and recomputation"),
        (Setting(70, 64, 80, tokens=8192), "ZeRO 3 and recomputation"),
        (Setting(7, 64, 80, tokens=1_000_000), "tensor over 8 GPUs, ZeRO 1 and recomputation"),
        (Setting(7, 64, 80, tokens=4_000_000), "tensor over 8 GPUs, context over 4, ZeRO 1 and recomputation"),
    ],
)
def test_the_order_is_that_of_prices(setting: Setting, words: str) -> None:
    assert in_words(advised(setting)) == words


def test_recomputation_comes_first_where_gathers_are_not_hidden() -> None:
    few, many = ([in_words(each) for each in ways(Setting(7, 64, 80, tokens=tokens))] for tokens in (4096, 8192))
    assert few.index("recomputation") < few.index("ZeRO 3")
    assert many.index("ZeRO 3") < many.index("recomputation")
    assert few[:3] == many[:3] == ["data parallelism", "ZeRO 1", "ZeRO 2"]
