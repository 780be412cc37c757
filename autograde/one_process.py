"""Verdict on a training step of several ranks, beside one process that has the micro-batches of all of them.

A gradient that ranks came to is taken apart: how much of each micro-batch is in it tells what went wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from autograde.check import Finding
from autograde.ddp_runs import left_in_grad, trained
from autograde.findings import Findings
from autograde.mean_loss import loss_mistakes
from autograde.whole_batch import Batch, Part, close, due_gradient, due_loss, one_thread, parts_of
from course.awkward_translator import state_row
from course.shares import weights_of

finding = Findings("""
world-size-lost 2
The gradient is {size} times too small on {size} ranks. DistributedDataParallel divides by the number of ranks, and the
number of tokens is that of all ranks.

gradients-summed 2
The gradient is {size} times too large on {size} ranks: a sum over the ranks where their average is due. Adam would
hide that, since it divides by the gradient's size; SGD does not.

loss-not-divided 2
The gradient is that of a sum over tokens: it grows with their number, so a long sentence makes a longer step.

mean-of-rank-means 2
The gradient is the mean of the ranks' own means. Their tokens are {tokens}: on the rank with the fewest, each counts
most. What do all ranks have to know?

mean-of-micro-batch-means 2
The gradient is the mean of the micro-batches' own means, though they hold different numbers of tokens.

micro-batches-not-averaged 2
The gradient is the sum of the micro-batches' own means: it grows with their number.

padding-counted 2
The number that the gradient is divided by is that of all places in the batches: {places}, with padding. Tokens are
{tokens}.

one-ranks-gradient 3
All of {size} ranks step with the gradient of rank {rank} alone. They agree, and yet the others' sentences are lost.

own-gradient-only 3
Each rank steps with the gradient of its own micro-batches alone, so the ranks' models drift apart.

one-micro-batch-only 2
Only the {which} of a rank's {count} micro-batches is in the gradient. What happens to `.grad` between two of them?

gradient-left-over 2
What lay in `.grad` before the call is still in the gradient of the step.

no-step 4
The parameters are where they were before: no step, or one without a gradient.

wrong-weights 2
The gradient is made of the micro-batches' gradients, but with wrong weights: {weights} times what is due, in the order
of the ranks.

wrong-gradient 4
The step is not one of plain SGD with any sum of the micro-batches' gradients at these parameters.

ranks-differ 3
After the step the ranks' parameters differ, so they train different models from now on.

