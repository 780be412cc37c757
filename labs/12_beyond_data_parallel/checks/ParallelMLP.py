"""The check of `ParallelMLP`: its parts, a pass in each direction beside one process, and what is sent for that."""

from autograde.rubric import (
    CallCheck,
    Criterion,
    Errors,
    Mistakes,
    Same,
    Words,
    argument_unchanged,
    changed,
    first_of,
)

from ..probes import ParallelMLP
from ..shared.mlps import NAMES
from .all_reduces import all_reduces
from .groups import by_member, members_of, on_members, over_all_ranks
from .luck import by_luck
from .split_mlp import (
    by_size,
    bytes_summed,
    due,
    every_nth,
    giving,
    gradients,
    own_gradients_of_x,
    own_outputs,
    parameters,
    split,
    sums,
    whole,
)

words = Words("""
mlp-changed: After `ParallelMLP(mlp)`, or a pass through it, `mlp` is not what it was: its numbers, or its gradients.

parameters-of-other-names: The parameters on rank {rank} are {actual}. Expected are `w1`, `b1`, `w2` and `b2`, and
no others.

more-memory-held: The parameters of rank {rank} need {needed:byte}, and the module holds {held}. How large is the
memory behind each?

memory-of-mlp: On rank {rank} a parameter of the part is in the memory of `mlp`: who trains the one changes the other.
Make copies.
""")


WAYS = ("construct", "forward", "backward")


def bias_on_one_rank(call):
    """Whether `b2` has a gradient on one rank alone."""
    others = [own["b2"] for own in by_member("shown")(call) if "b2" in own][1:]
    return all(not any(each.entries) for each in others) if others else None


def cut_otherwise(call):
    """Whether a rank has more hidden units than it should, or fewer; only a part that was built tells."""
    if call.arguments["way"] != "construct":
        return None
    pairs = zip(by_member("shown")(call), split(call), strict=True)
    return any(own["w1"].shape[:1] != [len(units)] for own, units in pairs if "w1" in own)


def shown(call, place):
    """What is compared, and what is left of the place."""
    what = {"construct": "`{}`", "forward": "the output", "backward": "the gradient of `{}`"}[call.arguments["way"]]
    return what.format(*place[:1] or ["the parameters"]), place[1:]


def other_names(call):
    for rank, own in zip(members_of(call), by_member("shown")(call), strict=True):
        if {*own} != {*NAMES}:
            return words("parameters-of-other-names", rank=rank, actual=[f"`{name}`" for name in own] or "none")
    return None


def memory(call):
    for rank, own in zip(members_of(call), parameters(call), strict=True):
        seen, needed = call.seen[rank], sum(each.nbytes for each in own.values())
        if seen.held > needed:
            return words("more-memory-held", rank=rank, needed=needed, held=seen.held)
        if not seen.apart:
            return words("memory-of-mlp", rank=rank)
    return None


def mlp_stays(call):
    return argument_unchanged(call) if all(call.of("kept")) else words("mlp-changed")


def cases(rng):
    """Hidden units that ranks share equally, on all and on some, and others; x of several dimensions, and without
    gradient."""

    def calls(h, size, ends=False, wide=False, leaf=True):
        d, o = rng.randrange(2, 5), rng.randrange(5, 7)
        about = {"sizes": [d, h, o], "x": [rng.randrange(2, 4), 2, d] if wide else [rng.randrange(2, 5), d]}
        about |= {"seed": rng.getrandbits(30), "ends": ends, "leaf": leaf, "uneven": h % (2 if ends else size) > 0}
        about |= {"activation": "sigmoid" if wide else rng.choice(["gelu", "tanh"])}
        about |= {"layout": "transposed" if wide else "plain"}
        return [{**about, "way": way} for way in WAYS]

    yield 4, *calls(8, 4), *calls(12, 4, wide=True)
    yield 2, *calls(6, 2, leaf=False)
    yield 1, *calls(3, 1)
    yield 4, *calls(8, 4, ends=True)
    yield 4, *calls(10, 4), *calls(9, 4, wide=True), *calls(5, 4, leaf=False)
    yield 3, *calls(7, 3, ends=True), *calls(8, 3)


def even(*ways):
    """Calls in one of these ways, with hidden units that all ranks share equally."""
    return lambda call: call["way"] in ways and not call["uneven"] and not call["ends"]


