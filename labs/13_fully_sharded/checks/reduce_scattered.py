"""The check of `reduce_scattered`: each rank's rows of the mean gradient, by one reduce-scatter."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import torch

from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, Gives, Mistakes, first_of, of_record
from autograde.rubric.judges.array_lists import EachRankHasArrays
from autograde.rubric.judges.conduct import argument_unchanged
from autograde.rubric.judges.one_collective import one_collective
from autograde.rubric.rounding import Rounding
from autograde.rubric.words import Ranks, Words, Wrong
from autograde.verdicts.collectives import named

from ..probes import reduce_scattered as probe
from ..shared.layers import before_of, gradients_of, shapes_of
from ..shared.values import rows_of

NEAR = Rounding(1e-9)

words = Words("""
whole-gradients-kept: After the call, {who:has|have} gradients of whole parameters. They take as much memory as the
weights do.

sent-without-sync: With sync=False the ranks call {ops}.

changed-without-sync: With sync=False the gradients of {who} are not what they were. They wait for the last pass to be
added up.
""")


def rows(call: Call, rank: int) -> list[torch.Tensor]:
    """A rank's gradients as it brings them, by parameter: [size, c, ...], with zeros behind the last row."""
    found = []
    for shape, gradient in zip(shapes_of(call.arguments), gradients_of(call.arguments, rank), strict=True):
        padded = torch.zeros(call.size * rows_of(shape[0], call.size), *shape[1:], dtype=torch.float64)
        if gradient is not None:
            padded[: shape[0]] = gradient
        found.append(padded.view(call.size, -1, *shape[1:]))
    return found


def grads(call: Call, share: Callable[[int, int], torch.Tensor], add: bool = True) -> list[list[np.ndarray]]:
    """By parameter and rank, what is in `.grad` in the end. share: of a parameter's number and a rank, what comes new.
    add: whether it is added to what was there."""
    by_rank = [before_of(call.arguments, rank, call.size) for rank in range(call.size)]
    return [
        [
            (share(number, rank) + (by_rank[rank][number] if add and call.arguments["before"] else 0)).numpy()
            for rank in range(call.size)
        ]
        for number in range(len(shapes_of(call.arguments)))
    ]


def right(call: Call, scale: float = 1.0, add: bool = True) -> list[list[np.ndarray]]:
    """As it should be, or with another scale."""
    brought = [rows(call, rank) for rank in range(call.size)]
    return grads(call, lambda number, rank: scale * sum(own[number][rank] for own in brought) / call.size, add)


def own_gradients(call: Call) -> list[list[np.ndarray]]:
    """Of each rank's own gradients."""
    brought = [rows(call, rank) for rank in range(call.size)]
    return grads(call, lambda number, rank: brought[rank][number][rank])


def cut_by_parameter(call: Call) -> list[list[np.ndarray]]:
    """From a row that has all of the first parameter, then all of the second one."""
    row = sum(torch.cat([each.flatten() for each in rows(call, rank)]) for rank in range(call.size)) / call.size
    pieces, shapes = row.view(call.size, -1), [each.shape[1:] for each in rows(call, 0)]
    lengths = [shape.numel() for shape in shapes]
    return grads(call, lambda number, rank: pieces[rank].split(lengths)[number].view(shapes[number]))


def row_bytes(call: Call) -> int:
    """Bytes of what a rank brings: all gradients, filled up."""
    return sum(8 * each.numel() for each in rows(call, 0))


def gone(call: Call) -> Wrong | None:
    """No parameter of the layer has a gradient."""
    kept = [rank for rank, each in enumerate(call.of("gone")) if not each]
    return words("whole-gradients-kept", who=Ranks(kept)) if kept else None


@of_record
def nothing_sent(call: Call) -> Wrong | None:
    """No communication, and all gradients as they were."""
    if events := [event for log in call.events for event in log]:
        return words("sent-without-sync", ops=named(events))
    wrong = [rank for rank, each in enumerate(call.of("unchanged")) if not each]
    return words("changed-without-sync", who=Ranks(wrong)) if wrong else None


