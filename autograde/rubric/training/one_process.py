"""N ranks are one process: the judge of a gradient that ranks put together from those of their micro-batches.

A gradient that ranks came to is taken apart by least squares: how much of each micro-batch is in it names the mistake.
It works for any model and loss. A gradient [d] is that of all parameters which are not frozen, in one row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from autograde.rubric.training.parts import Part
from autograde.rubric.words import Words, Wrong

TOLERANCE = 1e-5  # relative: numbers of items, or a loss, may have gone through float32
WEIGHT = 1e-4  # how much of a part's share is nothing, or rounding
MOST = 8  # weights that a finding lists

# Of a model and a batch: the loss summed over samples or tokens, how many these are, and places, as in `Part`.
Loss = Callable[[torch.nn.Module, Any], tuple[Tensor, int, int]]
Pattern = Tensor | Callable[[Sequence[Tensor]], bool]

words = Words("""
world-size-lost: The gradient is {size} times too small on {size:rank}. It is divided by the number of ranks, and then
by the number of {items} of all ranks, too. Which of the two divisions is one too many?

gradients-summed: The gradient is {size} times too large on {size:rank}: the ranks' gradients are added up where their
average is expected. Adam would hide that, since it divides by the size of the gradient; SGD does not.

sum-not-mean: The gradient is that of a sum over {items}, not of their mean: it grows with their number. What should it
be divided by?

mean-of-rank-means: The gradient is the mean of the ranks' own means. They have {by_rank} {items}: on the rank with the
fewest, each of them counts most. Which number do all ranks need to know?

mean-of-micro-batch-means: The gradient is the mean of the micro-batches' own means, though these hold different numbers
of {items}: {by_part}. How much should each micro-batch count?

micro-batches-not-averaged: The gradient is the sum of the micro-batches' own means: it grows with their number. How
much should each micro-batch count?

padding-counted: The gradient is divided by the number of all places in the batches, {places}, padding included. The
number of {items} is {total}. Which places count?

one-ranks-gradient: All {size:rank} step with the gradient of rank {rank} alone. They agree with each other, and yet the
{items} of the other ranks are lost.

own-gradient-only: Each of {size:rank} steps with its own gradient alone, so the ranks' models drift apart. What should
average the gradients, and is it in use?

one-micro-batch-only: Only number {which} of {count} micro-batches is in the gradient. What happens to `.grad` between
two of them?

wrong-sign: The gradient points the other way: a step against it leads uphill.

gradient-carried-over: What was in `.grad` before is still part of the step's gradient: `backward` adds to what is
there. When does your code start from zero?

no-step: The parameters are where they were before: there was no step, or one with a gradient of zero. In which order do
`zero_grad`, `backward` and `step` come?

models-differ: After the step the ranks' parameters differ, so from now on they train different models. What should make
their gradients the same?

divided-by-own-items: Each rank divides by the number of its own {items}: {by_rank}. So the ranks' gradients differ, and
from now on they train different models. Which number do all ranks need to know?

wrong-weights: The gradient is made of the right {parts}, but {weights}. Is anything else scaling the gradient, such as
a factor, a second division, or clipping?