VALUES = Same(by_member("shown"), due, on_members(shown))
SPLIT = ["w1", "b1", "w2"]
PARAMETERS = Mistakes(
    """
    bias-of-all-units: On each rank `b1` has a number for each hidden unit of `mlp`. Which of them belong to this rank's
    units?

    other-units: The parameters have the right shapes, and numbers of other units. Shares are contiguous, in the ranks'
    order.
    """,
    changed(
        parameters,
        bias_of_all_units=lambda call: [{**own, "b1": whole(call)[0][0].bias.detach()} for own in parameters(call)],
        other_units={"shares": every_nth},
    ),
)
CUT = Mistakes(
    """
    hidden-units-cut-otherwise: {where} has the shape {actual}, where {expected} is expected. Of hidden units that
    cannot be shared equally, `tensor_split` gives one more to each of the first ranks. How does your code cut?
    """,
    hidden_units_cut_otherwise=cut_otherwise,
)
FORWARD = Mistakes(
    """
    part-not-summed: The output on each rank is what its own hidden units give. Where do the other ranks' parts come in?

    bias-on-every-rank: In the output `b2` is there {size} times: once for each rank. Before the sum, or after it?

    bias-left-out: The output lacks `b2`.

    activation-at-the-end: The activation comes after the second matrix. Which numbers does `mlp` put through it?

    activation-left-out: The output is that of `mlp` without its activation.
    """,
    changed(
        part_not_summed=own_outputs,
        bias_on_every_rank=giving(lambda mlp, x, y, size: y + (size - 1) * mlp[2].bias),
        bias_left_out=giving(lambda mlp, x, y, size: y - mlp[2].bias),
        activation_at_the_end=[
            giving(lambda mlp, x, y, size: mlp[1](mlp[0](x) @ mlp[2].weight.T) + mlp[2].bias),
            giving(lambda mlp, x, y, size: mlp[1](mlp[2](mlp[0](x)))),
        ],
        activation_left_out=giving(lambda mlp, x, y, size: mlp[2](mlp[0](x))),
    ),
)
BACKWARD = Mistakes(
    """
    gradient-of-x-own-part: The output is right. But the gradient of x is, on each rank, what comes back through its own
    units alone, and no error tells you.

    gradients-times-ranks: The output is right. But gradients are {size} times too large: going back, equal parts of the
    ranks are summed.

    bias-gradient-divided: The output is right. But the gradient of `b2` is {size} times too small: each step would move
    it less than expected.

    bias-on-one-rank: The output is right. But `b2` gets its gradient on one rank only. After a step, the ranks have
    different ones.
    """,
    changed(
        gradients,
        gradient_of_x_own_part=own_gradients_of_x,
        gradients_times_ranks=[{"factor": by_size, "names": names} for names in (SPLIT, [*SPLIT, "x"], [*NAMES, "x"])],
        bias_gradient_divided={"factor": lambda call: 1 / by_size(call), "names": ["b2"]},
    ),
    bias_on_one_rank=bias_on_one_rank,
)
ERRORS = Errors(
    """
    cut-in-another-dimension: An error on {who}: {error}. The hidden units are rows of the first matrix. What are they
    in the second one, which is [o, h]?

    too-few-shares: With {sizes[1]} hidden units on {size} ranks, an index is out of range on {who}: the units were cut
    into too few parts. Which function always gives as many as you ask for?
    """,
    cut_in_another_dimension="IndexError: .*out of bounds for dimension",
    too_few_shares="IndexError: tuple index",
)
OTHER_RANK = Errors(
    """
    rank-of-another-group: In the group of the first and the last rank, an index is out of range on {who}: in this group
    it is number 1. Which rank, and of which group, does your code ask for?
    """,
    on=lambda run: run.broken["ends"],
    rank_of_another_group="IndexError: tuple index",
)
PART = (
    "each rank has copies of its hidden units' part of `w1`, `b1` and `w2`, and of all of `b2`; the module holds no "
    "other parameters, and no more memory than these need"
)
GRADIENTS = "the gradients of x and of all parameters are those of `mlp`, and autograd does not warn"
ONE = (
    "a pass makes one all-reduce: forward with as many numbers as the output, backward with as many as x; `mlp` and x "
    "stay as they are"
)
UNEVEN = "all of this also holds where the ranks' shares differ by one hidden unit, and over a `group` of some ranks"
NUMBERS = ("parameters", "forward", "backward")
ALL_REDUCE = all_reduces(lambda call: "ParallelMLP", sums, bytes_summed)

CONSTRUCT, THERE, BACK = even("construct"), even("forward"), even("backward")

CHECK = CallCheck.of(
    "ParallelMLP",
    ParallelMLP.PROBE,
    cases,
    Criterion("parameters", 0.75, PART, first_of(mlp_stays, other_names, VALUES, memory), PARAMETERS, CONSTRUCT),
    Criterion("forward", 0.75, "the output is that of `mlp`", VALUES, FORWARD, THERE, after=("parameters",)),
    Criterion("backward", 0.75, GRADIENTS, first_of(by_luck, VALUES), BACKWARD, BACK, after=("parameters", "forward")),
    Criterion("all-reduce", 0.75, ONE, first_of(ALL_REDUCE, mlp_stays), on=even(*WAYS), after=NUMBERS),
    Criterion("uneven", 1, UNEVEN, VALUES, CUT, on=lambda call: call["uneven"] or call["ends"], after=NUMBERS),
    consolidation="Cut by hidden units, two matrices need one sum forward and one backward, however large the hidden "
    "layer is. What every rank adds the same, like `b2`, belongs behind the sum.",
    errors=ERRORS,
    broke_off=lambda run: over_all_ranks(run) or OTHER_RANK(run),
)
