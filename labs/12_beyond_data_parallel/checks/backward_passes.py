"""The check of `backward_passes`: gradients beside one process, and the messages."""

from autograde.rubric import (
    CallCheck,
    Criterion,
    Errors,
    Mistakes,
    Same,
    Words,
    alike,
    changed,
    first_of,
    given,
    of_record,
    of_seen,
    on_ranks,
)
from course.watch.notes import note_of

from ..probes import backward_passes
from ..shared.stages import left_before
from .neighbours import in_time, not_contiguous, to_neighbours
from .whole_pipeline import as_it_came, first_each_time, gradients, inputs_for_gradients, ones, ones_before_the_last

OTHER_ORDER = """
backward-in-another-order: Rank {rank} goes back through the micro-batches in the order {order}. The others take what
comes for the gradient of micro-batch 0, then 1, and so on: nobody notices that gradients are mixed up, where their
shapes are equal.
"""
words = Words(f"""
{OTHER_ORDER}

in-another-order-everywhere: All ranks go back through the micro-batches in the order {{order}}. So the gradients are
right. But a neighbour that goes in the order of the micro-batches would take one's gradient for another's.

nothing-left: On {{who}} the gradients are what they were before the call. What has to go back there, and to which
tensors?

no-loss-begins: Each rank waits for a gradient, and none begins with its losses. How does your code know that rank
{{rank}} is the last one of {{size}}?
""")


def other_orders(logs):
    """By rank that does not go back through the micro-batches in their order, facts for words. logs: with notes."""
    orders = {}
    for rank, log in enumerate(logs):
        noted = [name.split() for name in map(note_of, log) if name]
        orders[rank] = [int(number) for way, number in noted if way == "backward"]
    return {rank: {"rank": rank, "order": order} for rank, order in orders.items() if order != sorted(order)}


def in_another_order(call):
    return next(iter(other_orders(call.notes).values()), False)


@of_record
def in_order(call):
    """Not all ranks go back in one other order; where some do, gradients are mixed up, or not sent in time."""
    found = [*other_orders(call.notes).values()]
    if len(found) == call.size and all(each["order"] == found[0]["order"] for each in found):
        return words("in-another-order-everywhere", order=found[0]["order"])
    return None


def untouched(call):
    ranks = []
    for rank, own in enumerate(call.of("gradients")):
        before = left_before(call.arguments, rank)
        pairs = zip(own, before, strict=True)
        if all(each.kind == "None" or alike(each.entries, old.numpy()) for each, old in pairs):
            ranks.append(rank)
    return words.on_ranks("nothing-left", ranks)


def stuck(run):
    """What a run that broke off means: an order that is another one on some rank, or nobody who begins."""
    logs = run.of_call(run.reached, notes=True)
    if found := other_orders(logs):
        return words("backward-in-another-order", run.report, **next(iter(found.values())))
    events = [event for log in logs for event in log]
    begun = any((note_of(event) or "").startswith("backward") or event["kind"] == "send" for event in events)
    waiting = {log[-1]["kind"] if log else "" for log in logs} == {"recv"}
    if run.state in ("hang", "rank-died") and waiting and not begun:
        return words("no-loss-begins", run.report, rank=len(logs) - 1, size=len(logs))
    return not_contiguous(run)


def cases(rng):
    """Calls with 1 to 5 micro-batches on 1 to 4 ranks, of equal and unequal lengths; gradients that were there."""

    def call(count, equal=False, column_major=False, before=0):
        rows = [3] * count if equal else [rng.randrange(2, 5) for _ in range(count - 1)] + [5]
        about = {"rows": rows, "width": rng.randrange(3, 5), "seed": rng.getrandbits(30)}
        return {**about, "column_major": column_major, "before": before}

    yield 4, call(4, equal=True), call(4, equal=True, before=1)
    yield 2, call(1), call(4, before=1)
    yield 1, call(4), call(3, before=1)
    yield 3, call(5), call(5, equal=True, before=1)
    yield 4, call(5, column_major=True, before=1)
    yield 3, call(4, column_major=True)


