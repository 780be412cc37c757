"""The check of `ShardedOptimizer`: three steps beside one process, and what each rank keeps and sends for them."""

from autograde.rubric import (
    BY_RULES,
    CallCheck,
    Criterion,
    Errors,
    Mistakes,
    Rules,
    Same,
    Words,
    alike,
    changed,
    first_of,
    given,
    named,
    of_record,
    of_seen,
)

from ..probes import ShardedOptimizer
from ..shared.sharded import OPTIMIZERS, parameters_of
from .one_optimizer import joined, not_gathered, row_of, share, trained

STEPS = 3
words = Words("""
made-not-once: On rank {rank}, when `ShardedOptimizer` is set up, `make` is called {n:time}; once is asked for.

optimizer-made-anew: On rank {rank}, `make` is called in `step()`. An optimizer made anew knows nothing of the steps
before: what becomes of the momentum?

made-for-many-tensors: On rank {rank} `make` gets a list of {n:tensor}. One is asked for: this rank's shard of the row.

state-for-everything: On rank {rank} `make` gets all {count} numbers. Then each rank keeps all that the optimizer keeps,
and nothing is saved.

share-of-other-length: On rank {rank} of {size}, `make` gets a tensor of shape {actual}, where {due:number} of {count}
are expected, on all ranks.

share-of-other-numbers: On rank {rank} of {size}, `make` gets as many numbers as it should, but not entries {first} to
{last} of the row with zeros behind it.

share-is-a-view: On rank {rank} `make` gets {needed:byte} of numbers, and behind them are {held:byte} of memory. Who
still holds the whole row?

bits-of-parameters-differ: After a step the parameters of the ranks differ in their last bits. Each number should come
from one rank.

parameters-in-other-memory: After a step a parameter on {who} has other memory than before. Whoever holds a view of it
looks at old values: fill the tensors that are there.

gradients-changed: After a step the gradients on {who} are not what they were.

sharded-setup-communicates: When it is set up, your class calls {ops}. All ranks have the same parameters already.

all-reduce-and-cut: The ranks call {ops}: each of them gets the mean of all gradients, and needs that of its shard.

other-collectives-in-step: In a step each rank calls {ops}. One reduce-scatter and one all-gather do it.
""")


def made(call):
    """`make` is called once, with one tensor, which has this rank's shard."""
    count = len(row_of(parameters_of(call.arguments)))
    for rank, notes in enumerate(call.of("made")):
        about, due = {"rank": rank, "size": call.size, "count": count}, share(call, rank)
        if len(notes) != 1:
            key = "optimizer-made-anew" if notes and call.arguments["step"] >= 0 else "made-not-once"
            return words(key, n=len(notes), **about)
        if notes[0].tensors != 1:
            return words("made-for-many-tensors", n=notes[0].tensors, **about)
        first = notes[0].first
        if first.shape != [len(due)]:
            whole = len(first.shape) == 1 and first.shape[0] >= count > len(due)
            key = "state-for-everything" if whole else "share-of-other-length"
            return words(key, actual=str(first.shape), due=len(due), **about)
        if not alike(first.entries, due):
            last = (rank + 1) * len(due) - 1
            return words("share-of-other-numbers", first=rank * len(due), last=last, **about)
    return None


def own_memory(call):
    for rank, notes in enumerate(call.of("made")):
        if notes and notes[0].memory > (needed := share(call, rank).nbytes):
            return words("share-is-a-view", rank=rank, needed=needed, held=notes[0].memory)
    moved = [rank for rank, steady in enumerate(call.of("steady")) if not steady]
    return words.on_ranks("parameters-in-other-memory", moved)


def gradients_stay(call):
    return words.on_ranks("gradients-changed", [rank for rank, kept in enumerate(call.of("kept")) if not kept])


def same_bits(call):
    bits = [[each.digest for each in own] for own in call.of("parameters")]
    return None if all(each == bits[0] for each in bits) else words("bits-of-parameters-differ")


def where(call, place):
    rank, number, *entry = place
    step = call.arguments["step"] + 1
    when = f"after step number {step}" if step else "when it is set up"
    return f"On rank {rank}, {when}, {f'entry {entry[0]} of ' if entry else ''}parameter {number}"


@of_record
def communicated(call):
    """Nothing when it is set up; in a step one reduce-scatter and one all-gather."""
    log, step = max(call.events, key=len), call.arguments["step"]
    kinds = sorted(event["kind"] for event in log)
    if call.size == 1:
        return None
    if step < 0:
        return words("sharded-setup-communicates", ops=named(log)) if log else None
    if kinds == ["allgather", "reduce_scatter"] and {event["library"] for event in log} == {"torch"}:
        return None
    key = "all-reduce-and-cut" if "allreduce" in kinds else "other-collectives-in-step"
    return words(key, ops=named(log) or "nothing", absent=len(kinds) < 2)