wrong-gradient: No weighting of the {parts}' gradients gives the gradient of this step: {seen}. The two usual suspects:
the model was in another mode or had other parameters in between, or something besides `backward` changes `.grad`.
""")


@dataclass(frozen=True)
class MicroBatch(Part):
    """One micro-batch of one rank. gradient: [d], of `total`, its loss summed over `count` samples or tokens."""

    gradient: Tensor = field(kw_only=True)


def mean_over_samples(loss_fn: Callable[[Tensor, Tensor], Tensor]) -> Loss:
    """For batches (inputs, targets), a `loss_fn` that is the mean over its batch."""

    def loss(model: torch.nn.Module, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, int, int]:
        inputs, targets = batch
        return loss_fn(model(inputs), targets) * len(inputs), len(inputs), 0

    return loss


def with_gradients(
    model: torch.nn.Module, loss: Loss, batches: Iterable[Iterable[Any]], names: Sequence[str] | None = None
) -> list[MicroBatch]:
    """Each micro-batch of each rank, at the parameters and in the mode that `model` has. batches: by rank.

    names: of the parameters whose gradient is meant; None: all that are not frozen.
    """
    parameters = dict(model.named_parameters())
    trained = [own for name, own in parameters.items() if (own.requires_grad if names is None else name in names)]
    parts = []
    for rank, own in enumerate(batches):
        for batch in own:
            total, count, places = loss(model, batch)
            found = torch.autograd.grad(total, trained, materialize_grads=True)
            row = torch.cat([each.flatten() for each in found])
            parts.append(MicroBatch(rank, total.item(), count, places, gradient=row))
    return parts


def expected_gradient(parts: Sequence[MicroBatch]) -> Tensor:
    """Gradient [d] of the mean loss over the items of all parts."""
    return torch.stack([part.gradient for part in parts]).sum(0) / sum(part.count for part in parts)


def row_of(numbers: Sequence[float | None]) -> Tensor:
    """Numbers, None for what is not finite, as a row [d] of float64, with NaN for None."""
    return torch.tensor([math.nan if each is None else each for each in numbers], dtype=torch.float64)


def close(value: Tensor, expected: Tensor) -> bool:
    """Whether all entries are as they should be, but for what float32 may do to a common factor."""
    return bool(((value - expected).abs() <= TOLERANCE * expected.abs().max()).all())


def same_gradient(actual: Sequence[float | None], expected: Tensor) -> bool:
    """Whether numbers, None for what is not finite, are those expected, [d]."""
    given = row_of(actual)
    return given.shape == expected.shape and close(given, expected)


def weights_of(gradient: Tensor, parts: Sequence[Tensor]) -> Tensor | None:
    """The weights [k] with which `parts`, k gradients [d] with k < d, add up to `gradient` [d].

    Least squares; None where no weights do, to a relative 1e-5, as where `gradient` holds NaN or infinity.
    """
    if not bool(gradient.isfinite().all()):
        return None
    matrix = torch.stack(list(parts), 1).double()
    weights = torch.linalg.lstsq(matrix, gradient.double()[:, None], driver="gelsd").solution[:, 0]
    fits = bool(((matrix @ weights - gradient).abs() <= 1e-5 * gradient.abs().max()).all())
    return weights if fits else None


def mean_gradient(
    parts: Sequence[MicroBatch],
    gradients: Sequence[Sequence[float | None]],
    left: Sequence[Tensor] = (),
    items: str = "samples",
) -> list[Wrong]:
    """Of each rank's gradient, numbers in a row: it is that of the mean loss over the samples of all micro-batches.

    parts: the micro-batches of all ranks. left: rows [d] that may have lain in `.grad` before, and count for nothing;
    that they do count is told by itself, as `gradient-carried-over`. items: what there are, if no samples.
    """
    used = [row_of(each) for each in gradients]
    expected, total = expected_gradient(parts), sum(part.count for part in parts)
    if all(bool((gradient.abs() <= 1e-12 * expected.abs().max()).all()) for gradient in used):
        return [words("no-step")]
    if all(close(gradient, expected) for gradient in used):
        return []
    taken = [weights_of(gradient, [*(part.gradient for part in parts), *left]) for gradient in used]
    one, found = torch.ones(len(parts), dtype=torch.float64), []
    shares, explained = [one] * len(used), all(weights is not None for weights in taken)
    if explained:
        shares = [weights[: len(parts)] * total for weights in taken]
        carried = any(bool((weights[len(parts) :].abs() > WEIGHT / total).any()) for weights in taken)
        found = [words("gradient-carried-over")] if carried else []
    if alike(shares, one):
        where = {"seen": difference(used, expected), "parts": parts_in_words(len(parts) // len(used))}
        return found or [words("wrong-gradient", **where)]
    otherwise = "wrong-weights" if alike(shares, shares[0]) else "models-differ"
    known = weightings(parts, len(used)).items()
    key = next((key for key, forms in known if any(alike(shares, each) for each in forms)), otherwise)
    return [*found, words(key, **facts(parts, shares), items=items)]


def alike(shares: Sequence[Tensor], pattern: Pattern) -> bool:
    """Whether the shares [parts], by rank, are those of a pattern."""
    if callable(pattern):
        return pattern(shares)
    return all(torch.allclose(share, pattern, rtol=WEIGHT, atol=WEIGHT) for share in shares)


def facts(parts: Sequence[MicroBatch], shares: Sequence[Tensor]) -> dict[str, Any]:
    """What findings tell of the parts, and of how much of each is in the ranks' gradients."""
    size, used = len(shares), (shares[0].abs() > WEIGHT).tolist()
    by_rank = [sum(part.count for part in parts if part.rank == rank) for rank in range(size)]
    first = used.index(True) if True in used else 0
    count = len(parts) // size
    return {
        "size": size,
        "rank": parts[first].rank,
        "which": first % count + 1,
        "count": count,
        "parts": parts_in_words(count),
        "by_rank": ", ".join(map(str, by_rank)),
        "by_part": ", ".join(str(part.count) for part in parts),
        "total": sum(by_rank),
        "places": sum(part.places for part in parts),
        "weights": in_words(shares[0]),
    }


