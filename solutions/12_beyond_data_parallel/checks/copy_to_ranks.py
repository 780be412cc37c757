"""The check of `copy_to_ranks`: f and g, forward and backward, in all layouts, on all ranks and on some."""

from functools import partial

from autograde.rubric import (
    CallCheck,
    Criterion,
    Mistakes,
    Same,
    Words,
    argument_unchanged,
    changed,
    first_of,
    given,
    lacking,
    once,
)

from ..probes import copy_to_ranks
from ..probes.copy_to_ranks import NAMES
from ..shared.tensors import BY_RANK, drawn, layout_on
from .all_reduces import all_reduces
from .groups import by_member, members_of, on_members, over_all_ranks
from .luck import by_luck

words = Words("""
graph-lost: What `{function}` returns has no graph behind it, so no gradient gets back to x.
""")


def copies(call):
    return call.arguments["which"] == "copy"


def forward(call):
    return call.arguments["way"] == "forward"


def layouts(call):
    layout = call.arguments["layout" if forward(call) else "gradient"]
    return [layout_on(rank, layout) for rank in members_of(call)]


@once
def brought(call):
    """By rank, the x or the gradient that it gets."""
    seed, shape = call.arguments["seed"], call.arguments["shape"]
    ranks = [0 if copies(call) else rank for rank in members_of(call)]
    seeds = [seed + rank for rank in ranks] if forward(call) else [seed + 10 + rank for rank in members_of(call)]
    return [drawn(each, shape, layout) for each, layout in zip(seeds, layouts(call), strict=True)]


def total(call, scale=1.0, summed=lambda layout: True):
    """By rank, `scale` times the sum. summed: of a layout, whether who has it gets that, and not what it brought."""
    every = sum(brought(call)) * scale
    pairs = zip(layouts(call), brought(call), strict=True)
    return [every if summed(layout) else own for layout, own in pairs]


def mean(call):
    return total(call, 1 / len(members_of(call)))


def by_memory(call):
    """By rank, the sum of what lies in the same places of the memory, read in the rank's own layout."""
    turned = [layout == "transposed" for layout in layouts(call)]
    flat = sum((own.mT if by else own).reshape(-1) for own, by in zip(brought(call), turned, strict=True))
    shape = call.arguments["shape"]
    return [flat.reshape(shape[::-1]).mT if by else flat.reshape(shape) for by in turned]


def name(call):
    return NAMES[call.arguments["which"]]


def sums(call):
    """How many all-reduces are due: one in the direction in which there is something to be summed."""
    return (int(copies(call) != forward(call)),)


def expected(call):
    return brought(call) if copies(call) == forward(call) else total(call)


def shown(call, place):
    """What is compared, with the layout that it came of."""
    function, layout = name(call), call.arguments["layout" if forward(call) else "gradient"]
    graph = "" if call.arguments["graph"] else ", under `torch.no_grad()`"
    if forward(call):
        return f"what `{function}` returns for an x that is {layout}{graph},", place
    return f"the gradient of x behind `{function}`, where a gradient arrives that is {layout},", place


def in_the_graph(call):
    return None if all(by_member("graph")(call)) else words("graph-lost", function=name(call))


def cases(rng):
    """A pass forward and one backward of each function, in several layouts; without gradients; in a group."""

    def calls(*pairs, graph=True, ends=False):
        for which in NAMES:
            for layout, gradient in pairs:
                about = {"which": which, "layout": layout, "gradient": gradient, "graph": graph, "ends": ends}
                about |= {"seed": rng.getrandbits(30), "shape": [rng.randrange(2, 4), rng.randrange(4, 6)]}
                yield from ({**about, "way": way} for way in ("forward", "backward")[: 1 + graph])

    yield 4, *calls(("plain", "plain"), ("transposed", "expanded"), ("expanded", "transposed"))
    yield 3, *calls(("plain", "plain"), graph=False), *calls(("transposed", "plain"), ("plain", "expanded"))
    yield 4, *calls((BY_RANK, BY_RANK))
    yield 4, *calls(("plain", "transposed"), ("expanded", "plain"), ends=True)


def of_copy(values):
    """What a mistake in `copy_to_ranks` gives; calls of the other function cannot tell."""
    return lambda call: values(call) if copies(call) else None


def of_sum(values):
    """The same of `sum_over_ranks`."""
    return lambda call: None if copies(call) else values(call)


