"""A sampler that moves one order along instead of drawing it anew is told, and no seed of the grading helps it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch

from autograde.contract.check import draw_cases
from autograde.contract.evidence import decoded
from autograde.probes.sampler_passes import passes_of
from autograde.rubric.judge import Call

from ..checks import ShuffledSampler

GRADINGS = range(10)


def drawn(n: int, seed: int) -> list[int]:
    """A random order."""
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed)).tolist()


def rolled(order: list[int], by: int) -> list[int]:
    """An order that begins elsewhere."""
    return order[by % len(order) :] + order[: by % len(order)]


def sampler_of(order_of: Callable[[int, int, int, int], list[int]]) -> type:
    """A sampler by its order, which is a function of samples, seed, epoch and size."""

    class Given(torch.utils.data.Sampler):
        def __init__(self, dataset_size: int, rank: int, size: int, seed: int = 0) -> None:
            self.n, self.rank, self.size, self.seed, self.epoch = dataset_size, rank, size, seed, 0

        def set_epoch(self, epoch: int) -> None:
            self.epoch = epoch

        def __len__(self) -> int:
            return -(-self.n // self.size)

        def __iter__(self):
            order = order_of(self.n, self.seed, self.epoch, self.size)
            return iter((order * (self.size + 1))[: len(self) * self.size][self.rank :: self.size])

    return Given


def graded(sampler: type, seed: int) -> tuple[float, list[str]]:
    """Score and keys of one grading, on ranks that are played in this process."""
    calls, check = [], ShuffledSampler.CHECK
    for case in draw_cases(check, seed):
        for number, plan in enumerate(case["calls"]):
            about = {**plan, "size": case["size"]}
            seen = [passes_of(sampler, "set_epoch", about, rank, plan["luck"] + rank) for rank in range(case["size"])]
            other = [[each["ids"] for each in own["passes"]] for own in seen] if plan["salt"] else None
            seen = [decoded(check.probe.seen, {**own, "other": other}) for own in seen]
            calls.append(Call(case=case, number=number, arguments=plan, seen=seen))
    wrong = [(row.points, each.key) for row in check.criteria if (each := row.wrong(calls)) is not None]
    return check.points - sum(points for points, _ in wrong), [key for _, key in wrong]


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("name", "order_of"),
    [
        (None, lambda n, seed, epoch, size: drawn(n, seed + epoch)),
        (None, lambda n, seed, epoch, size: drawn(n, 1000 * seed + epoch)),
        ("same-order-every-epoch", lambda n, seed, epoch, size: drawn(n, seed)),
        ("same-order-every-epoch", lambda n, seed, epoch, size: drawn(n, seed + epoch % 5)),
        ("seed-ignored", lambda n, seed, epoch, size: drawn(n, epoch)),
        *(
            ("only-rotated", lambda n, seed, epoch, size, by=by: rolled(drawn(n, seed), by * epoch))
            for by in (1, 4, 13, 26)
        ),
        (
            "only-rotated",
            lambda n, seed, epoch, size: rolled(drawn(n, seed), random.Random(f"{seed} {epoch}").randrange(n)),
        ),
        ("only-rotated", lambda n, seed, epoch, size: rolled(drawn(n, 0), seed + epoch)),
        ("only-rotated", lambda n, seed, epoch, size: rolled(list(range(n)), seed + epoch)),
        ("only-rotated", lambda n, seed, epoch, size: rolled(drawn(n, seed), epoch * size)),
        ("only-rotated", lambda n, seed, epoch, size: rolled(drawn(n, seed), epoch * -(-n // size))),
        ("only-rotated", lambda n, seed, epoch, size: drawn(n, seed)[:: -1 if epoch % 2 else 1]),
        ("only-rotated-by-seed", lambda n, seed, epoch, size: rolled(drawn(n, epoch), seed)),
    ],
)
def test_a_sampler_gets_the_same_finding_and_score_in_each_grading(name, order_of):
    results = [graded(sampler_of(order_of), seed) for seed in GRADINGS]
    assert all(name in keys if name else not keys for _, keys in results)
    assert len({score for score, _ in results}) == 1
