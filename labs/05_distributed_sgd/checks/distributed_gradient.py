"""The check of `distributed_gradient`."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from types import MappingProxyType
from typing import Any

import numpy as np

from autograde.contract.calls import described, type_in_words
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import boolean, described_value, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.collectives import one_allreduce
from autograde.verdicts.judged import Call, JudgedCalls
from autograde.verdicts.numbers import on_all

MOST = 24  # bytes of the reduction: three float64
SEVERAL = frozenset({"allreduce-in-the-loop", "too-many-bytes"})  # said here in other words

finding = Findings("""
not-dm-and-dn 3
Rank {rank} returns {kind}. Two floats are expected: the derivative by m, and the one by n.

rank-means-averaged 2
The ranks have {counts} samples. Your result is the mean of the ranks' own gradients, so a sample on a rank that has few
counts more than one on a rank that has many. What has to be added up over the ranks before anything is divided?

gradients-added 2
The ranks' mean gradients are added up, so the result grows with the number of ranks. The gradient of a mean is
expected: what should the sum be divided by?

divided-by-own-count 2
Each rank divides the sum over all ranks by a count of its own, so the ranks disagree. Who knows how many samples there
are on all ranks?

divided-by-ranks 2
The sum over all samples is divided by the number of ranks, {size}. How many samples does it go over?

sum-over-samples 2
The result is a sum over all samples, which is not divided by their number.

count-rounded 2
The number of samples in your result is not a whole average: the ranks have {counts} samples, and an average of whole
numbers loses what is behind the point.

factor-two-missing 1
Each part is half of what is expected. Differentiate the square once more.

uphill-or-down 1
Each part has the wrong sign. The gradient points uphill, and the step against it comes later.

several-reductions 1
One call of your function makes {n} reductions, and each of them keeps all ranks waiting. Can what they carry travel
together?

reduction-too-large 1
The reduction carries {bytes} bytes a rank, where three float64 are enough, 24 bytes. What can a rank add up by itself
first?
""")


def parts(plan: dict) -> list[tuple[float, float, int]]:
    """By rank: the sums of its samples' derivatives by m and by n, and their number."""
    found = []
    for xs, ys in zip(plan["x"], plan["y"], strict=True):
        x, y = np.array(xs), np.array(ys)
        error = 2 * (plan["m"] * x + plan["n"] - y)
        found.append((float((error * x).sum()), float(error.sum()), len(xs)))
    return found


def mistakes(sums: list[float], counts: list[int]) -> dict[str, Any]:
    """What known mistakes make of one derivative: a number, or one by rank. sums, counts: by rank."""
    size, total, n = len(sums), sum(sums), sum(counts)
    own = [part / count if count else 0.0 for part, count in zip(sums, counts, strict=True)]
    filled = sum(1 for count in counts if count)
    found: dict[str, Any] = {
        "rank-means-averaged": sum(own) / size,
        "rank-means-averaged/none empty": sum(own) / filled,
        "gradients-added": sum(own),
        "own-part-only": own,
        "own-part-only/of all": [part / n for part in sums],
        "divided-by-own-count": [total / count if count else None for count in counts],
        "divided-by-own-count/times size": [total / (count * size) if count else None for count in counts],
        "divided-by-own-count/at least one": [total / max(1, count) for count in counts],
        "divided-by-own-count/at least one, times size": [total / (max(1, count) * size) for count in counts],
        "divided-by-ranks": total / size,
        "sum-over-samples": total,
        "average-for-sum": total / n / size,
        "factor-two-missing": total / n / 2,
        "uphill-or-down": -total / n,
    }
    if n % size:
        found["count-rounded"] = total / size / max(1, n // size)
        found["count-rounded/up"] = total / size / (-(-n // size))
        found["count-rounded/times size"] = total / (n // size * size or 1)
    return found


class DistributedGradient(CallCheck, JudgedCalls):
    """Unequal shares, some of them empty, and one reduction of three numbers."""

    todo, points, needs = "distributed_gradient", 3, "horovod"
    consolidation = (
        "Sums can be added over ranks, and means cannot: so the sums travel, together with the count. Then N ranks "
        "give the gradient of one process with all samples."
    )
    prices = MappingProxyType({"reduce-not-allreduce": 2, "collective-skipped": 3, "uneven-collectives": 3})

    def cases(self, rng: random.Random) -> list[dict]:
        """Ranks with many samples, with few and with none, on 4, 3, 2 ranks and one."""

        def call(*counts: int) -> dict:
            draw = {name: [[rng.uniform(-3, 3) for _ in range(k)] for k in counts] for name in "xy"}
            return {"m": rng.uniform(1, 2), "n": rng.uniform(1, 2), **draw}

        def case(*counts: tuple[int, ...]) -> dict:
            size = len(counts[0])
            return {"size": size, "calls": [call(*each) for each in counts], "late": rng.randrange(size)}

        cases = [case((7, 1, 4, 2), (3, 0, 5, 1)), case((2, 9, 3), (0, 0, 4)), case((1, 4)), case((5,))]
        return cases

    @staticmethod
    def call(function: Callable, rank: Rank, call: dict) -> dict:
        """The two derivatives."""
        import torch

        x, y = (rank.argument(name, torch.tensor(call[name][rank.rank], dtype=torch.float64)) for name in "xy")
        value = function(call["m"], call["n"], x, y)
        try:
            one, two = value
        except (TypeError, ValueError):
            kind = type_in_words(value)
            return {"two": False, "kind": kind, "dm": described(None), "dn": described(None)}
        return {"two": True, "kind": "", "dm": described(one), "dn": described(two)}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """Two values."""
        return {"two": boolean(), "kind": string(), "dm": described_value(), "dn": described_value()}

    def empty(self, case: dict, plan: dict) -> Collection[int]:
        """Ranks without samples."""
        return [rank for rank, own in enumerate(plan["x"]) if not own]

    def judge(self, case: dict, call: Call) -> list[Finding | Diagnosis]:
        """Both derivatives, and the reduction."""
        if False in call.of("two"):
            rank = call.of("two").index(False)
            return [finding("not-dm-and-dn", rank=rank, kind=call.of("kind")[rank])]
        *sums, counts = (list(each) for each in zip(*parts(call.plan), strict=True))
        about = {"counts": ", ".join(map(str, counts)), "size": call.size}
        found: list[Finding | Diagnosis] = []
        right = True
        for name, own in zip(("dm", "dn"), sums, strict=True):
            expected = sum(own) / sum(counts)
            found += on_all(
                call.of(name),
                expected,
                mistakes(own, counts),
                lambda key, **seen: finding(key, **{**seen, **about}),
                empty=self.empty(case, call.plan),
                subject="gradient",
            )
            values = [each["value"] for each in call.of(name)]
            right &= all(value is not None and abs(value - expected) < 1e-5 for value in values)
        return [*found, *self.communication(call, right)]

    def communication(self, call: Call, right: bool) -> list[Finding]:
        """What is wrong with the reduction."""
        if call.size == 1:
            return []
        found = one_allreduce("horovod", call.events, right)
        keys, kept = {each.key for each in found}, [each for each in found if each.key not in SEVERAL]
        if "allreduce-in-the-loop" in keys:
            kept.append(finding("several-reductions", n=max(map(len, call.events))))
        sent = max((event["bytes"] or 0 for log in call.events for event in log), default=0)
        if "too-many-bytes" in keys and sent > MOST:
            kept.append(finding("reduction-too-large", bytes=sent))
        return kept


CHECK = DistributedGradient()
