"""The check of `accumulate_gradients`: when gradients are synchronised, what they are then, and what is returned."""

from autograde.rubric import (
    SINGLE,
    CallCheck,
    Criterion,
    DeviceCriterion,
    Mistakes,
    Same,
    Words,
    changed,
    first_of,
    has_values,
    of_seen,
    on_ranks,
)

from ..probes import accumulate_gradients
from .passes import one_by_one, synchronised_once
from .steps import draw_step, parts

words = Words("""
wrong-sum: The gradient is not the average over the ranks of the gradient of their summed losses: on rank {rank}, it is
{seen} in one place, where {due} is expected.

loss-with-graph: What {who:returns|return} has a graph for gradients (`requires_grad`). So long as somebody keeps the
sum, the graphs of all micro-batches stay in memory. Take each loss out of its graph, by `item` or `detach`.
""")


def average(call, divisor=lambda parts, part: 1, times=1, only=None):
    """By rank, the average of the ranks' gradients of their summed losses. divisor: of all parts and one of them. only:
    the micro-batch that alone is in it."""
    micro = len(call.arguments["batches"][0])
    kept = parts(call) if only is None else parts(call)[only % micro :: micro]
    return [times * sum(part.gradient / divisor(parts(call), part) for part in kept) / call.size] * call.size


def own(call, rank):
    return [part for part in parts(call) if part.rank == rank]


def totals(call, loss=lambda own: sum(part.total for part in own), tokens=lambda own: sum(part.count for part in own)):
    return [[loss(own(call, rank)), tokens(own(call, rank))] for rank in range(call.size)]


def wrong_sum(call, off):
    if off.what != "value":
        return None
    return words("wrong-sum", rank=off.place[0], seen=f"{off.actual or 0:.4g}", due=f"{off.expected:.4g}")


def no_graph(call):
    return words.on_ranks("loss-with-graph", [rank for rank, graph in enumerate(call.of("attached")) if graph])


DIVIDED = [
    lambda parts, part: sum(each.count for each in parts),
    lambda parts, part: sum(each.count for each in parts if each.rank == part.rank),
    lambda parts, part: part.count,
    lambda parts, part: sum(each.places for each in parts),
    lambda parts, part: part.places,
    lambda parts, part: sum(each.rank == part.rank for each in parts),
]
GRADIENT = Mistakes(
    """
    divided-too-early: The gradient is already divided by a number of tokens or of micro-batches. The gradient of the
    plain sum is expected here: what to divide by is known only when all ranks' tokens are.

    average-undone: The gradient is {size} times as large as the average over {size} ranks, which
    DistributedDataParallel leaves.

    one-micro-batch-only: Only one micro-batch is in the gradient. What happens to `.grad` between two of them?

    nothing-in-grad: After the call there is no gradient.
    """,
    changed(
        average,
        divided_too_early=[{"divisor": lambda call, each=each: each} for each in DIVIDED],
        average_undone={"times": lambda call: call.size},
        one_micro_batch_only=[{"only": -1}, {"only": 0}],
        nothing_in_grad={"times": 0},
    ),
)
RETURNED = Mistakes(
    """
    last-loss-returned: The loss that a rank returns is that of its last micro-batch only: {actual}. The sum over all of
    them is {expected}.

    mean-for-sum: A mean is returned as loss: {actual}. Expected is the sum: {expected}.

    loss-of-all-ranks: The loss of all ranks is returned: {actual}. Expected is the rank's own: {expected}.

    padding-in-tokens: As number of tokens, {actual} is returned. That counts the padding, too; without it there are
    {expected}.
    """,
    changed(
        totals,
        last_loss_returned={"loss": lambda call: lambda own: own[-1].total},
        mean_for_sum=[
            {"loss": lambda call: lambda own: sum(part.total for part in own) / sum(part.count for part in own)},
            {"loss": lambda call: lambda own: sum(part.total for part in own) / len(own)},
        ],
        loss_of_all_ranks={"loss": lambda call: lambda own: sum(part.total for part in parts(call))},
        padding_in_tokens={"tokens": lambda call: lambda own: sum(part.places for part in own)},
    ),
)


def case(rng, size, micro_batches, norm=False):
    return size, *(draw_step(rng, size, count, norm) for count in micro_batches)


def cases(rng):
    """Several ranks, and one; ten micro-batches, and a single one; BatchNorm."""
    cases = [case(rng, 4, [3, 2]), case(rng, 2, [10]), case(rng, 3, [4, 1], norm=True), case(rng, 1, [3])]
    return [*cases, case(rng, 3, [2, 4]), case(rng, 2, [3, 1], norm=True)]


CHECK = CallCheck.of(
    "accumulate_gradients",
    accumulate_gradients.PROBE,
    cases,
    Criterion(
        "passes",
        0.25,
        "in train mode, each micro-batch goes forward and backward before the next one goes forward",
        one_by_one,
    ),
    Criterion(
        "synchronised",
        0.5,
        "the backward pass of the last micro-batch, and no other, synchronises the gradients; the ranks communicate "
        "nothing else",
        synchronised_once,
    ),
    Criterion(
        "gradient",
        0.5,
        "afterwards `.grad` is the average over the ranks of their gradients of the summed loss",
        Same(of_seen("gradients"), average, on_ranks("the row of gradients"), otherwise=wrong_sum),
        GRADIENT,
        after=("synchronised",),
    ),
    Criterion(
        "returned",
        0.5,
        "the rank's own summed loss and its number of tokens are returned, without a graph for gradients",
        first_of(
            has_values("the summed loss and the number of tokens", of_seen("totals")),
            no_graph,
            Same(of_seen("totals"), totals, on_ranks("what is returned", "number"), SINGLE),
        ),
        RETURNED,
    ),
    DeviceCriterion(0.25, "the micro-batches are on the device of the model's parameters"),
    repeats=False,
    gpu_case=lambda rng: {"size": 2, "calls": [draw_step(rng, 2, 2, False)]},
    consolidation="Gradients add up in `.grad` by themselves, so they have to cross the network only once in a step. "
    "The wrapper decides about that in the forward pass.",
)