def padding(call: Call) -> dict | bool:
    """Whether the rows of each parameter are right, and those behind its last one are not zeros."""
    for number, shape in enumerate(shapes_of(call.arguments)):
        count, numbers = rows_of(shape[0], call.size), right(call)[number]
        for rank, seen in enumerate(call.seen):
            n = numbers[rank][: max(0, shape[0] - rank * count)].size
            if not NEAR(seen.grads[number].entries[:n], numbers[rank].ravel()[:n].tolist()):
                return False
    return {}


MISTAKES = Mistakes(
    """
    padding-in-the-sum: Behind the last row of a parameter, the shards' `.grad` is not zero. The optimizer and whoever
    computes the norm of all gradients take that for gradients.

    sum-of-gradients: The shards have the *sum* of the ranks' gradients, {size} times their mean.

    averaged-twice: The shards have the mean, divided by {size} once more.

    own-gradient-only: Each shard has the rows of its own rank's gradient. Where do the other ranks' come in?

    gradients-replaced: What was in `.grad` of the shards is gone. The mean is added to it, as `backward` adds.

    pieces-of-other-parameters: The row that you bring has all of the first parameter, then all of the second one. It is
    cut into as many pieces as there are ranks: what of which parameters is in the first piece?
    """,
    padding_in_the_sum=padding,
    sum_of_gradients=lambda call: Gives(right(call, call.size)) if call.size > 1 else None,
    averaged_twice=lambda call: Gives(right(call, 1 / call.size)) if call.size > 1 else None,
    own_gradient_only=lambda call: Gives(own_gradients(call)),
    gradients_replaced=lambda call: Gives(right(call, add=False)),
    pieces_of_other_parameters=lambda call: Gives(cut_by_parameter(call)),
)


def synced(arguments: dict) -> bool:
    """Whether the ranks are to communicate."""
    return arguments["sync"]


class ReduceScattered(CallCheck):
    """Rows that do and do not divide evenly, gradients that are missing on a rank, some there already."""

    todo, probe = "reduce_scattered", probe.PROBE
    inputs = ("sizes",)
    consolidation = "A reduce-scatter is the half of an all-reduce that sharded training needs: nothing is sent twice."
    criteria = (
        Criterion(
            "mean",
            1.25,
            "the mean of the ranks' gradients is added to `.grad` of the shards, each has its own rows of it, "
            "and zeros behind the last row (a `.grad` of None counts as zeros)",
            first_of(EachRankHasArrays(right, lambda call: call.of("grads")), argument_unchanged),
            MISTAKES,
            on=synced,
        ),
        Criterion(
            "reduce-scatter",
            0.75,
            "one reduce-scatter for the layer, and no other communication",
            one_collective("reduce_scatter", "reduce-scatter", row_bytes),
            Mistakes(
                """
                all-reduce-then-cut: The ranks call all_reduce: each of them gets the mean of all gradients, and needs
                that of its own rows.
                """,
                all_reduce_then_cut=lambda call: any(
                    each["kind"] == "allreduce" for log in call.events for each in log
                ),
            ),
            on=synced,
        ),
        Criterion("freed", 0.5, "afterwards the parameters of the layer have no gradient (None)", gone, on=synced),
        Criterion(
            "no-sync",
            0.5,
            "with sync=False nothing is sent, and nothing changes",
            nothing_sent,
            on=lambda arguments: not synced(arguments),
        ),
    )

    def fits(self, case: dict, arguments: dict, seen: probe.Seen) -> bool:
        """Something for each parameter."""
        return len(seen.grads) == len(shapes_of(arguments))

    def cases(self, rng: random.Random) -> list[dict]:
        """Sizes of the layer, what is in `.grad` before, and where nothing is."""

        def call(*sizes: int, before: bool = False, missing: tuple = (), sync: bool = True) -> dict:
            about = {"sizes": [*sizes], "seed": rng.getrandbits(30), "before": before, "sync": sync}
            return about | {"missing": [[*each] for each in missing]}

        some = [call(3, rng.choice((5, 7)), missing=[(1, 0), (0, 3)]), call(4, 8, before=True)]
        not_synced = [call(3, 5, before=True, sync=False), call(2, 4, sync=False)]
        by_size = {4: [call(4, 8), *some, *not_synced], 3: [call(2, 4, before=True)], 1: [call(3, 2)]}
        return [{"size": size, "calls": calls} for size, calls in by_size.items()]


CHECK = ReduceScattered()
