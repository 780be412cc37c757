"""The check of `synchronize_start`: all ranks have one state in the end, and it is rank 0's."""

from functools import partial

from autograde.fixtures.numbered_net import BUFFERS, SIZES, NumberedNet, state_of
from autograde.rubric import (
    CallCheck,
    Criterion,
    Gives,
    Mistakes,
    Rounding,
    Same,
    Words,
    changed,
    first_of,
    once,
)

from ..probes import synchronize_start
from .states import whole

NEAR = Rounding(1e-9)
ENTRIES = [count for name, count in SIZES.items() if name != "frozen"]  # of each parameter that may have momentum
MOMENTUM, RATE = "momentum", "learning rate"
OPTIMIZER, ALL = (MOMENTUM, RATE), (*SIZES, *BUFFERS, MOMENTUM, RATE)
words = Words("""
rank-0-changed: After the call, rank 0 has other numbers than before, in `{name}`. The other ranks should take over rank
0's, not the other way round.
""")


@once
def came(call):
    """By rank, the state before the call: numbers by name."""
    states = [state_of(NumberedNet(seed)) for seed in call.arguments["models"]]
    for rank, (moves, rate) in enumerate(zip(call.arguments["moving"], call.arguments["rates"], strict=True)):
        states[rank] |= {MOMENTUM: [0.5 + rank if moves else 0.0] * sum(ENTRIES), RATE: [rate]}
    return states


@once
def now(call):
    """The same, after it. No momentum and momentum 0 are the same."""
    states = []
    for seen in call.seen:
        momentum = [own or [0.0] * count for own, count in zip(seen.momentum, ENTRIES, strict=True)]
        states.append({**seen.model, MOMENTUM: [each for own in momentum for each in own], RATE: [seen.lr]})
    return states


def parts(states, names):
    return [{name: state[name] for name in names} for state in states]


def taken_over(call, names, kept=()):
    """By rank, these entries after the call, where the others have rank 0's. kept: of these, they have their own."""
    first = now(call)[0]
    states = [first | {name: own[name] for name in kept if rank} for rank, own in enumerate(came(call))]
    return parts(states, names)


def on_all(*names):
    """Judge: these are on all ranks what they are on rank 0 in the end."""

    def where(call, place):
        return f"After the call, on rank {place[0]}, an entry of `{place[1]}`" if place[1:] else "What ranks have"

    return Same(lambda call: parts(now(call), names), lambda call: taken_over(call, names), where, NEAR)


def mistakes(text, names, **kept):
    """Of those who leave the other ranks some of these entries."""
    return Mistakes(text, changed(partial(taken_over, names=names), **kept))


PARAMETERS = on_all(*SIZES)
RANK_0S = Same(
    lambda call: parts(now(call)[:1], ALL),
    lambda call: parts(came(call)[:1], ALL),
    lambda call, place: "What rank 0 has",
    NEAR,
    otherwise=lambda call, off: words("rank-0-changed", name=off.place[1]) if off.place[1:] else None,
)
OTHERS_MODEL = mistakes(
    """
    no-broadcast: After the call, all ranks but rank 0 still have the model from before, so the ranks train different
    models. How do the other ranks get rank 0's model?

    frozen-not-broadcast: After the call, all ranks but rank 0 still have frozen parameters from before: those that are
    not trained. Which parameters belong to a model's state?
    """,
    SIZES,
    no_broadcast={"kept": SIZES},
    frozen_not_broadcast={"kept": ["frozen"]},
)
OTHERS_BUFFERS = mistakes(
    """
    buffers-not-broadcast: After the call, all ranks but rank 0 still have the buffers from before, such as BatchNorm's
    running statistics. What else belongs to a model's state?
    """,
    BUFFERS,
    buffers_not_broadcast={"kept": BUFFERS},
)
OTHERS_OPTIMIZER = mistakes(
    """
    momentum-not-broadcast: After the call, all ranks but rank 0 still have the momentum that they came with, if they
    had any. What does an optimizer's state hold?

    options-not-broadcast: After the call, all ranks but rank 0 still have the learning rate from before. Options belong
    to an optimizer's state.
    """,
    OPTIMIZER,
    momentum_not_broadcast=[{"kept": OPTIMIZER}, {"kept": [MOMENTUM]}],
    options_not_broadcast={"kept": [RATE]},
)
ROOT = Mistakes(
    """
    not-rank-0s: After the call, all ranks have the state of another rank; expected is rank 0's. From which rank does
    your code send?

    rank-0s-momentum-lost: Rank 0 came with momentum. After the call, it has none any more.
    """,
    changed(
        not_rank_0s=lambda call: Gives(*(parts([each], ALL) for each in came(call)[1:])),
        rank_0s_momentum_lost=lambda call: parts([came(call)[0] | {MOMENTUM: [0.0] * sum(ENTRIES)}], ALL),
    ),
)


def cases(rng):
    """Momentum on rank 0 only, on the others only, nowhere, on all; each rank has a model and a learning rate."""

    def case(size, moving):
        has = [moving == "all" or moving == ("others" if rank else "first") for rank in range(size)]
        rates = rng.sample([0.01, 0.02, 0.03, 0.04, 0.05], size)
        about = {"models": rng.sample(range(2**31), size), "rates": rates, "local_size": min(2, size)}
        return size, {**about, "moving": has}

    return [case(*each) for each in ((4, "first"), (3, "others"), (2, "none"), (3, "all"), (2, "first"), (4, "others"))]


CHECK = CallCheck.of(
    "synchronize_start",
    synchronize_start.PROBE,
    cases,
    Criterion("parameters", 1, "all ranks end with the same parameters, frozen ones too", PARAMETERS, OTHERS_MODEL),
    Criterion(
        "buffers",
        0.5,
        "all ranks end with the same buffers",
        on_all(*BUFFERS),
        OTHERS_BUFFERS,
        after=("parameters",),
    ),
    Criterion(
        "optimizer",
        1,
        "all ranks end with the same momentum and learning rate in the optimizer",
        on_all(*OPTIMIZER),
        OTHERS_OPTIMIZER,
    ),
    Criterion(
        "root",
        0.5,
        "all of that is what rank 0 had, whose own numbers do not change",
        first_of(lambda call: PARAMETERS(call), RANK_0S),
        ROOT,
        after=("parameters",),
    ),
    fits=lambda case, arguments, seen: whole(seen.model) and len(seen.momentum) == len(ENTRIES),
    consolidation="Averaged gradients keep models equal only if they began equal, in parameters, buffers and momentum. "
    "Then one broadcast at the start is enough for the whole training.",
)
