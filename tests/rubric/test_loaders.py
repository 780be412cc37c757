"""Loaders of several ranks are judged by the samples in their batches."""

from types import SimpleNamespace

import pytest

from autograde.rubric import CUT, Call, Criterion, dealt_out, in_batches, shared_evenly

SHARED = Criterion("shared", 1, "", shared_evenly)
BATCHES = Criterion("batches", 1, "", in_batches, CUT)
RIGHT = dealt_out(range(14), 4)


def keys(shares: list[list[int]], batch: int = 3) -> list[str]:
    """What is wrong if ranks draw these samples, in batches of this size."""
    passes = [[[own[first : first + batch] for first in range(0, len(own), batch)]] for own in shares]
    arguments = {"samplers": [[14, False, 1]], "passes": [[0, 0]], "batch_size": 3}
    call = Call({}, 0, arguments, [SimpleNamespace(passes=own) for own in passes])
    return [wrong.key for wrong in (SHARED.wrong([call]), BATCHES.wrong([call])) if wrong]


@pytest.mark.parametrize(
    ("shares", "batch", "due"),
    [
        (RIGHT, 3, []),
        (RIGHT, 2, ["wrong-batches"]),
        (RIGHT, 1, ["batch-size-divided"]),
        ([[*range(14)]] * 4, 3, ["whole-set-on-every-rank"]),
        ([own[:3] for own in RIGHT], 3, ["last-batch-dropped"]),
        ([RIGHT[0], RIGHT[0], *RIGHT[2:]], 3, ["overlapping-shards"]),
        (RIGHT[::-1], 3, []),
    ],
)
def test_loaders_are_judged_by_the_samples_that_they_draw(shares, batch, due):
    assert keys(shares, batch) == due
