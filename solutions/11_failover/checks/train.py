"""The check of `train`: its steps, checkpoints and losses beside those of an undisturbed training."""

from autograde.rubric import (
    CallCheck,
    Criterion,
    DeviceCriterion,
    Mistakes,
    Rounding,
    Rules,
    Same,
    Words,
    changed,
    first_of,
    nothing_starts_or_ends,
    of_seen,
    on_ranks,
    saves_alone,
    words_on_rules,
)

from ..probes import train
from .history import RIGHT, dealt, due_in, path, undisturbed, until_it_leaves, when
from .saves import SAVED_WRONGLY, SAVES

NEAR = Rounding(1e-9)
KEPT, OWN = Rules(zeroed=False), Rules(combine="own")
words = Words("""
other-samples: {when}, rank {rank} trains on samples {actual} in step {step}, at {place} (epoch, consumed); expected are
{expected}.

off-the-path: {when}, before step {step}, the weights on rank {rank} are not those of the undisturbed training. Which
step before it is another one, or what has not been put back as it was saved?

asked-otherwise: `agreed()` is asked when {actual} steps are done; expected is once after each.

goes-on-when-agreed: All ranks agree to leave after step {stop}, and the training goes on.

not-when-leaving: All ranks leave after step {stop}, and no checkpoint of that step is there. What has been done since
the last one is lost, though there was time.
""")


def made(call):
    """By rank, each step's samples and weights; None if the call found another checkpoint than should be there."""
    own_steps = [until_it_leaves(call, own) for own in call.of("steps")]
    parts = [{"samples": [each.ids for each in own], "weights": [each.weights for each in own]} for own in own_steps]
    return due_in(call).place and parts


def replayed(call, rules=RIGHT, **dealing):
    """What a training shows; with other `dealing` its samples alone, or None if these are the due ones."""
    due = due_in(call)
    if due.place is None:
        return None
    if not dealing:
        found = path(call, rules) if rules != RIGHT else undisturbed(call)
        return found and [{"samples": [ids for ids, *_ in own], "weights": [row for _, row, _ in own]} for own in found]
    begin = {"epoch": due.place[0], "consumed": due.place[1], "epochs": call.arguments["epochs"]}
    steps = until_it_leaves(call, dealt(call, **begin | dealing))
    return None if steps == due.steps else [{"samples": [ids[rank] for _, ids in steps]} for rank in range(call.size)]


def place(call):
    return due_in(call).place or (0, 0)


def off_the_path(call, off):
    rank, what, *at = off.place
    if not at:
        return None
    about = {"when": when(call), "rank": rank, "step": at[0] + 1}
    if what == "weights":
        return words("off-the-path", **about)
    begin, ids = due_in(call).steps[at[0]]
    about |= {"place": str(begin), "actual": str(made(call)[rank][what][at[0]]), "expected": str(ids[rank])}
    return words("other-samples", **about)


def in_words(call, place):
    return f"{when(call)}, on rank {place[0]}, the list of steps"