GRADIENTS = Same(of_seen("gradients"), gradients, on_ranks("the stage's gradients", "parameter"))
MISTAKES = Mistakes(
    f"""
    {OTHER_ORDER}

    averaged-once-more: The gradients are those of the mean loss, divided once more. The losses are parts of a mean
    already.

    gradients-added-twice: The gradients of the mean loss are added twice.

    first-gradient-each-time: What goes from rank to rank is the gradient of the first micro-batch's input each time.

    ones-for-the-gradient: The gradients are those of the sum of each stage's own outputs: as if the gradient of each
    output were 1. What comes from the rank behind, and what is it for?

    inputs-for-gradients: What goes back is a stage's input itself: the gradients are those of outputs whose gradient
    has the numbers of the next stage's input. Where does autograd leave the gradient of a tensor?

    gradients-as-they-came: Ranks before the last two get gradients that are not theirs: what came from behind is handed
    on as it is. Of which tensor is the gradient that the rank before waits for?
    """,
    changed(
        gradients,
        averaged_once_more=[
            {"factor": lambda call: 1 / len(call.arguments["rows"])},
            {"factor": lambda call: 1 / call.size},
        ],
        gradients_added_twice={"factor": 2.0},
        first_gradient_each_time=first_each_time,
        ones_for_the_gradient=[ones_before_the_last, ones],
        inputs_for_gradients=inputs_for_gradients,
        gradients_as_they_came=[as_it_came(own_on=True), as_it_came(own_on=False)],
    ),
    backward_in_another_order=in_another_order,
)
ZEROED = Mistakes(
    """
    gradients-zeroed: What was in `.grad` before the call is gone. `backward` adds; who sets to zero here?
    """,
    changed(gradients, gradients_zeroed={"kept": 0.0}),
)
BACK = "for each micro-batch, in order, one message goes to the rank before, and nothing else is sent"
IN_TIME = "a gradient is sent before the next pass begins, and a pass waits for its own gradient only"


def begun_with(before):
    """Calls with stages whose outputs are contiguous, and with gradients that were there before, or none."""
    return given(column_major=False, before=before)


CHECK = CallCheck.of(
    "backward_passes",
    backward_passes.PROBE,
    cases,
    Criterion(
        "gradients",
        1,
        "the parameters of each stage get the gradients of the mean loss",
        first_of(untouched, GRADIENTS),
        MISTAKES,
        on=begun_with(0),
    ),
    Criterion(
        "added",
        0.5,
        "they are added to what was in `.grad` before",
        GRADIENTS,
        ZEROED,
        on=begun_with(1),
        after=("gradients",),
    ),
    Criterion(
        "messages",
        0.5,
        BACK,
        first_of(to_neighbours("backward"), in_order),
        on=given(column_major=False),
        after=("gradients",),
    ),
    Criterion("in-time", 0.5, IN_TIME, in_time("backward"), on=given(column_major=False), after=("gradients",)),
    Criterion(
        "layouts",
        0.5,
        "all of this also holds where an output of the stage is not contiguous",
        GRADIENTS,
        on=given("column_major"),
        after=("gradients", "added"),
    ),
    consolidation="Each stage needs one gradient from behind, and gives one: autograd on each rank, joined by "
    "messages. Parts of a mean loss add up to its gradient by themselves.",
    broke_off=stuck,
    errors=Errors(
        """
        nothing-before-the-first: An error on {who}: {error}. What the first stage gets are data, and they require no
        gradient. To whom would it go?
        """,
        on=lambda run: [*run.errors] == [0],
        nothing_before_the_first="'NoneType' object has no attribute|MPI_ERR_RANK|Invalid (dst|peer)|out of range",
    ),
    fits=lambda case, call, seen: len(seen.gradients) == 2,
)
