"""The check of `gathered`: weights in the block, no memory after it, one all-gather that starts early."""

from __future__ import annotations

import random

import numpy as np
import torch

from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion, Gives, Mistakes, first_of, of_record
from autograde.rubric.judges.arrays import EachRankReturnsArray
from autograde.rubric.judges.conduct import argument_unchanged
from autograde.rubric.run import Run
from autograde.rubric.words import Ranks, Words, Wrong
from autograde.verdicts.collectives import named
from course.watch.notes import note_of, without_notes

from ..probes import gathered as probe
from ..shared.layers import batch_of, layer_of, shapes_of, shards_of, weights_of
from .freed_memory import died

words = Words("""
weights-missing: In the block, {who:has|have} parameters that hold no memory, or not enough of it.

more-memory-than-weights: In the block, the parameters of {who} hold {held:byte}; their weights need {needed}.

never-freed: After the block, the parameters of {who} hold {held:byte}. Then all layers' weights add up on each rank,
and nothing is saved.

kept-after-an-error: After a block that an error ends, the parameters of {who} hold {held:byte}. `__exit__` is called
then, too.

error-swallowed: An error in the block does not come out of it. What does `with` make of the value that `__exit__`
returns?

other-parameters: After the block, the layer has other parameters than before, or other storages below them. What
autograd remembers of a forward pass are the old ones, which nobody fills any more.

gathered-too-late: When the object is made, {who:has|have} started nothing. The next layer's object is made while this
one computes, so that its weights are on their way. When does the all-gather start?

waited-for-at-once: {who:waits|wait} for the all-gather before the block is entered. Until then the layer before this
one computes: what is waited for now is not hidden.

one-gather-a-parameter: {who:makes|make} an all-gather {n:time} for one layer of {parameters:parameter}. Each pays its
latency anew. What can be sent as one row?

other-than-one-gather: For one block the ranks call {ops}. One all-gather for the layer is expected.

taken-for-a-change: The backward pass stops with an error: {error}. Autograd has noticed that the weights were written,
and takes them for other ones. By which way of writing does it not look?

gradient-by-other-weights: The backward pass ends, but the gradient that it gives is another one on {who}: it was
computed with weights that are not those of the forward pass.
""")


def weights(call: Call, number: int) -> np.ndarray:
    """One parameter."""
    return weights_of(call.arguments, call.size)[number].numpy()


def rows_as_they_came(call: Call, number: int) -> np.ndarray | None:
    """One parameter, where the row is cut without regard to whose shards are where in it."""
    row = torch.cat(
        [each.flatten() for rank in range(call.size) for each in shards_of(call.arguments, rank, call.size)]
    )
    parts = row.split([call.size * each.numel() for each in shards_of(call.arguments, 0, call.size)])
    shape = shapes_of(call.arguments)[number]
    return parts[number].view(-1, *shape[1:])[: shape[0]].numpy()


def own_rows(call: Call, number: int) -> list[np.ndarray]:
    """One parameter, of each rank's own shard again and again."""
    shape, size = shapes_of(call.arguments)[number], call.size
    return [
        shards_of(call.arguments, rank, size)[number].repeat(size, *[1] * (len(shape) - 1))[: shape[0]].numpy()
        for rank in range(size)
    ]


def of_parameter(number: int) -> EachRankReturnsArray:
    """Judge of one parameter in the block."""
    return EachRankReturnsArray(
        lambda call: weights(call, number), result=lambda call: [each.weights[number] for each in call.seen]
    )


class Weights:
    """Judge of all parameters in the block."""

    def __call__(self, call: Call) -> Wrong | None:
        """Memory first, then numbers."""
        needed = sum(8 * each.numel() for each in weights_of(call.arguments, call.size))
        for rank, seen in enumerate(call.seen):
            if seen.held[0] < needed:
                return words("weights-missing", who=Ranks([rank]))
            if seen.held[0] > needed:
                return words("more-memory-than-weights", who=Ranks([rank]), held=seen.held[0], needed=needed)
        return first_of(*map(of_parameter, range(len(shapes_of(call.arguments)))))(call)

    def gives(self, call: Call, value: list) -> bool:
        """Whether these are the parameters. value: each, for all ranks or by rank."""
        return all(of_parameter(number).gives(call, each) for number, each in enumerate(value))


