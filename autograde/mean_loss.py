"""Verdict on the mean loss per token that a rank returned, where that of all tokens of all ranks is due."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autograde.check import Finding
from autograde.findings import Findings
from autograde.whole_batch import TOLERANCE, Part, due_loss

finding = Findings("""
loss-of-one-rank 1
Rank {rank} returns {value:.6g}: the mean of its own tokens. Over all ranks it is {due:.6g}.

loss-after-step 1
The loss that is returned is the one after the step. Due is the one before it: {due:.6g}.

loss-mean-of-means 1
Rank {rank} returns {value:.6g}: a mean of means of unequal parts. Over all tokens of all ranks the mean is {due:.6g}.

loss-with-padding 1
Rank {rank} returns {value:.6g}: the summed loss over all places, padding included. Over the tokens it is {due:.6g}.

loss-not-per-token 1
Rank {rank} returns {value:.6g}: {times} times the mean loss per token over all ranks, which is {due:.6g}.

wrong-loss 1.5
Rank {rank} returns {value:.6g}. The mean loss per token over all ranks is {due:.6g}.

not-a-float 0.5
What rank {rank} returns is of type {kind}, not a float.

no-number 1.5
What rank {rank} returns is of type {kind}, and there is no finite number in it.
""")


def loss_mistakes(
    parts: Sequence[Part], rank: int, size: int, result: dict, after: float | None = None
) -> list[Finding]:
    """What is wrong with what a rank returned for the mean loss per token, as `autograde.probes.described` gives it.

    parts: all micro-batches, as they were before the step. after: the right answer after it, if there is a step.
    """
    value, due = result["value"], due_loss(parts)
    if value is None:
        return [finding("no-number", rank=rank, kind=result["type"])]
    found = [] if result["float"] else [finding("not-a-float", rank=rank, kind=result["type"])]
    told: dict[str, Any] = {"rank": rank, "value": value, "due": due}

    def is_near(other: float) -> bool:
        return abs(value - other) <= TOLERANCE * abs(other)

    if is_near(due):
        return found
    by_rank = [[part for part in parts if part.rank == each] for each in range(size)]
    means = [due_loss(own) for own in by_rank if own]
    whole = math.fsum(part.loss for part in parts)
    means_of_means = [
        sum(means) / len(means),
        sum(part.loss / part.tokens for part in parts) / len(parts),
        sum(mean_of(own) for own in by_rank if own) / len(means),
    ]
    if any(is_near(due * times) for times in (size, 1 / size, sum(part.tokens for part in parts))):
        return [*found, finding("loss-not-per-token", times=f"{value / due:.4g}", **told)]
    known: list[tuple[str, list[float]]] = [
        ("loss-mean-of-means", means_of_means),
        ("loss-of-one-rank", [mean / times for mean in means for times in (1, size)]),
        ("loss-of-one-rank", [mean_of(own) for own in by_rank if own]),
        ("loss-after-step", [] if after is None else [after]),
        ("loss-with-padding", [whole / sum(part.places for part in parts)]),
    ]
    for key, values in known:
        if any(map(is_near, values)):
            return [*found, finding(key, **told)]
    return [*found, finding("wrong-loss", **told)]


def mean_of(parts: Sequence[Part]) -> float:
    """The mean of the parts' own means."""
    return sum(part.loss / part.tokens for part in parts) / len(parts)