def difference(gradients: Sequence[Tensor], expected: Tensor) -> str:
    """Where gradients [d], by rank, are farthest from the one that is expected, [d]."""
    rank = next(rank for rank, gradient in enumerate(gradients) if not close(gradient, expected))
    off = (gradients[rank] - expected).abs().nan_to_num(math.inf, math.inf)
    entry = int(off.argmax())
    actual = f"on rank {rank}, entry {entry} of its {len(expected)} is {float(gradients[rank][entry]):.4g}"
    return f"{actual}, where {float(expected[entry]):.4g} is expected"


def parts_in_words(count: int) -> str:
    """What the parts are called where each rank has so many."""
    return "micro-batches" if count > 1 else "batches"


def in_words(shares: Tensor) -> str:
    """How much the micro-batches count, [parts], where 1 is right: one number once, if it is the same for all."""
    if bool((shares - shares[0]).abs().max() <= WEIGHT * max(1, float(shares[0].abs()))):
        return f"everything counts {float(shares[0]):.3g} times what it should"
    listed = [f"{0.0 if abs(value) < WEIGHT else value:.3g}" for value in shares.tolist()]
    return (
        f"they count {', '.join(listed[:MOST])}{', ...' * (len(listed) > MOST)} times what they should, in this order"
    )


def weightings(parts: Sequence[MicroBatch], size: int) -> dict[str, list[Pattern]]:
    """Known mistakes of `size` ranks with equally many micro-batches each, the most likely first: in each form, the
    share [parts] that each part has then in every rank's gradient, where 1 is right; or whether the ranks' shares are
    such.
    """
    items = torch.tensor([part.count for part in parts], dtype=torch.float64)
    places = torch.tensor([part.places for part in parts], dtype=torch.float64)
    one, total, count = torch.ones_like(items), items.sum(), len(parts) // size
    own, own_places = (each.reshape(size, -1).sum(1).repeat_interleave(count) for each in (items, places))

    def ranks_in(share: Tensor) -> set[int]:
        return {part.rank for part, value in zip(parts, share.tolist(), strict=True) if abs(value) > WEIGHT}

    def own_only(shares: Sequence[Tensor]) -> bool:
        return all(ranks_in(share) == {rank} for rank, share in enumerate(shares))

    def one_ranks(shares: Sequence[Tensor]) -> bool:
        return len(ranks_in(shares[0])) == 1 and all(ranks_in(share) == ranks_in(shares[0]) for share in shares)

    def one_of_each(shares: Sequence[Tensor]) -> bool:
        used = (shares[0].abs() > WEIGHT).reshape(size, -1)
        return alike(shares, shares[0]) and bool((used == used[0]).all()) and int(used[0].sum()) == 1

    def by_own_items(shares: Sequence[Tensor]) -> bool:
        times_own = [share * own[rank * count] for rank, share in enumerate(shares)]
        first = times_own[0][0]
        return bool(first.abs() > WEIGHT) and alike(times_own, first * one)

    several, known = size > 1, {}
    if several:
        known |= {"divided-by-own-items": [by_own_items]} if len({*own.tolist()}) > 1 else {}
        known |= {"own-gradient-only": [own_only], "one-ranks-gradient": [one_ranks]}
    if count > 1:
        known["one-micro-batch-only"] = [one_of_each]
    if several:
        known["world-size-lost"] = [one / size]
        known["gradients-summed"] = [size * one, total / own, total / (count * items)]  # and of means, and theirs
        known["mean-of-rank-means"] = [total / (size * own)]
    known["mean-of-micro-batch-means"] = [total / (len(parts) * items)]
    if bool(places.any()):  # by those of all ranks, of a rank, of a micro-batch; or of all ranks, and the world's size
        every, each = places.sum(), len(parts) * places
        divisors = [every, size * own_places, each, size * every]
        known["padding-counted"] = [total * one / divisor for divisor in divisors]
    known["micro-batches-not-averaged"] = [total / (size * items), total / items]
    known["sum-not-mean"] = [total * one / divisor for divisor in (size, 1, len(parts), count)]
    return known | {"wrong-sign": [-one]}