STEPS = Same(made, replayed, in_words, NEAR, otherwise=off_the_path)
TRAINED_WRONGLY = Mistakes(
    """
    sampler-not-told: Nobody tells the loader's sampler where a pass begins, nor in which epoch: all epochs have the
    same order.

    not-resumed: There is a checkpoint, and yet training begins again with epoch 0.

    epoch-begun-anew: There is a checkpoint in the middle of an epoch, and the training begins this epoch anew: what was
    done is done twice.

    skipped-not-dealt: From the checkpoint's place on, the sampler deals out the whole epoch, and batches are skipped
    then. With another number of ranks, these are not the samples that are done.

    next-epoch-cut: In the epoch after the first one of a call, samples are left out. Where does the next epoch begin,
    and what does `consumed` say then?

    epochs-counted-anew: Called with epochs={epochs} when there is a checkpoint, your function goes on to later epochs.
    `epochs` counts from the very first run.
    """
    + words_on_rules("gradient-carried-over", "own-gradient-only"),
    changed(
        replayed,
        sampler_not_told={"consumed": 0, "told": False},
        not_resumed={"epoch": 0, "consumed": 0},
        epoch_begun_anew={"consumed": 0},
        skipped_not_dealt={"consumed": 0, "skipped": lambda call: place(call)[1] // call.size // call.case["batch"]},
        next_epoch_cut=[{"later": lambda call: place(call)[1]}, {"epochs": lambda call: place(call)[0] + 1}],
        epochs_counted_anew={"epochs": lambda call: place(call)[0] + call.arguments["epochs"]},
        gradient_carried_over=[{"rules": (KEPT, each)} for each in (KEPT, Rules())],
        own_gradient_only={"rules": (OWN, OWN)},
    ),
)


def leaves(call):
    first, stop = call.seen[0], call.arguments["stop"]
    if first.asked != [*range(1, len(first.steps) + 1)]:
        return words("asked-otherwise", actual=", ".join(map(str, first.asked[:12])) or "no")
    if stop is None or len(first.steps) < stop:
        return None
    if len(first.steps) > stop:
        return words("goes-on-when-agreed", stop=stop)
    return None if any(at == stop for *_, at in first.saves) else words("not-when-leaving", stop=stop)


def losses(call):
    """By rank, those of the right steps; of other steps, any that are floats."""
    if due_in(call).place and STEPS(call) is None and len(call.seen[0].steps) == due_in(call).count:
        return [[loss for *_, loss in own] for own in undisturbed(call)]
    return [[each if isinstance(each, float) else 0.0 for each in own] for own in call.of("losses")]


def case(rng, ranks, own, batch, every, *calls, pad=0, dropout=0.3, begin=None, kill=None):
    """own: samples of a rank, of which `pad` are padding. calls: `epochs`, up to which it trains, and `stop`, after how
    many steps all ranks are to leave, or None. begin: the place of a checkpoint that is there before, or None. kill:
    [rank, step in which it dies, ranks that go on], or None."""
    samples, most = len(ranks) * own - pad, 2 * max(epochs for epochs, _ in calls)
    orders = [rng.sample(range(samples), samples) for _ in range(most + 1)]
    about = {"ranks": ranks, "batch": batch, "every": every, "samples": samples, "orders": orders}
    about |= {"data": rng.randrange(2**31), "model": rng.randrange(2**30), "lr": rng.uniform(0.1, 0.2)}
    about |= {"luck": [rng.randrange(2**31) for _ in ranks], "dropout": dropout, "begin": begin, "kill": kill}
    return {**about, "calls": [{"epochs": epochs, "stop": stop} for epochs, stop in calls]}


def cases(rng):
    """Undisturbed, and stopped twice; killed; begun by four ranks, and gone on with three."""
    some, dies = rng.choice([[2, 0, 3], [3, 1, 0], [1, 3, 2]]), [rng.randrange(4), rng.choice([6, 7]), [2, 3, 1, 0]]
    return [
        case(rng, some, 7, 2, 3, (2, None), pad=1),
        case(rng, some[:2], 8, 2, 3, (3, 5), (3, 2), (3, None), (3, None)),
        case(rng, [0, 1, 2, 3], 8, 2, 5, (2, None), kill=dies),
        case(rng, some, 12, 4, 2, (2, None), begin=[0, rng.choice([16, 20])]),
        case(rng, [1, 0], 8, 2, 3, (2, None), kill=[1, rng.choice([5, 6]), [0, 1]]),
        case(rng, [2, 3, 0], 7, 3, 2, (3, 4), (3, None), pad=2),
    ]


TRAINS = (
    "by `load_checkpoint(path, model, optimizer)` it goes on from the file `checkpoint`, with the steps of an "
    "undisturbed training: of an epoch that was begun, only the samples that are left"
)
IT_SAVES = (
    "it saves when it has made `every` steps since its last checkpoint (or since this call began; the end of an epoch "
    "does not begin a new count). And at the end, with the position (epochs, 0), from which a further call makes no "
    "step"
)
LEAVES = (
    "it asks `preemption.agreed()` after each step, once: where that says True, `train` returns, and a checkpoint of "
    "just this step is there"
)
RETURNS = (
    "it returns this rank's losses in the steps made in this call, each the one that the step's gradient is computed "
    "from"
)
LOSSES = Same(of_seen("losses"), losses, on_ranks("what is returned", "loss"), NEAR)

CHECK = CallCheck.of(
    "train",
    train.PROBE,
    cases,
    Criterion("trains", 1.75, TRAINS, STEPS, TRAINED_WRONGLY),
    Criterion("saves", 1.25, IT_SAVES, SAVES, SAVED_WRONGLY),
    Criterion("leaves", 1, LEAVES, first_of(leaves, nothing_starts_or_ends), after=("trains", "saves")),
    Criterion("losses", 0.5, RETURNS, LOSSES),
    DeviceCriterion(0.5, "batches are moved to the model's device"),
    inputs=("epochs",),
    gpu_case=lambda rng: case(rng, [0, 1], 2, 2, 1, (1, None), dropout=0.0),
    broke_off=saves_alone("allgather", "barrier"),
    consolidation="One call starts a training and goes on with it, because all that it depends on is in the checkpoint "
    "or follows from it. What a failure costs are the steps since the last one.",
)
