"""What the samplers of several ranks draw, epoch by epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterable

# 14 samples, as 4 ranks drew them in 5 epochs: by epoch and rank.
RECORDED = (
    ((11, 13, 7, 9), (12, 0, 5, 3), (6, 4, 2, 11), (10, 1, 8, 12)),
    ((0, 9, 12, 11), (13, 1, 10, 3), (2, 5, 8, 0), (4, 6, 7, 13)),
    ((5, 9, 12, 0), (13, 8, 2, 11), (7, 6, 1, 5), (3, 4, 10, 13)),
    ((10, 5, 7, 12), (4, 0, 9, 11), (3, 8, 13, 10), (1, 2, 6, 4)),
    ((1, 7, 11, 10), (0, 2, 13, 4), (5, 9, 12, 1), (3, 8, 6, 0)),
)


def draws_of(sampler: Callable[..., Iterable[int]], samples: int, epochs: int, rank: int, size: int) -> list[list[int]]:
    """On a rank: what its sampler yields in each of some epochs.

    sampler: makes one from the number of samples, the rank, the number of ranks and a seed; it has a `set_epoch`.
    """
    made, drawn = sampler(samples, rank, size, 7), []
    for epoch in range(epochs):
        made.set_epoch(epoch)
        drawn.append(list(made))
    return drawn
