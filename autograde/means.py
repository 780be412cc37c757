"""Verdicts on a mean over all ranks' samples that all ranks are due to return: a loss, over unequal batches."""

from __future__ import annotations

from collections.abc import Sequence

from autograde.check import Finding
from autograde.findings import Findings
from autograde.replicas import close
from course.report import name_ranks

TOLERANCE = 1e-5  # relative: a sum in float32 stays below it

finding = Findings("""
no-number 3
{who} returns what is of type {kind}, and there is no finite number in it.

not-a-float 0.5
{who} returns what is of type {kind}. The lab asks for a float.

own-loss-only 2
Each rank returns the mean loss of its own samples. What of the other ranks' samples?

rank-0s-loss 2
All ranks return the mean loss of rank 0's samples. What of the other ranks' samples?

mean-of-batches 2
The result is the mean of the batches' means, as if all batches were of the same size. They hold {held} samples.

mean-of-ranks 2
The result is the mean of the ranks' means, as if all ranks had drawn equally many samples. They drew {drawn}.

sum-for-mean 2
The result is a sum that grows with the number of {what}. A mean is asked for.

wrong-divisor 2
The result is the sum of all losses divided by {divisor}. The ranks drew {n} samples.

ranks-differ 2
The ranks return different numbers: {values}. All of them know the same at the end.

wrong-loss 2
The result is {value:.6g}. The mean loss of all samples drawn is another number.
""")


def returned(results: Sequence[dict]) -> list[Finding]:
    """What is wrong with the types of the ranks' results, as `autograde.probes.described` gives them."""
    for rank, result in enumerate(results):
        about = {"who": name_ranks([rank]).capitalize(), "kind": result["type"]}
        if result["value"] is None:
            return [finding("no-number", **about)]
        if not result["float"]:
            return [finding("not-a-float", **about)]
    return []


def matching(values: Sequence[float], candidates: dict[str, list[float]]) -> str | None:
    """The first of `candidates`, numbers by rank, that the ranks' values are."""

    def fits(due: list[float]) -> bool:
        return all(close(value, one, TOLERANCE) for value, one in zip(values, due, strict=True))

    return next((key for key, due in candidates.items() if fits(due)), None)


def loss_candidates(losses: Sequence[Sequence[float]], sizes: Sequence[Sequence[int]]) -> dict[str, list[float]]:
    """What each rank returns, by the mistake that makes it do so; the right mean is under "right".

    losses: means of the batches, [rank][step]. sizes: samples in them.
    """
    ranks = len(losses)
    sums = [sum(x * n for x, n in zip(*own, strict=True)) for own in zip(losses, sizes, strict=True)]
    drawn = [sum(own) for own in sizes]
    means = [total / n for total, n in zip(sums, drawn, strict=True)]
    rows = [sum(own) / len(own) for own in losses]  # each rank's mean of batches

    def on_all(value: float) -> list[float]:
        return [value] * ranks

    return {
        "right": on_all(sum(sums) / sum(drawn)),
        "own-loss-only": means,
        "own-loss-only, by batches": rows,
        "rank-0s-loss": on_all(means[0]),
        "rank-0s-loss, by batches": on_all(rows[0]),
        "mean-of-ranks": on_all(sum(means) / ranks),
        "mean-of-batches": on_all(sum(rows) / ranks),
        "sum-for-mean of samples": on_all(sum(sums)),
        "sum-for-mean of ranks": on_all(sum(means)),
        "sum-for-mean of ranks, by batches": on_all(sum(rows)),
        "sum-for-mean of batches": on_all(sum(map(sum, losses))),
        "own-loss-only, summed": sums,
        "own-loss-only, by batches, summed": [sum(own) for own in losses],
    }


def apart(losses: Sequence[Sequence[float]], sizes: Sequence[Sequence[int]]) -> bool:
    """Whether no mistake that unequal numbers make gives almost the right number by chance. One rank makes few."""
    due = loss_candidates(losses, sizes)
    ranks = ("own-loss-only", "rank-0s-loss", "mean-of-ranks") if len(losses) > 1 else ()
    names = [*ranks, "mean-of-batches"]
    return all(abs(one - due["right"][0]) > 1e-3 * due["right"][0] for name in names for one in due[name])


def loss_mistakes(results: Sequence[dict], losses: Sequence[Sequence[float]], sizes: Sequence) -> list[Finding]:
    """What is wrong with an epoch's mean loss, as each rank returned it. losses, sizes: as in `loss_candidates`."""
    found = returned(results)
    if found and found[0].key == "no-number":
        return found
    values = [result["value"] for result in results]
    match = matching(values, loss_candidates(losses, sizes))
    if match == "right":
        return found
    drawn = ", ".join(str(sum(own)) for own in sizes)
    held = ", ".join(str(count) for count in sorted({count for own in sizes for count in own}))
    if match is not None:
        key, _, what = match.partition(",")[0].partition(" of ")
        return [*found, finding(key, what=what, drawn=drawn, held=held, n=sum(map(sum, sizes)))]
    if differ := different(values):
        return [*found, differ]
    total = sum(x * n for own in zip(losses, sizes, strict=True) for x, n in zip(*own, strict=True))
    divisor = total / values[0] if values[0] else 0.0
    if divisor > 0.5 and close(divisor, round(divisor), TOLERANCE):
        return [*found, finding("wrong-divisor", n=sum(map(sum, sizes)), divisor=round(divisor))]
    return [*found, finding("wrong-loss", value=values[0])]


def different(values: Sequence[float]) -> Finding | None:
    """A finding if the ranks' numbers are not the same."""
    if all(close(value, values[0], TOLERANCE) for value in values):
        return None
    return finding("ranks-differ", values=", ".join(f"{value:.6g}" for value in values))