def freed(call: Call) -> Wrong | None:
    """No memory after the block, and the error comes out of it."""
    for place, key in (1, "never-freed"), (2, "kept-after-an-error"):
        if ranks := [rank for rank, seen in enumerate(call.seen) if seen.held[place]]:
            return words(key, who=Ranks(ranks), held=call.seen[ranks[0]].held[place])
    return None if all(call.of("goes_on")) else words("error-swallowed")


@of_record
def one_all_gather(call: Call) -> Wrong | None:
    """One all-gather, started before the note "made", and not complete before "entered"."""
    if call.size == 1:
        return None
    for rank, log in enumerate(call.notes):
        names = [note_of(event) for event in log]
        made, left = names.index("made"), names.index("left")
        events, who = without_notes(log[:left]), Ranks([rank])
        kinds = [event["kind"] for event in events]
        if {*kinds} == {"allgather"} and len(kinds) > 1:
            return words("one-gather-a-parameter", who=who, n=len(kinds), parameters=len(shapes_of(call.arguments)))
        if kinds != ["allgather"]:
            return words("other-than-one-gather", ops=named(events) or "nothing", absent=not events)
        if not without_notes(log[:made]):
            return words("gathered-too-late", who=who)
        if events[0]["waited"] is not None and events[0]["waited"] <= log[made]["start"]:
            return words("waited-for-at-once", who=who)
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
    if EachRankReturnsArray(gradients, result=lambda call: call.of("gradient"))(call):
        return words("gradient-by-other-weights", who=Ranks(range(call.size)))
    return None


MISTAKES = Mistakes(
    """
    rows-cut-by-rank: The row that arrives is cut as if it held all of the first parameter, then all of the second one.
    It holds what the first rank has of all parameters, then what the second rank has. Where in it are the pieces of one
    parameter?

    own-rows-everywhere: Each rank fills its parameters from its own shards alone.
    """,
    rows_cut_by_rank=lambda call: Gives([rows_as_they_came(call, number) for number in range(4)]),
    own_rows_everywhere=lambda call: Gives([own_rows(call, number) for number in range(4)]),
)


class Gathered(CallCheck):
    """Rows that do and do not divide evenly, on four ranks to one."""

    todo, probe = "gathered", probe.PROBE
    consolidation = "One message a layer, on its way before it is needed, and no byte kept after it was."
    criteria = (
        Criterion(
            "weights",
            1,
            "in the block, each parameter has its weights, and the memory for them",
            Weights(),
            MISTAKES,
            breaks=True,
        ),
        Criterion("freed", 0.75, "after the block, also if an error ends it, no parameter holds any memory", freed),
        Criterion(
            "all-gather",
            0.75,
            "one all-gather for the layer: it is started when the object is made, and waited for when the block is "
            "entered",
            one_all_gather,
        ),
        Criterion(
            "backward",
            0.5,
            "a backward pass in a later block finds the weights of a forward pass in this one",
            first_of(backward, argument_unchanged),
            after=("weights",),
        ),
    )

    def broke_off(self, run: Run) -> Wrong | None:
        """A rank dies of memory that is not there."""
        return died(run)

    def fits(self, case: dict, arguments: dict, seen: probe.Seen) -> bool:
        """A weight for each parameter, and three numbers of bytes."""
        return len(seen.weights) == len(shapes_of(arguments)) and len(seen.held) == 3

    def cases(self, rng: random.Random) -> list[dict]:
        """Sizes of the layer, outside and inside."""

        def call(*sizes: int) -> dict:
            return {"sizes": [*sizes], "seed": rng.getrandbits(30)}

        by_size = {4: [call(4, 8), call(3, rng.choice((5, 7)))], 3: [call(2, 4)], 1: [call(3, 2)]}
        return [{"size": size, "calls": calls} for size, calls in by_size.items()]


CHECK = Gathered()
