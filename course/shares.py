"""How much of each part is in a gradient: what an average over unequal parts did wrong is told by its weights."""

from __future__ import annotations

from collections.abc import Sequence

import torch

# What `averaging_mistake` may find, in words.
MISTAKES = {
    "mean-of-means": "the mean of the parts' means: a sample counts more where its part is small",
    "loss-not-divided": "the sum of the parts' means: it grows with the number of parts",
    "sum-not-mean": "the sum over all samples: it grows with their number",
    "only-one-part": "what one part left, the others are lost",
    "wrong-sign": "the gradient with the opposite sign",
    "wrong-weights": "not the mean over all samples",
}


def weights_of(gradient: torch.Tensor, parts: Sequence[torch.Tensor]) -> torch.Tensor | None:
    """The weights [k] with which `parts`, k gradients [d] with k < d, add up to `gradient` [d].

    Least squares; None where no weights do, to a relative 1e-5, as where `gradient` holds NaN or infinity.
    """
    if not bool(gradient.isfinite().all()):
        return None
    matrix = torch.stack(list(parts), 1).double()
    weights = torch.linalg.lstsq(matrix, gradient.double()[:, None], driver="gelsd").solution[:, 0]
    fits = bool(((matrix @ weights - gradient).abs() <= 1e-5 * gradient.abs().max()).all())
    return weights if fits else None


def averaging_mistake(weights: torch.Tensor, sizes: Sequence[int]) -> str | None:
    """Which of MISTAKES the `weights` [k] of the mean gradients of k parts of `sizes` samples show; None if right."""
    samples = torch.tensor(sizes, dtype=weights.dtype)
    one, fair = torch.ones_like(samples), samples / samples.sum()
    patterns = {None: fair, "mean-of-means": one / len(one), "loss-not-divided": one, "sum-not-mean": samples}
    for name, pattern in (patterns | {"wrong-sign": -fair}).items():
        if bool(((weights - pattern).abs() <= 1e-3).all()):
            return name
    return "only-one-part" if int((weights.abs() > 1e-3).sum()) == 1 < len(sizes) else "wrong-weights"
