"""The check of `reduce_scattered`: each rank's rows of the mean gradient, by one reduce-scatter."""

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
    lacking,
    named,
    of_record,
    of_seen,
    on_ranks,
    once,
)

from ..probes import reduce_scattered
from ..shared.layers import before_of, gradients_of, shapes_of
from ..shared.values import rows_of
from .freed_memory import died
from .shard import right_but_behind
from .waiting import NOT_WAITED_FOR, not_waited_for, waited_for

words = Words("""
whole-gradients-kept: After the call, {who:has|have} gradients of whole parameters. They take as much memory as the
weights do.

sent-without-sync: With sync=False the ranks call {ops}.

changed-without-sync: With sync=False the gradients of {who} are not what they were. They wait for the last pass to be
added up.
""")


@once
def brought(call):
    """By rank and parameter, its gradients as it brings them: [size, c, ...], with zeros behind the last row."""

    def rows(shape, gradient):
        padded = torch.zeros(call.size * rows_of(shape[0], call.size), *shape[1:], dtype=dtype)
        padded[: shape[0]] = 0 if gradient is None else gradient
        return padded.view(call.size, -1, *shape[1:])

    dtype = getattr(torch, call.arguments["dtype"])
    return [[*map(rows, shapes_of(call.arguments), gradients_of(call.arguments, rank))] for rank in range(call.size)]


def mean_rows(call, rank, number):
    return sum(own[number][rank] for own in brought(call)) / call.size


def own_rows(call, rank, number):
    return brought(call)[rank][number][rank]


def cut_by_parameter(call, rank, number):
    """Of a row that has all of the first parameter, then all of the second one."""
    row = sum(torch.cat([each.flatten() for each in own]) for own in brought(call)) / call.size
    shapes = [each.shape[1:] for each in brought(call)[0]]
    return row.view(call.size, -1)[rank].split([shape.numel() for shape in shapes])[number].view(shapes[number])


def grads(call, share=mean_rows, scale=1.0, add=True):
    """By rank and parameter, what is in `.grad` in the end. share: what comes new, times scale. add: whether it is
    added to what was there."""
    return [
        [
            scale * share(call, rank, number) + (0 if before is None or not add else before)
            for number, before in enumerate(before_of(call.arguments, rank, call.size))
        ]
        for rank in range(call.size)
    ]


def behind(call):
    """Whether all rows are right but those behind the last one of a parameter."""
    return all(
        right_but_behind(seen, each.numpy(), shape[0], rank)
        for rank, (own, due) in enumerate(zip(call.of("grads"), grads(call), strict=True))
        for seen, each, shape in zip(own, due, shapes_of(call.arguments), strict=True)
    )


def gone(call):
    return words.on_ranks("whole-gradients-kept", [rank for rank, each in enumerate(call.of("gone")) if not each])


@of_record
def nothing_sent(call):
    if events := [event for log in call.events for event in log]:
        return words("sent-without-sync", ops=named(events))
    wrong = [rank for rank, each in enumerate(call.of("unchanged")) if not each]
    return words.on_ranks("changed-without-sync", wrong)


def all_reduced(call):
    """Whether ranks call nothing else than all-reduces."""
    return {event["kind"] for log in call.events for event in log} == {"allreduce"}


def cases(rng):
    """Rows that do and do not divide evenly, gradients that are missing on a rank, some there already."""

    def call(*sizes, before=False, missing=(), sync=True, dtype="float64", **more):
        about = {"sizes": [*sizes], "before": before, "missing": [[*each] for each in missing], "sync": sync}
        return {**about, "dtype": dtype, **more}

    none_on_one = [(1, number) for number in range(4)]
    some = call(3, rng.choice((5, 7)), missing=[(1, 0), (0, 3)]), call(4, 8, before=True)
    yield 4, call(4, 8), *some, call(3, 5, before=True, sync=False), call(2, 4, sync=False)
    yield 3, call(2, 4, before=True, dtype="float32"), call(4, 4, tied=True), call(2, 3, missing=none_on_one)
    yield 1, call(3, 2)


ROW = Collectives(
    "torch",
    "reduce_scatter",
    "reduce-scatter",
    nbytes=lambda call: sum(each.nbytes for each in brought(call)[0]),
)
MISTAKES = Mistakes(
    f"""
    {NOT_WAITED_FOR}

    padding-in-the-sum: Behind the last row of a parameter, the shards' `.grad` is not zero. The optimizer and whoever
    computes the norm of all gradients take that for gradients.

    sum-of-gradients: The shards have the *sum* of the ranks' gradients, {{size}} times their mean.

    averaged-twice: The shards have the mean, divided by {{size}} once more.

    own-gradient-only: Each shard has the rows of its own rank's gradient. Where do the other ranks' come in?

    gradients-replaced: What was in `.grad` of the shards is gone. The mean is added to it, as `backward` adds.

    pieces-of-other-parameters: The row that you bring has all of the first parameter, then all of the second one. It is
    cut into as many pieces as there are ranks: what of which parameters is in the first piece?
    """,
    changed(
        grads,
        sum_of_gradients=lambda call: grads(call, scale=call.size) if call.size > 1 else None,
        averaged_twice=lambda call: grads(call, scale=1 / call.size) if call.size > 1 else None,
        own_gradient_only=lambda call: grads(call, own_rows),
        gradients_replaced={"add": False},
        pieces_of_other_parameters=lambda call: grads(call, cut_by_parameter),
    ),
    not_waited_for=not_waited_for,
    padding_in_the_sum=behind,
)
ALL_REDUCED = Mistakes(
    """
    all-reduce-then-cut: The ranks call all_reduce: each of them gets the mean of all gradients, and needs that of its
    own rows.
    """,
    all_reduce_then_cut=all_reduced,
)
MEAN = (
    "the mean of the ranks' gradients is added to `.grad` of the shards, each has its own rows of it, and zeros behind "
    "the last row (a `.grad` of None counts as zeros)"
)
GRADS = Same(of_seen("grads"), grads, on_ranks("`.grad` of shard {}"))
ONE = "one reduce-scatter for the layer, and no other communication"
SYNC = given("sync")

CHECK = CallCheck.of(
    "reduce_scattered",
    reduce_scattered.PROBE,
    cases,
    Criterion("mean", 1.25, MEAN, first_of(GRADS, argument_unchanged), MISTAKES, on=SYNC),
    Criterion("reduce-scatter", 0.75, ONE, first_of(ROW, waited_for), ALL_REDUCED, on=SYNC),
    Criterion("freed", 0.5, "afterwards the parameters of the layer have no gradient (None)", gone, on=SYNC),
    Criterion("no-sync", 0.5, "with sync=False nothing is sent, and nothing changes", nothing_sent, on=lacking("sync")),
    consolidation="A reduce-scatter is the half of an all-reduce that sharded training needs: nothing is sent twice.",
    inputs=("sizes",),
    broke_off=died,
    fits=lambda case, arguments, seen: len(seen.grads) == len(shapes_of(arguments)),
)
