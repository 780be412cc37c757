"""The check of `broadcast_state`: the numbers, the tensors themselves, and how the numbers came there."""

from autograde.rubric import (
    CallCheck,
    Criterion,
    DeviceCriterion,
    Gives,
    Mistakes,
    Rounding,
    Same,
    Words,
    changed,
    first_of,
    named,
    of_record,
    once,
)

from ..probes import broadcast_state
from ..shared.stateful_module import ALL, BY_COLUMNS, FROZEN, SAVED, TRAINED, UNSAVED, StatefulModule, numbers_by_name
from .together import apart, together

PARAMETERS, BUFFERS = (*TRAINED, *FROZEN), (*SAVED, *UNSAVED)
BITS, ABOUT = Rounding(0.0), Rounding(1e-3)
QUESTION = (
    "The n-th broadcast of a rank meets the n-th one of the others, whatever is in it. In which order are your "
    "tensors? (A `set` of them has another order in each process.)"
)
ORDER = {"size-differs": QUESTION, "dtype-differs": QUESTION}
words = Words("""
nothing-broadcast: After the call, each rank still has its own numbers, and nobody has communicated.

other-tensors: On {who}, these are other tensors than before the call, or are stored elsewhere: {names}. Whoever holds
the old ones, as an optimizer does, goes on with old numbers.

requires-grad-changed: After the call, `requires_grad` of {names} is not what it was before, on {who}.

tensor-sent-twice: The ranks make {n:broadcast} for {tensors:tensor}. A parameter that is used in two places is one
tensor.

not-one-for-each: The ranks call {ops}, {n:time} in all. Expected are broadcasts only, one for each of the
{tensors:tensor}.
""")


@once
def came(call):
    """By rank, the numbers before the call."""
    return [numbers_by_name(StatefulModule(call.arguments["seed"] + rank)) for rank in range(call.size)]


def rank_0s(call, of, left=(), root=0):
    """By rank, the numbers of some tensors: of rank `root`, but for those that are left."""
    return [{name: (own if name in left else came(call)[root])[name] for name in of} for own in came(call)]


def on_all(of, near=BITS):
    """Judge of these tensors."""

    def where(call, place):
        rank, name, *entry = place if place[1:] else (place[0], "the module")
        return f"On rank {rank}, {f'number {entry[0]} of ' if entry else ''}`{name}` after the call"

    return Same(
        lambda call: [{name: seen.numbers[name] for name in of if name in seen.numbers} for seen in call.seen],
        lambda call: rank_0s(call, of),
        where,
        near,
    )


def known(of):
    """Known mistakes that show in these tensors."""

    def averaged(call):
        """By all-reduces, which leave alone what is no float."""
        floats = {name for name, tensor in StatefulModule(0).tensors().items() if tensor.is_floating_point()}
        columns = {name: zip(*(own[name] for own in came(call)), strict=True) for name in floats.intersection(of)}
        means = {name: [sum(each) / call.size for each in column] for name, column in columns.items()}
        return on_all(of, ABOUT).gives(call, [{name: means.get(name, own[name]) for name in of} for own in came(call)])

    def parameters_left(call):
        return ON_PARAMETERS.gives(call, rank_0s(call, PARAMETERS, left=PARAMETERS))

    return Mistakes(
        """
        copies-broadcast: The ranks communicate, and yet each still has its own numbers in the module. Were these the
        module's own tensors, or copies?

        buffers-left: After the call, each rank still has its own buffers. They belong to what a model computes with,
        too.

        unsaved-buffers-left: After the call, each rank still has its own `table`: a buffer that is not saved in the
        state dict. The module has it, and computes with it.

        frozen-left: After the call, each rank still has its own frozen parameters. Nobody trains them, so the ranks
        never get equal there.

        sent-from-a-copy: After the call, each rank still has its own `turned`. It is stored by columns, so that
        `contiguous`, `reshape` or `flatten` make a copy of it. Which tensor have the numbers arrived in?

        averaged: After the call, all ranks have the average of their numbers. Rank 0's are expected.

        of-another-rank: After the call, all ranks have the numbers of another rank. Rank 0's are expected.
        """,
        changed(
            copies_broadcast=lambda call: rank_0s(call, of, left=of) if parameters_left(call) else None,
            buffers_left=lambda call: rank_0s(call, of, left=BUFFERS),
            unsaved_buffers_left=lambda call: rank_0s(call, of, left=UNSAVED),
            frozen_left=lambda call: rank_0s(call, of, left=FROZEN),
            sent_from_a_copy=lambda call: rank_0s(call, of, left=(BY_COLUMNS,)),
            of_another_rank=lambda call: Gives(*(rank_0s(call, of, root=root) for root in range(1, call.size))),
        ),
        averaged=averaged,
    )


@of_record
def something_sent(call):
    return None if any(call.events) else words("nothing-broadcast", absent=True)


def tensors_stay(call):
    for field, key in (("others", "other-tensors"), ("turned", "requires-grad-changed")):
        for rank, names in enumerate(call.of(field)):
            if names:
                return words.on_ranks(key, [rank], names=[f"`{name[:40]}`" for name in names[:3]])
    return None


@of_record
def one_for_each(call):
    """One broadcast for each tensor. Where there are fewer, and numbers are wrong, that is the other rows' matter."""
    n, events = max(map(len, call.events)), [event for log in call.events for event in log]
    other = any(event["kind"] != "broadcast" or "object" in event["op"] for event in events)
    if not other and (n == len(ALL) or (n < len(ALL) and (ON_PARAMETERS(call) or ON_BUFFERS(call)))):
        return None
    key = "tensor-sent-twice" if not other and n == len(ALL) + 1 else "not-one-for-each"
    return words(key, ops=named(events), n=n, tensors=len(ALL), absent=n < len(ALL))


TOGETHER, ON_PARAMETERS, ON_BUFFERS = together(ORDER), on_all(PARAMETERS), on_all(BUFFERS)
CHECK = CallCheck.of(
    "broadcast_state",
    broadcast_state.PROBE,
    lambda rng: [(4, {}), (2, {}), (3, {})],
    Criterion(
        "parameters",
        0.5,
        "afterwards all ranks have rank 0's parameters, frozen ones too",
        first_of(something_sent, TOGETHER, ON_PARAMETERS),
        known(PARAMETERS),
    ),
    Criterion(
        "buffers",
        0.5,
        "they have its buffers: also those of integers and bools, and those that are not saved in the state dict",
        first_of(something_sent, TOGETHER, ON_BUFFERS),
        known(BUFFERS),
    ),
    Criterion(
        "tensors",
        0.25,
        "the module's tensors are the same objects as before, in the same memory, and `requires_grad` stays as it is",
        first_of(something_sent, tensors_stay),
    ),
    Criterion(
        "broadcasts",
        0.5,
        "each tensor is sent once, by one broadcast of its own, and the ranks communicate nothing else",
        first_of(something_sent, one_for_each),
    ),
    DeviceCriterion(0.25, "it works on a module that is on a GPU"),
    gpu_case=lambda rng: {"size": 2, "calls": [{"seed": rng.getrandbits(30)}]},
    broke_off=apart(ORDER),
    consolidation="Averaged gradients keep equal what is equal, so all of a model has to be equal first: what is "
    "trained, what is frozen, and what is only counted.",
)
