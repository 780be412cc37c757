"""The check of `gathered`: weights in the block, no memory after it, one all-gather that starts early."""

import torch

from autograde.rubric import (
    CallCheck,
    Collectives,
    Criterion,
    Mistakes,
    Same,
    Words,
    argument_unchanged,
    changed,
    first_of,
    given,
    of_record,
    of_seen,
    on_ranks,
)
from course.watch.notes import note_of, without_notes

from ..probes import gathered
from ..shared.layers import batch_of, layer_of, shapes_of, shards_of, weights_of
from .freed_memory import died
from .waiting import NOT_WAITED_FOR, not_waited_for, waited_for

words = Words("""
other-memory-than-weights: In the block, the parameters of {who} hold {held:byte}; their weights need {needed}.

filled-too-soon: When the object is made, the parameters of {who} hold {held:byte} already. Until the block is
entered, another layer computes, and its weights are there.

never-freed: After the block, the parameters of {who} hold {held:byte}. Then all layers' weights add up on each
rank, and nothing is saved.

kept-after-an-error: After a block that an error ends, the parameters of {who} hold {held:byte}. `__exit__` is
called then, too.

error-swallowed: An error in the block does not come out of it. What does `with` make of the value that `__exit__`
returns?

gathered-too-late: When the object is made, {who:has|have} started nothing. The next layer's object is made while this
one computes, so that its weights are on their way. When does the all-gather start?

waited-for-at-once: {who:waits|wait} for the all-gather before the block is entered. Until then the layer before this
one computes: what is waited for now is not hidden.

other-parameters: After the block, the layer has other parameters than before, or other storages below them. What
autograd remembers of a forward pass are the old ones, which nobody fills any more.

taken-for-a-change: The backward pass stops with an error: {error}. Autograd has noticed that the weights were
written, and takes them for other ones. By which way of writing does it not look?

row-kept: In the block, {who:keeps|keep} {kept:byte} besides the weights: the row of the all-gather. It would be there
for as long as your object is. Who needs it once the weights are in their parameters?
""")


def by_rank(call):
    return [shards_of(call.arguments, rank, call.size) for rank in range(call.size)]


def weights(call, rows=weights_of):
    """By rank, the parameters, all ranks' alike."""
    return [rows(call.arguments, call.size)] * call.size


def rows_cut_by_rank(call):
    """The row is cut without regard to whose shards are where in it."""
    row = torch.cat([each.flatten() for own in by_rank(call) for each in own])
    parts = row.split([call.size * each.numel() for each in by_rank(call)[0]])
    pairs = zip(parts, shapes_of(call.arguments), strict=True)
    return [[part.view(-1, *shape[1:])[: shape[0]] for part, shape in pairs]] * call.size


def memory_in_block(call):
    needed = sum(each.nbytes for each in weights(call)[0])
    wrong = [rank for rank, seen in enumerate(call.seen) if seen.held != needed]
    return words.on_ranks("other-memory-than-weights", wrong, needed=needed, held=call.of("held")[(wrong or [0])[0]])


def at_no_other_time(call):
    """No memory before the block and after it, none but the weights in it, and an error comes out of it."""
    error = call.arguments["phase"] == "error"
    for key, name in (("filled-too-soon", "early"), ("kept-after-an-error" if error else "never-freed", "after")):
        if more := [rank for rank, held in enumerate(call.of(name)) if held]:
            return words.on_ranks(key, more, held=call.of(name)[more[0]])
    if error and "" in call.of("error"):
        return words("error-swallowed")
    kept = [rank for rank, seen in enumerate(call.seen) if call.size > 1 and seen.kept >= call.size * ROW.nbytes(call)]
    return words.on_ranks("row-kept", kept, kept=call.of("kept")[(kept or [0])[0]])


@of_record
def early(call):
    """The all-gather is started before the object is made, and waited for after that, before the block is entered."""
    for rank, log in enumerate(call.notes if call.size > 1 else ()):
        made = next(event["start"] for event in log if note_of(event) == "made")
        started = [event for event in without_notes(log) if event["start"] < made]
        if not started:
            return words.on_ranks("gathered-too-late", [rank])
        if (started[0]["waited"] or made) < made:
            return words.on_ranks("waited-for-at-once", [rank])
    return waited_for(call)


def gradients(call):
    """By rank, what the backward pass gives."""
    layer, found = layer_of(call.arguments, call.size), []
    for rank in range(call.size):
        x = batch_of(call.arguments, rank).requires_grad_()
        layer(x).sum().backward()
        found.append(x.grad)
    return found


def backward(call):
    error = next(filter(None, call.of("error")), "")
    if all(call.of("same")):
        return words("taken-for-a-change", error=error) if error else None
    return words("other-parameters")


def cases(rng):
    """Rows that do and do not divide evenly, a weight that is shared, single precision; three blocks each."""

    def calls(*sizes, **more):
        about = {"sizes": [*sizes], "seed": rng.getrandbits(30), **more}
        return [{**about, "phase": phase} for phase in ("forward", "error", "backward")]

    yield 4, *calls(4, 8), *calls(3, rng.choice((5, 7)))
    yield 3, *calls(2, 4, dtype="float32"), *calls(4, 4, tied=True)
    yield 1, *calls(3, 2)


ROW = Collectives(
    "torch",
    "allgather",
    "all-gather",
    nbytes=lambda call: sum(each.nbytes for each in by_rank(call)[0]),
)
MISTAKES = Mistakes(
    f"""
    {NOT_WAITED_FOR}

    rows-cut-by-rank: The row that arrives is cut as if it held all of the first parameter, then all of the second one.
    It holds what the first rank has of all parameters, then what the second rank has. Where in it are the pieces of one
    parameter?
    """,
    changed(rows_cut_by_rank=rows_cut_by_rank),
    not_waited_for=not_waited_for,
)
AT_NO_OTHER_TIME = (
    "before the block and after it, also if an error ends it, no parameter holds any memory; in the block, the row of "
    "the all-gather is gone"
)
EARLY = "one all-gather for the layer: it is started when the object is made, and waited for when the block is entered"
BACKWARD = "a backward pass in a later block finds the weights of a forward pass in this one"
WEIGHTS = Same(of_seen("weights"), weights, on_ranks("the parameters in the block", "parameter"))
GRADIENT = Same(of_seen("gradient"), gradients, on_ranks("the gradient of x that the backward pass gives"))

CHECK = CallCheck.of(
    "gathered",
    gathered.PROBE,
    cases,
    Criterion(
        "weights",
        1,
        "in the block, each parameter has its weights, and the memory for them",
        first_of(memory_in_block, WEIGHTS),
        MISTAKES,
    ),
    Criterion("freed", 0.75, AT_NO_OTHER_TIME, at_no_other_time),
    Criterion("all-gather", 0.75, EARLY, first_of(ROW, early)),
    Criterion(
        "backward",
        0.5,
        BACKWARD,
        first_of(backward, GRADIENT, argument_unchanged),
        on=given(phase="backward"),
        after=("weights",),
    ),
    consolidation="One message a layer, on its way before it is needed, and no byte kept after it was.",
    inputs=("sizes",),
    broke_off=died,
    fits=lambda case, arguments, seen: len(seen.weights) == len(shapes_of(arguments)),
)
