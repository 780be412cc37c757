"""The check of `forward_passes`: inputs and outputs beside one process, how they are bound, and the messages."""

from autograde.rubric import (
    CallCheck,
    Criterion,
    Mistakes,
    Same,
    Words,
    changed,
    first_of,
    given,
    lacking,
    on_ranks,
    once,
)

from ..probes import forward_passes
from ..shared.stages import Stage, batch_of
from .neighbours import in_time, not_contiguous, to_neighbours

words = Words("""
no-list-of-passes: What {who:returns|return} is no list of {n} pairs (input, output), one for each micro-batch.

stage-passes: On {who} the stage makes {actual:pass} for {n} micro-batches.

one-buffer-for-all: On {who} several inputs are in one piece of memory. When the second one arrives, what does the graph
of the first pass still need?

input-without-gradient: On {who} the input of a pass requires no gradient. Then there will be none to send back.

input-is-no-leaf: On {who} the input of a pass is no leaf: its gradient is not kept in `.grad`.

output-has-no-graph: On {who} the output that is returned has no graph behind it. What will `backward` begin with?

first-input-replaced: On {who} the input of a pass is not the tensor that was given.

given-tensors-changed: On {who} the given micro-batches are not what they were: something is received into them, or
their `requires_grad` is another. Whoever gave them still needs them.
""")


@once
def passed(call):
    """The inputs of each stage, and behind them the outputs of the last one."""
    every = [batch_of(call.arguments)]
    for rank in range(call.size):
        stage = Stage(call.arguments, rank)
        every.append([stage(each).detach() for each in every[-1]])
    return every


def shown(name):
    """By rank, the inputs or outputs of its passes."""
    return lambda call: [[getattr(each, name) for each in own.passes or []] for own in call.seen]


def inputs(call):
    return passed(call)[:-1]


def outputs(call):
    return passed(call)[1:]


def pairs(call):
    return [[*zip(*both, strict=True)] for both in zip(inputs(call), outputs(call), strict=True)]


def pairs_shown(call):
    return [[*zip(*both, strict=True)] for both in zip(shown("input")(call), shown("output")(call), strict=True)]


def ranks_where(call, wrong):
    """The ranks of which this is true. wrong: of what is seen on a rank, and its number."""
    return [rank for rank, own in enumerate(call.seen) if wrong(own, rank)]


def listed(call):
    ranks = ranks_where(call, lambda own, rank: own.passes is None)
    return words.on_ranks("no-list-of-passes", ranks, n=len(call.arguments["rows"]))


def own_memory(call):
    return words.on_ranks("one-buffer-for-all", ranks_where(call, lambda own, rank: not own.apart))


def bound(call):
    """Inputs can get a gradient, and outputs have a graph."""
    wrong = {
        "first-input-replaced": lambda each, rank: rank == 0 and not each.given,
        "input-without-gradient": lambda each, rank: rank > 0 and not each.requires,
        "input-is-no-leaf": lambda each, rank: rank > 0 and not each.leaf,
        "output-has-no-graph": lambda each, rank: not each.graph,
    }
    for key, of_pass in wrong.items():
        ranks = ranks_where(call, lambda own, rank, of_pass=of_pass: any(of_pass(each, rank) for each in own.passes))
        if ranks:
            return words.on_ranks(key, ranks)
    return None


def one_pass_each(call):
    n = len(call.arguments["rows"])
    ranks = ranks_where(call, lambda own, rank: own.made != n)
    return words.on_ranks("stage-passes", ranks, n=n, actual=call.seen[ranks[0]].made if ranks else n)


def stay(call):
    ranks = ranks_where(call, lambda own, rank: not own.kept or (rank and any(each.given for each in own.passes or [])))
    return words.on_ranks("given-tensors-changed", ranks)


def own_input_used(call):
    """Whether, from rank 1 on, inputs are the nan of the rank's own micro-batches."""
    behind = [array for own in shown("input")(call)[1:] for array in own]
    return all(None in array.entries for array in behind) if behind else None


def cases(rng):
    """Calls with 1 to 5 micro-batches on 1 to 4 ranks, of unequal lengths; stages whose output is column-major."""

    def call(count, column_major=False):
        rows = [rng.randrange(2, 5) for _ in range(count)]
        rows[-1] = rows[0] + 1 if count > 1 else rows[0]
        about = {"rows": rows, "width": rng.randrange(3, 5), "seed": rng.getrandbits(30)}
        return {**about, "column_major": column_major}

    yield 4, call(4)
    yield 2, call(1), call(4)
    yield 3, call(5)
    yield 1, call(4)
    yield 4, call(5, column_major=True)
    yield 3, call(5, column_major=True)


INPUTS = Same(shown("input"), inputs, on_ranks("the inputs", "micro-batch"))
PAIRS = Same(pairs_shown, pairs, on_ranks("what is returned", "micro-batch", "tensor"))
OUTPUTS = Same(shown("output"), outputs, on_ranks("the outputs that are returned", "micro-batch"))
ONCE = "for each micro-batch the stage makes one pass, and one message goes to the next rank; nothing else is sent"
IN_TIME = "an output is sent before the next pass begins, and a pass waits for its own input only"
BOUND = (
    "on rank 0 the input is the tensor that was given, elsewhere a leaf that requires a gradient; the output is that "
    "of the stage, with its graph"
)
CONTIGUOUS = lacking("column_major")

CHECK = CallCheck.of(
    "forward_passes",
    forward_passes.PROBE,
    cases,
    Criterion(
        "inputs",
        0.75,
        "the input is what the stage before gave, in memory of its own, and the given micro-batches stay as they are",
        first_of(listed, own_memory, INPUTS, stay),
        Mistakes(
            """
            own-input-used: From rank 1 on, inputs are nan: the values of the rank's own `micro_batches`. Only rank 0
            has values. What should the others work on?

            stage-left-out: On rank 2 and behind it, inputs are what the stage before *got*, not what it gave.
            """,
            changed(stage_left_out=lambda call: [batch_of(call.arguments)] * call.size),
            own_input_used=own_input_used,
        ),
        on=CONTIGUOUS,
    ),
    Criterion("bound", 0.5, BOUND, first_of(listed, bound, OUTPUTS), on=CONTIGUOUS, after=("inputs",)),
    Criterion("messages", 0.25, ONCE, first_of(one_pass_each, to_neighbours("forward")), on=CONTIGUOUS),
    Criterion("in-time", 0.25, IN_TIME, in_time("forward"), on=CONTIGUOUS, after=("inputs", "messages")),
    Criterion(
        "layouts",
        0.25,
        "all of this also holds where an output of the stage is not contiguous",
        first_of(listed, own_memory, PAIRS),
        on=given("column_major"),
        after=("inputs",),
    ),
    consolidation="A message ends one graph and begins another: what is sent is detached, and what is received is a "
    "leaf. Sent at once, it lets the next stage begin.",
    broke_off=not_contiguous,
    fits=lambda case, call, seen: seen.passes is None or len(seen.passes) == len(call["rows"]),
)
