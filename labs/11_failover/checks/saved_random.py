"""Verdicts on the random numbers in a checkpoint of lab 11."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch

from autograde.contract.calls import with_article
from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding, hiding
from autograde.verdicts.diagnosis import diagnose

from .common import generator_after, next_number

finding = Findings("""
random-missing 2
The file has no list "random". Dropout would drop other units after a resume, and the training take another path.

ranks-missing 2
The list "random" has {count} entries for {size} ranks. Each rank draws numbers of its own.

not-a-state 1.5
Entry {rank} of "random" should be a list that holds the state of a generator, a ByteTensor on the CPU. It holds {what}.

rank-0-for-all 2
All entries of "random" are rank 0's. The ranks have drawn different numbers, and would draw the same from then on.

seed-not-state 2
The entries of "random" are generators as they were seeded, not as they are now: numbers that have been drawn would come
once more.

one-draw-too-late 1.5
The entries of "random" are states some numbers later than at the call. What has drawn in between?

out-of-order 2
The entries of "random" are the ranks' states, in another order. Entry r belongs to rank r.

other-random 2
Entry {rank} of "random" is not the state that rank {rank} had at the call.
""")

FEW = 20  # draws


def random_mistakes(luck: Sequence[Sequence[int]], random: Sequence | None) -> Iterator[Finding | Diagnosis]:
    """What is wrong with the random numbers in a file.

    luck: of each rank, see `generator_after`. random: for each entry, its states; None where there is no list.
    """
    size = len(luck)
    if not random:
        yield finding("random-missing")
    elif len(random) != size:
        yield finding("ranks-missing", count=len(random), size=size)
    elif bad := [rank for rank, states in enumerate(random) if not is_state(states)]:
        states = random[bad[0]]
        what = "no list" if states is None else "nothing" if not states else with_article(states[0]["kind"])
        yield hiding(finding("not-a-state", rank=bad[0], what=what), *finding.some("other-random"))
    else:
        actual = [states[0]["next"] for states in random]
        expected = [next_number(generator_after(each)) for each in luck]
        wrong = [rank for rank, pair in enumerate(zip(actual, expected, strict=True)) if pair[0] != pair[1]]
        candidates = {
            "rank-0-for-all": [expected[0]] * size,
            "seed-not-state": [next_number(generator_after([seed, 0])) for seed, _ in luck],
        }
        if wrong and sorted(actual) == sorted(expected):
            candidates["out-of-order"] = actual
        late = [later(each) for each in luck]
        if all(value in numbers for value, numbers in zip(actual, late, strict=True)):
            candidates["one-draw-too-late"] = actual
        about = partial(finding, rank=wrong[0] if wrong else 0)
        yield diagnose("random", actual, expected, candidates, about, "other-random")


def is_state(states: Sequence[dict] | None) -> bool:
    """Whether an entry begins with the state of a generator."""
    return bool(states) and states[0]["kind"] == "torch.ByteTensor" and states[0]["next"] is not None


def later(luck: Sequence[int]) -> set[float]:
    """What comes next after one to FEW more draws."""
    found = set()
    for more in range(1, FEW + 1):
        generator = generator_after(luck)
        for _ in range(more):
            torch.rand(1, generator=generator)
        found.add(next_number(generator))
    return found
