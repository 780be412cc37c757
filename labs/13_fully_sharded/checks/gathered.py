"""The check of `gathered`: weights in the block, no memory after it, one all-gather that starts early."""

from __future__ import annotations

import random

import numpy as np
import torch

from autograde.rubric import (
    Call,
    CallCheck,
    Collectives,
    Criterion,
    EachRankHasArrays,
    EachRankReturnsArray,
    Gives,
    Mistakes,
    Ranks,
    Run,
    Words,
    Wrong,
    argument_unchanged,
    first_of,
    of_record,
)
from course.watch.notes import note_of, without_notes

from ..probes import gathered as probe
from ..shared.layers import batch_of, layer_of, shapes_of, shards_of, weights_of
from .freed_memory import died

words = Words("""
other-memory-than-weights: In the block, the parameters of {who} hold {held:byte}; their weights need {needed}.

never-freed: After the block, the parameters of {who} hold {held:byte}. Then all layers' weights add up on each rank,
and nothing is saved.

kept-after-an-error: After a block that an error ends, the parameters of {who} hold {held:byte}. `__exit__` is called
then, too.

error-swallowed: An error in the block does not come out of it. What does `with` make of the value that `__exit__`
returns?

gathered-too-late: When the object is made, {who:has|have} started nothing. The next layer's object is made while this
one computes, so that its weights are on their way. When does the all-gather start?

waited-for-at-once: {who:waits|wait} for the all-gather before the block is entered. Until then the layer before this
one computes: what is waited for now is not hidden.

other-parameters: After the block, the layer has other parameters than before, or other storages below them. What
autograd remembers of a forward pass are the old ones, which nobody fills any more.

taken-for-a-change: The backward pass stops with an error: {error}. Autograd has noticed that the weights were written,
and takes them for other ones. By which way of writing does it not look?
""")


def weights(call: Call) -> list[np.ndarray]:
    """The parameters."""
    return [each.numpy() for each in weights_of(call.arguments, call.size)]


def rows_cut_by_rank(call: Call) -> Gives:
    """The row is cut without regard to whose shards are where in it."""
    by_rank = [shards_of(call.arguments, rank, call.size) for rank in range(call.size)]
    row = torch.cat([each.flatten() for own in by_rank for each in own])
    parts = row.split([call.size * each.numel() for each in by_rank[0]])
    shapes = shapes_of(call.arguments)
    return Gives([part.view(-1, *shape[1:])[: shape[0]].numpy() for part, shape in zip(parts, shapes, strict=True)])


def own_rows_everywhere(call: Call) -> Gives:
    """Each rank's own shards again and again."""
    by_rank = [shards_of(call.arguments, rank, call.size) for rank in range(call.size)]
    shapes = shapes_of(call.arguments)
    return Gives(
        [[torch.cat([own[at]] * call.size)[: shape[0]].numpy() for own in by_rank] for at, shape in enumerate(shapes)]
    )


def memory_in_block(call: Call) -> Wrong | None:
    """As much as the weights need."""
    needed = sum(each.nbytes for each in weights(call))
    wrong = [rank for rank, seen in enumerate(call.seen) if seen.held != needed]
    about = {"who": Ranks(wrong), "needed": needed}
    return words("other-memory-than-weights", held=call.seen[wrong[0]].held, **about) if wrong else None


def freed(call: Call) -> Wrong | None:
    """No memory after the block, and the error comes out of it."""
    if kept := [rank for rank, seen in enumerate(call.seen) if seen.after]:
        key = "kept-after-an-error" if call.arguments["phase"] == "error" else "never-freed"
        return words(key, who=Ranks(kept), held=call.seen[kept[0]].after)
    swallowed = call.arguments["phase"] == "error" and "" in call.of("error")
    return words("error-swallowed") if swallowed else None


@of_record
def early(call: Call) -> Wrong | None:
    """The all-gather is started before the note "made", and waited for after it."""
    for rank, log in enumerate(call.notes if call.size > 1 else ()):
        made = [note_of(event) for event in log].index("made")
        started = without_notes(log[:made])
        if not started:
            return words("gathered-too-late", who=Ranks([rank]))
        if (started[0]["waited"] or log[made]["start"]) < log[made]["start"]:
            return words("waited-for-at-once", who=Ranks([rank]))
    return None


def gradients(call: Call) -> list[np.ndarray]:
    """What the backward pass gives, by rank."""
    layer, found = layer_of(call.arguments), []
    with torch.no_grad():
        for parameter, own in zip(layer.parameters(), weights_of(call.arguments, call.size), strict=True):
            parameter.copy_(own)
    for rank in range(call.size):
        x = batch_of(call.arguments, rank).requires_grad_()
        layer(x).sum().backward()
        found.append(x.grad.numpy())
    return found


def backward(call: Call) -> Wrong | None:
    """The gradient is there, and right."""
    if not all(call.of("same")):
        return words("other-parameters")
    if error := next(filter(None, call.of("error")), ""):
        return words("taken-for-a-change", error=error)
    return EachRankReturnsArray(gradients, result=lambda call: call.of("gradient"))(call)


class Gathered(CallCheck):
    """Rows that do and do not divide evenly, on four ranks to one."""

    todo, probe = "gathered", probe.PROBE
    inputs = ("sizes",)
    consolidation = "One message a layer, on its way before it is needed, and no byte kept after it was."
    criteria = (
        Criterion(
            "weights",
            1,
            "in the block, each parameter has its weights, and the memory for them",
            first_of(memory_in_block, EachRankHasArrays(weights, lambda call: call.of("weights"))),
            Mistakes(
                """
                rows-cut-by-rank: The row that arrives is cut as if it held all of the first parameter, then all of the
                second one. It holds what the first rank has of all parameters, then what the second rank has. Where in
                it are the pieces of one parameter?

                own-rows-everywhere: Each rank fills its parameters from its own shards alone.
                """,
                rows_cut_by_rank=rows_cut_by_rank,
                own_rows_everywhere=own_rows_everywhere,
            ),
        ),
        Criterion("freed", 0.75, "after the block, also if an error ends it, no parameter holds any memory", freed),
        Criterion(
            "all-gather",
            0.75,
            "one all-gather for the layer: it is started when the object is made, and waited for when the block is "
            "entered",
            first_of(
                Collectives(
                    "torch",
                    "allgather",
                    "all-gather",
                    nbytes=lambda call: sum(each.nbytes for each in shards_of(call.arguments, 0, call.size)),
                ),
                early,
            ),
        ),
        Criterion(
            "backward",
            0.5,
            "a backward pass in a later block finds the weights of a forward pass in this one",
            first_of(backward, argument_unchanged),
            on=lambda arguments: arguments["phase"] == "backward",
            after=("weights",),
        ),
    )

    def broke_off(self, run: Run) -> Wrong | None:
        """A rank dies of memory that is not there."""
        return died(run)

    def fits(self, case: dict, arguments: dict, seen: probe.Seen) -> bool:
        """A weight for each parameter."""
        return len(seen.weights) == len(shapes_of(arguments))

    def cases(self, rng: random.Random) -> list[dict]:
        """Sizes of the layer, outside and inside; three blocks each."""

        def calls(*sizes: int) -> list[dict]:
            about = {"sizes": [*sizes], "seed": rng.getrandbits(30)}
            return [{**about, "phase": phase} for phase in ("forward", "error", "backward")]

        four = [*calls(4, 8), *calls(3, rng.choice((5, 7)))]
        return [{"size": size, "calls": each} for size, each in ((4, four), (3, calls(2, 4)), (1, calls(3, 2)))]


CHECK = Gathered()
