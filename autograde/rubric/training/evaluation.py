"""Judges of how a model is used while it is evaluated: its mode, and what torch records.

What a call shows has `passes`, those through the model, each with `train`, its mode then, and `graph`, whether one is
recorded; `train`, the mode in the end; and `records`, whether torch records gradients then. Its argument `train` is the
mode in which the model comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograde.rubric.judge import Call
from autograde.rubric.words import Words, Wrong

words = Words("""
not-eval-mode: The model is not in eval mode while it is evaluated: dropout drops, and BatchNorm uses the statistics of
the batch and keeps a record of them.

mode-not-restored: The model came in {came} mode. Afterwards, on {who}, it is in the other one, and whoever called your
function goes on in the wrong mode.

graph-recorded: While the model predicts, torch records a graph for a backward pass that never comes. That takes memory
and time.

gradients-left-off: After the call, torch records no gradients any more on {who}: the next training fails. What you
switch off, switch on again, or use a `with` block.
""")


def passes(call: Call) -> list[Any]:
    """Those of all ranks."""
    return [each for own in call.of("passes") for each in own]


def evaluated(training: Sequence[bool], came: bool, left: Sequence[bool]) -> Wrong | None:
    """The model is in eval mode in all forward passes, and afterwards in the mode in which it came.

    training: whether it was in train mode, of each pass. came: the same, before the call; left: after it, by rank.
    """
    if any(training):
        return words("not-eval-mode")
    other = [rank for rank, mode in enumerate(left) if mode != came]
    return words.on_ranks("mode-not-restored", other, came="train" if came else "eval")


def mode_stays(call: Call) -> Wrong | None:
    """See `evaluated`."""
    return evaluated([each.train for each in passes(call)], call.arguments["train"], call.of("train"))


def no_graph(call: Call) -> Wrong | None:
    """No graph is recorded for a backward pass, and afterwards torch records gradients again."""
    if any(each.graph for each in passes(call)):
        return words("graph-recorded")
    return words.on_ranks("gradients-left-off", [rank for rank, on in enumerate(call.of("records")) if not on])