def cases(rng):
    """Rows that ranks share equally; one rank; gradients that are missing; rows that are filled up."""

    def calls(optimizer, *shapes, missing=(), transposed=-1, fills=False):
        about = {"optimizer": optimizer, "shapes": [*shapes], "missing": [[*each] for each in missing]}
        about |= {"transposed": transposed, "seed": rng.getrandbits(30), "fills": fills}
        return [{**about, "step": step} for step in range(-1, STEPS)]

    momentum, adamw = OPTIMIZERS
    yield 4, *calls(momentum, [2, 3], [2])
    yield 2, *calls(adamw, [2, 3], [4], transposed=0)
    yield 1, *calls(adamw, [2, 2], [3])
    yield 3, *calls(adamw, [3, 2], [], [2], missing=[(-1, 0), (2, 1)])
    yield 4, *calls(adamw, [4, 5], [3], transposed=0, fills=True)
    yield 4, *calls(momentum, [1, 2], fills=True)
    yield 3, *calls(momentum, [3], [4, 5], missing=[(0, 0)], transposed=1, fills=True)


PARAMETERS = Same(of_seen("parameters"), trained, where)
MISTAKES = Mistakes(
    """
    sum-for-the-mean: With {optimizer} the parameters are those of a step with the *sum* of the ranks' gradients. (Adam
    hides that: it divides by the size of gradients.)

    averaged-over-ranks-twice: With {optimizer} the parameters are those of a step with the mean gradient, divided by
    the ranks once more.

    momentum-starts-anew: With {optimizer} the first step is right, and later ones are as if there had been none before.
    What does the optimizer know of earlier steps?

    gradients-kept: With {optimizer} the first step is right, and later ones are made with the sum of all mean gradients
    so far. What is in the shard's `.grad` when the next one comes?

    own-gradients: With {optimizer} each shard is updated with the gradients of its own rank alone. Those of the others
    are missing.

    shares-not-gathered: With {optimizer} each rank updates its own shard, and keeps the old values of all others. How
    do the ranks get each other's shards?

    no-step-made: With {optimizer} the parameters are what they were before.
    """,
    changed(
        trained,
        sum_for_the_mean={"rules": BY_RULES["gradients-summed"]},
        averaged_over_ranks_twice={"rules": lambda call: Rules(times=1 / call.size)},
        momentum_starts_anew={"anew": True},
        gradients_kept={"rules": BY_RULES["gradient-carried-over"]},
        own_gradients=[
            lambda call: joined(call, trained(call, BY_RULES["own-gradient-only"])),
            {"rules": BY_RULES["own-gradient-only"]},
        ],
        shares_not_gathered=not_gathered,
        no_step_made=lambda call: [parameters_of(call.arguments)] * call.size,
    ),
)
MOVED_UP = Mistakes(
    """
    gradients-moved-up: With {optimizer}, where a parameter has no gradient, those behind it in the row are taken for
    other parameters. Such a gradient counts as zeros: where do they stand in the row?
    """,
    changed(trained, gradients_moved_up={"moved_up": True}),
)
UNEVEN = Errors(
    """
    only-equal-shares: Where the ranks' shards are not equally long, your code stops with an error: {error}. Shards have
    to be equally long. How is the row filled up?
    """,
    on=lambda run: run.broken["fills"] and run.reached == 0,
    only_equal_shares="size|shape|split|divisible|length|dimension|elements",
)

LEFT_OUT = Errors(
    """
    gradients-left-out: Where a parameter has no gradient, the row of gradients has fewer numbers than that of the
    parameters, and your code stops with an error: {error}. Such a gradient counts as zeros, and keeps its place.
    """,
    on=lambda run: run.broken["missing"],
    gradients_left_out="outputShape|size|shape|split",
)

SHARE = (
    "`make` is called once, with one tensor: this rank's shard, in memory of its own for just these numbers; "
    "parameters stay in theirs"
)
TRAINED = "after a step all parameters are those of one process with the mean gradient, with the same bits on all ranks"
SENT = "a step makes one reduce-scatter and one all-gather, setting it up communicates nothing, and gradients stay"
FILLED = "all of this also holds where P is no multiple of the ranks, and zeros fill the row up"
EVERYWHERE = first_of(made, PARAMETERS, same_bits)
LACKING = given("missing", fills=False)
EVEN = given(fills=False, missing=[])

CHECK = CallCheck.of(
    "ShardedOptimizer",
    ShardedOptimizer.PROBE,
    cases,
    Criterion("share", 1.25, SHARE, first_of(made, own_memory), on=EVEN),
    Criterion("step", 1, TRAINED, first_of(PARAMETERS, same_bits), MISTAKES, EVEN),
    Criterion("collectives", 0.75, SENT, first_of(communicated, gradients_stay), on=EVEN, after=("step",)),
    Criterion("missing", 0.25, "a `.grad` that is None counts as zeros", PARAMETERS, MOVED_UP, LACKING, ("step",)),
    Criterion("filled", 0.75, FILLED, EVERYWHERE, on=given("fills"), after=("share", "step", "missing")),
    consolidation="Cut in two, the all-reduce of data parallel training leaves room between its halves. There each "
    "rank updates a shard, and keeps what the optimizer keeps of that shard alone.",
    errors=Errors(
        """
        iterable-gone-through: An error on {who}: {error}. `parameters` is an iterable, as `model.parameters()` is: it
        can be gone through once. What is left of it the second time?

        missing-gradient: Where a parameter has no gradient your code stops with an error: {error}. Such a gradient
        counts as zeros.
        """,
        iterable_gone_through="non-empty list|non-empty TensorList|StopIteration",
        missing_gradient="None",
    ),
    broke_off=lambda run: UNEVEN(run) or LEFT_OUT(run),
    fits=lambda case, call, seen: len(seen.parameters) == len(call["shapes"]),
)
