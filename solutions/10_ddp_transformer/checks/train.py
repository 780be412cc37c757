"""The check of `train`: its steps, epochs, checkpoints and losses, each call beside one process that goes on from where
it begins."""

from autograde.fixtures.awkward_translator import AwkwardTranslator, draw_pairs
from autograde.rubric import CallCheck, Criterion, Mistakes, Same, changed, first_of, of_seen, on_ranks, saves_alone

from ..probes import train
from ..shared.model import trained
from .epochs import GOES_ON, GOES_ON_WRONGLY, ORDERS, OTHER_ORDERS, loaded, something, there
from .history import NEAR, OTHER_STEPS, STEPS, replayed
from .saves import OTHER_SAVES, SAVES, whole_state


def losses(call, by_epoch=None):
    """By rank, those of the steps; of other steps, any floats. by_epoch: what of those of each epoch instead."""
    if STEPS(call) is not None or (replayed(call) is None and any(call.of("told"))):
        floats = [[each if isinstance(each, float) else 0.0 for each in own] for own in call.of("losses")]
        return None if by_epoch else floats
    every, epochs = (replayed(call) or [[]])[0], len(call.seen[0].told)
    steps = len(every) // max(1, epochs)
    parts = [every[at * steps : at * steps + steps] for at in range(epochs)]
    return [by_epoch(parts) if by_epoch else every] * call.size


def by_epoch(*ways):
    return [lambda call, each=each: losses(call, each) for each in ways]


LOSSES = Same(of_seen("losses"), losses, on_ranks("what is returned", "loss"), NEAR)
OTHER_LOSSES = Mistakes(
    """
    last-epoch-only: The returned losses are those of the last epoch alone. Expected are those of all steps made in this
    call.

    losses-per-epoch: The returned list has one number for each epoch. Expected is what each step returned.
    """,
    changed(
        last_epoch_only=by_epoch(lambda parts: parts[-1] if parts else []),
        losses_per_epoch=by_epoch(
            lambda parts: [sum(each) / len(each) for each in parts],
            lambda parts: [sum(each) for each in parts],
            lambda parts: [each[-1] for each in parts],
        ),
    ),
)


def fits(case, arguments, seen):
    """Wherever there are passes, there is what was before the first step and after each epoch."""
    model = AwkwardTranslator(0)
    sizes = sum(each.numel() for each in model.parameters()), sum(each.numel() for each in trained(model))
    passes = len(seen.weights), len(seen.momentum), len(seen.saved) == len(seen.told) > 0
    small = all(abs(each) < 2**31 for each in seen.told)
    return small and (passes == (*sizes, True) if seen.told else passes == (0, 0, False))


def case(rng, ranks, accumulate, *epochs, leftover=0, kill=None):
    """epochs: up to which the calls train. leftover: micro-batches that an epoch has besides two full steps. kill: see
    `KillingProbe`; its place is a number of passes."""
    samples = len(ranks) * (2 * (2 * accumulate + leftover) - rng.randint(0, 1)) - rng.randint(1, len(ranks) - 1)
    about = {"ranks": ranks, "kill": kill, "pairs": draw_pairs(rng, samples), "lr": round(rng.uniform(0.05, 0.15), 3)}
    about |= {name: rng.randrange(2**30) for name in ("model", "order")} | {"fresh": 2**30 + rng.randrange(2**29)}
    return {**about, "calls": [{"epochs": each, "accumulate": accumulate} for each in epochs]}


def cases(rng):
    """Stopped and resumed in good order; with a rank killed in the middle of epoch 1, with leftovers and without."""
    some, accumulate = rng.choice([[2, 0, 3], [3, 1, 0], [1, 3, 2]]), rng.choice([2, 3])
    cases = [case(rng, some, accumulate, 2, 4, 4, leftover=rng.randint(1, accumulate - 1))]
    cases += [case(rng, some[:2], rng.choice([2, 3]), 3, kill=[1, 2, some[:2]])]
    return [*cases, case(rng, [3, 1, 0, 2], 2, 3, leftover=1, kill=[2, 2, [3, 1, 0, 2]])]


CHECK = CallCheck.of(
    "train",
    train.PROBE,
    cases,
    Criterion(
        "steps",
        1,
        "each step is that of `train_step` on the next `accumulate` micro-batches; the last one of an epoch takes what "
        "is left",
        first_of(something, STEPS),
        OTHER_STEPS,
    ),
    Criterion(
        "order",
        0.5,
        "the sampler is told the number of each epoch before the epoch begins",
        first_of(something, ORDERS),
        OTHER_ORDERS,
    ),
    Criterion(
        "saves",
        1,
        "after each epoch, and only then, the checkpoint of this epoch is written",
        first_of(something, SAVES, whole_state),
        OTHER_SAVES,
    ),
    Criterion(
        "goes-on",
        1,
        "it goes on from the checkpoint, if one is there, also after a rank was killed: with its weights and its "
        "momentum, and just the epochs that it leaves",
        first_of(something, there, GOES_ON, loaded),
        GOES_ON_WRONGLY,
        after=("saves",),
    ),
    Criterion(
        "losses",
        0.5,
        "what `train_step` returned is returned, in order: floats, for the steps of this call alone",
        first_of(something, LOSSES),
        OTHER_LOSSES,
    ),
    inputs=("epochs", "accumulate"),
    repeats=False,
    broke_off=saves_alone("barrier"),
    fits=fits,
    consolidation="A resume needs little: the state, the number of the last finished epoch, and orders that follow "
    "from the epoch alone. One and the same call starts a training and goes on with it.",
)