ORIGINAL_BACK = [
    partial(total, summed=lambda layout: layout == "plain"),  # a contiguous copy is summed
    partial(total, summed=lambda layout: layout != "transposed"),  # a copy of the same layout
]
ORDER = """an all-reduce adds what lies at the same place of the memory, and `clone()` leaves the order there as it is.
Which order do all ranks have?"""
COPIED_GRADIENT = Mistakes(
    f"""
    copied-gradient-own: The gradient of x is each rank's own: `copy_to_ranks` does not sum it over the ranks. Each rank
    knows only what came back through its own part.

    copied-gradient-average: The gradient of x is {{size}} times too small: `copy_to_ranks` averages it over the ranks.
    x goes into all parts; what do derivatives of several paths do?

    copied-gradient-layout: `copy_to_ranks` sums a plain gradient. But where the gradient is transposed or expanded,
    each rank keeps its own. Which tensor does the all-reduce change, and which one do you return?

    copied-gradient-memory-order: Where the gradient is transposed on some ranks only, `copy_to_ranks` adds up numbers
    of different places: {ORDER}
    """,
    changed(
        copied_gradient_own=brought,
        copied_gradient_average=mean,
        copied_gradient_layout=ORIGINAL_BACK,
        copied_gradient_memory_order=by_memory,
    ),
)
WRONG_VALUES = Mistakes(
    f"""
    copied-value-summed: `copy_to_ranks` returns {{size}} times x: it sums forward. x is the same on all ranks already;
    when do the ranks differ?

    summed-value-own: `sum_over_ranks` returns each rank's own x, not the sum over the ranks.

    summed-value-average: `sum_over_ranks` returns the average over the ranks: {{size}} times too small.

    summed-value-layout: `sum_over_ranks` sums a plain x. But where x is transposed or expanded, each rank gets its own
    x back. Which tensor does the all-reduce change, and which one do you return?

    summed-value-memory-order: Where x is transposed on some ranks only, `sum_over_ranks` adds up numbers of different
    places: {ORDER}
    """,
    changed(
        copied_value_summed=of_copy(total),
        summed_value_own=of_sum(brought),
        summed_value_average=of_sum(mean),
        summed_value_layout=[of_sum(each) for each in ORIGINAL_BACK],
        summed_value_memory_order=of_sum(by_memory),
    ),
)
SUMMED_GRADIENT = Mistakes(
    """
    summed-gradient-summed: Going back, `sum_over_ranks` sums the gradient over the ranks, so it is {size} times too
    large where the ranks agree. The gradient of a sum, by each of its summands, is what?

    summed-gradient-average: Going back, `sum_over_ranks` divides or averages the gradient. It passes as it is.
    """,
    changed(
        summed_gradient_summed=total,
        summed_gradient_average=[mean, lambda call: [own / call.size for own in brought(call)]],
    ),
)
VALUES = Same(by_member("value"), expected, on_members(shown))
ALL_REDUCE = all_reduces(name, sums)
BACKWARD = first_of(by_luck, in_the_graph, VALUES)
FORWARD = (
    "`copy_to_ranks` gives x as it is, and `sum_over_ranks` the sum of the ranks' x, in all layouts, also under "
    "`torch.no_grad()`; x is not changed"
)
ONE = "one all-reduce for each of the two sums, and no other communication"
ON_ALL = "values", "copied-gradient", "summed-gradient", "all-reduce"
GROUP = "all of this also holds over a `group` of some of the ranks"

CHECK = CallCheck.of(
    "copy_to_ranks",
    copy_to_ranks.PROBE,
    cases,
    Criterion(
        "values", 1, FORWARD, first_of(argument_unchanged, VALUES), WRONG_VALUES, on=given(way="forward", ends=False)
    ),
    Criterion(
        "copied-gradient",
        0.75,
        "going back, `copy_to_ranks` gives the sum of the ranks' gradients, in all layouts, and changes none",
        first_of(argument_unchanged, BACKWARD),
        COPIED_GRADIENT,
        on=given(which="copy", way="backward", ends=False),
    ),
    Criterion(
        "summed-gradient",
        0.5,
        "going back, `sum_over_ranks` gives the gradient as it is, and autograd does not warn",
        BACKWARD,
        SUMMED_GRADIENT,
        on=given(which="sum", way="backward", ends=False),
    ),
    Criterion("all-reduce", 0.25, ONE, ALL_REDUCE, on=lacking("ends"), after=("copied-gradient", "values")),
    Criterion("group", 0.5, GROUP, first_of(VALUES, ALL_REDUCE), on=given("ends"), after=ON_ALL),
    broke_off=over_all_ranks,
    consolidation="What is copied forward is summed backward, and what is summed forward is copied backward. Whoever "
    "splits a model needs this pair.",
)
