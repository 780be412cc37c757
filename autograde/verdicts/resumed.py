"""Findings on a training that checkpoints its way and goes on from there, and on the losses that it returns."""

from __future__ import annotations

from collections.abc import Sequence

from autograde.contract.findings import Findings
from autograde.contract.verdict import Finding

finding = Findings("""
save-on-rank-0 4
A deadlock: rank 0 waits in `save_checkpoint`, and {others} never called it. All ranks have to call it: it decides by
itself who writes, and no rank leaves it before the file is there.

sampler-not-told 1
Nobody tells the loader's sampler {what}: all epochs have the same order.

not-resumed 2
There is a checkpoint of {place}, and yet training begins again with epoch 0.

epochs-counted-anew 1.5
Called with epochs={until} when there is a checkpoint of {place}, your function makes {seen}. `epochs` counts from the
very first run.

no-losses 1
The function returns what is of type {kind}, not a list of floats.

not-floats 0.5
The returned list holds entries of type {kind}, not floats.

last-epoch-only 1
The returned losses are those of the last epoch alone. Expected are those of all steps made in this call.

wrong-losses 1
The training is right, but the returned list does not hold the losses of its steps, one after another. It has {actual};
expected are {expected}.
""")


def wrong_losses(actual: Sequence[float | None], expected: Sequence[float]) -> Finding:
    """The finding for losses that no known mistake gives."""
    return finding("wrong-losses", actual=begun(actual), expected=begun(expected))


def begun(losses: Sequence[float | None]) -> str:
    """How many there are, and the first ones."""
    first = ", ".join("none" if loss is None else f"{loss:.4g}" for loss in losses[:3])
    return f"{len(losses)} numbers{', beginning with ' if first else ''}{first}"