frozen-moved 1
A frozen parameter has moved.
""")


@one_thread()
def step_mistakes(
    case: dict, model: torch.nn.Module, batches: Sequence[Sequence[Batch]], calls: Sequence[dict], explained: bool
) -> list[Finding]:
    """What is wrong with one step of plain SGD, and with what was returned. `model` makes the right step here.

    calls: `parameters` after it and `result`, by rank, as `autograde.ddp_runs.step_run` gives them. explained: whether
    it is known already why the gradients are wrong.
    """
    parts, before = parts_of(model, batches), torch.tensor(state_row(model), dtype=torch.float64)
    due = due_gradient(parts)
    with torch.no_grad():
        for parameter, own in zip(trained(model), due.split([each.numel() for each in trained(model)]), strict=True):
            parameter -= case["lr"] * own.reshape(parameter.shape)
    after = due_loss(parts_of(model, batches))
    moving = torch.cat([torch.full((each.numel(),), each.requires_grad) for each in model.parameters()])
    rows = [[math.nan if each is None else each for each in call["parameters"]] for call in calls]
    steps = [(before - torch.tensor(row, dtype=torch.float64)) / case["lr"] for row in rows]
    left = [left_in_grad(case, rank, len(due)) for rank in range(len(calls))]
    found = [] if explained else gradient_mistakes(parts, [step[moving] for step in steps], left)
    if any(bool((step[~moving] != 0).any()) for step in steps):
        found.append(finding("frozen-moved"))
    returned = (loss_mistakes(parts, rank, len(calls), call["result"], after) for rank, call in enumerate(calls))
    return found + next(filter(None, returned), [])


def gradient_mistakes(parts: Sequence[Part], used: Sequence[Tensor], left_over: Sequence[Tensor]) -> list[Finding]:
    """What is wrong with the gradients [d] that the ranks stepped with; `used` and `left_over`, in `.grad` before: by
    rank. NaN stands for a number that is not finite.
    """
    due = due_gradient(parts)
    if all(close(gradient, due) for gradient in used):
        return []
    if all(bool((gradient.abs() <= 1e-12 * due.abs().max()).all()) for gradient in used):
        return [finding("no-step")]
    columns = [part.gradient for part in parts] + list(left_over)
    taken = [weights_of(gradient, columns) for gradient in used]
    if any(weights is None for weights in taken):
        return [finding("wrong-gradient")]
    tokens = sum(part.tokens for part in parts)
    found, shares = [], [weights[: len(parts)] * tokens for weights in taken]  # 1 everywhere is right
    if any(bool((weights[len(parts) :].abs() > 1e-4 / tokens).any()) for weights in taken):
        found.append(finding("gradient-left-over"))
    if all(bool(((share - 1).abs() <= 1e-4).all()) for share in shares):
        return found or [finding("wrong-gradient")]
    return [*found, pattern_of(parts, shares)]


def pattern_of(parts: Sequence[Part], shares: Sequence[Tensor]) -> Finding:
    """The finding for how much of each part is in each rank's gradient; 1 is due of each. shares: [parts], by rank."""
    size, there = len(shares), [(share.abs() > 1e-4).tolist() for share in shares]
    ranks = [{part.rank for part, is_in in zip(parts, own, strict=True) if is_in} for own in there]
    if size > 1 and all(among == {rank} for rank, among in enumerate(ranks)):
        return finding("own-gradient-only")
    if size > 1 and len(ranks[0]) == 1 and all(among == ranks[0] for among in ranks):
        return finding("one-ranks-gradient", size=size, rank=next(iter(ranks[0])))
    if any(not torch.allclose(share, shares[0], rtol=1e-4, atol=1e-4) for share in shares):
        return finding("ranks-differ")
    share, own = shares[0], there[0]
    count = sum(part.rank == 0 for part in parts)
    for which, place in (("first", 0), ("last", count - 1)):
        if count > 1 and own == [number % count == place for number in range(len(parts))]:
            return finding("one-micro-batch-only", which=which, count=count)
    tokens, places = sum(part.tokens for part in parts), sum(part.places for part in parts)
    by_rank = [sum(part.tokens for part in parts if part.rank == rank) for rank in range(size)]
    told = {"size": size, "tokens": ", ".join(map(str, by_rank)), "places": places}
    for key, pattern in patterns(parts, size).items():
        if torch.allclose(share, pattern * tokens, rtol=1e-4, atol=0):
            if key.startswith("padding-counted"):
                told["tokens"] = tokens
            return finding(key.partition("/")[0], **told)
    return finding("wrong-weights", weights=", ".join(f"{value:.3g}" for value in share.tolist()))


def patterns(parts: Sequence[Part], size: int) -> dict[str, Tensor]:
    """Known mistakes, each with the weights [parts] of the summed losses that it gives; keys may end in /number."""
    counts = torch.tensor([part.tokens for part in parts], dtype=torch.float64)
    padded = torch.tensor([part.places for part in parts], dtype=torch.float64)
    per_rank = len(parts) // size
    own = counts.reshape(size, -1).sum(1).repeat_interleave(per_rank)
    own_padded = padded.reshape(size, -1).sum(1).repeat_interleave(per_rank)
    one = torch.ones_like(counts)
    return {
        "world-size-lost": one / (size * counts.sum()),
        "gradients-summed": size * one / counts.sum(),
        "mean-of-rank-means": 1 / (size * own),
        "mean-of-micro-batch-means": 1 / (len(parts) * counts),
        "padding-counted": one / padded.sum(),
        "padding-counted/2": 1 / (size * own_padded),
        "padding-counted/3": 1 / (len(parts) * padded),
        "padding-counted/4": one / (size * padded.sum()),
        "gradients-summed/2": 1 / own,
        "gradients-summed/3": 1 / (per_rank * counts),
        "micro-batches-not-averaged": 1 / (size * counts),
        "micro-batches-not-averaged/2": 1 / counts,
        "loss-not-divided": one / size,
        "loss-not-divided/2": one,
        "loss-not-divided/3": one / len(parts),
        "loss-not-divided/4": one / per_rank,
    }
