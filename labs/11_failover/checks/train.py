"""The check of `train`: its steps, checkpoints and losses beside those of an undisturbed training."""

from itertools import pairwise

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
)

from ..probes import train
from ..shared.training import DroppingNet
from .history import RIGHT, dealt, due_in, path, plain, undisturbed

NEAR = Rounding(1e-9)
KEPT, OWN = Rules(zeroed=False), Rules(combine="own")
words = Words("""
save-on-rank-0: A deadlock: rank 0 waits in `save_checkpoint`, and {who:goes|go} on. All ranks have to call it: it
decides by itself who writes, and no rank leaves it before the file is there.

other-steps: {when}, rank {rank} makes {actual:step}; expected are {expected}.

other-samples: {when}, rank {rank} trains on samples {actual} in step {step}, at {place} (epoch, consumed); expected are
{expected}.

off-the-path: {when}, before step {step}, the weights on rank {rank} are not those of the undisturbed training. It is
about {what}.

other-saves: {when}, checkpoints have the places {actual} (epoch, consumed, steps made); expected are {expected}.

other-checkpoint: After a rank was killed, the checkpoint is {actual} (epoch, consumed, steps made until then); expected
is {expected}.

asked-otherwise: `agreed()` is asked when {actual} steps are done; expected is once after each.

goes-on-when-agreed: All ranks agree to leave after step {stop}, and the training goes on.

not-when-leaving: All ranks leave after step {stop}, and no checkpoint of that step is there. What has been done since
the last one is lost, though there was time.
""")


def when(call):
    return "After a rank was killed, in the call that goes on" if due_in(call).killed else "In a call"


def until_it_leaves(call, steps):
    return steps[: due_in(call).count if due_in(call).leaves else None]


def made(call):
    """By rank, each step's samples and weights; None if the call found another checkpoint than should be there."""
    own_steps = [until_it_leaves(call, own) for own in call.of("steps")]
    return due_in(call).place and [[[each.ids, each.weights] for each in own] for own in own_steps]


def in_step(call, steps=None):
    """Whether these samples are seen; None: those that are due."""
    steps = due_in(call).steps if steps is None else steps
    due = [[ids[rank] for _, ids in steps] for rank in range(call.size)]
    return due_in(call).place and due == [[ids for ids, _ in own] for own in made(call)]


def place(call):
    return due_in(call).place or (0, 0)


def replayed(call, rules=RIGHT, **other):
    """What a training shows, see `path`; None of a mistake that makes the steps that are due, or that has changed the
    weights in an earlier call. other: see `dealt`."""
    due, case = due_in(call), call.case
    begin = {"epoch": place(call)[0], "consumed": place(call)[1], "epochs": call.arguments["epochs"]}
    steps = until_it_leaves(call, dealt(call, **begin | other))
    if due.place is None or (other and steps == due.steps):
        return None
    if other and not in_step(call, steps):
        return []  # whatever the weights would be
    first, new = [weights for _, weights in made(call)[0][:1]], 1 + call.number
    nothing_loaded = bool(other) and first == [DroppingNet(case["model"] + new, 0.0).row()]
    same = not other and rules == RIGHT
    found = undisturbed(call) if same else path(call, steps, rules, new if nothing_loaded else 0)
    if other and not NEAR(first, [weights for _, weights, _ in found[0][:1]]):
        return None
    return found and [[[ids, weights] for ids, weights, _ in own] for own in found]


def off_the_path(call, off):
    rank, step, part = (*off.place, None, None)[:3]
    due, about = due_in(call), {"when": when(call), "rank": rank}
    if step is None:
        return words("other-steps", **about, actual=len(off.actual), expected=len(off.expected))
    if part == 0:
        about |= {"actual": made(call)[rank][step][0], "expected": due.steps[step][1][rank]}
        return words("other-samples", **about, step=step + 1, place=str(due.steps[step][0]))
    resumed = not step and (due.done or call.case["begin"])
    what = "the first step after a resume" if resumed else "what came before"
    return words("off-the-path", **about, step=step + 1, what=what)


STEPS = Same(made, replayed, on_ranks("the training"), NEAR, otherwise=off_the_path)
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

    gradient-carried-over: What was in `.grad` before is still part of the step's gradient: `backward` adds to what is
    there. When does your code start from zero?

    own-gradient-only: Each of {size:rank} steps with its own gradient alone, so the ranks' models drift apart. What
    should average the gradients, and is it in use?
    """,
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


def saved(call):
    """The checkpoint that a killed training has left, and those of the call, each once, until it is to leave; nothing
    that was there at its beginning. None of a call whose steps are others."""
    due, first = due_in(call), call.seen[0]
    found = [plain(call, *first.begins)] if due.killed else []
    kept = dict.fromkeys(plain(call, *each) for each in first.saves if in_step(call))
    kept = [each for each in kept if each != (*due.place, 0) and not (due.leaves and each[2] > due.count)]
    return [*found, *kept]


def checkpoints(call, after=None, behind=0, own=False, end=True):
    """Those that are due: also one as the call leaves, if it makes one, as `leaves` judges that.

    after: which steps, if not every so many. behind: how many steps their places are too early. own: whether `consumed`
    counts one rank's samples. end: whether there is one at the end."""
    due, every = due_in(call), call.case["every"]
    found = [due.found] if due.killed else []
    if not in_step(call):
        return found

    def place_at(at):
        if not own:
            return due.places[at]
        (epoch, consumed), ids = due.steps[at - 1]
        begun = due.place[1] if epoch == due.place[0] else 0
        return plain(call, epoch, begun + (consumed - begun + sum(map(len, ids))) // call.size)

    steps = range(every, due.count + 1, every) if after is None else after
    kept = [(*place_at(at - behind), at) for at in steps]
    if due.leaves:
        leaving = [(*place_at(due.count - behind), due.count)] if any(at == due.count for *_, at in saved(call)) else []
        kept = [each for each in kept if each[2] < due.count] + leaving
    elif end and due.count:
        kept.append((call.arguments["epochs"], 0, due.count))
    return [*found, *dict.fromkeys(kept)]


def other_checkpoints(call, **how):
    """The same of a mistake; None where a call shows its consequences."""
    due = due_in(call)
    return None if due.killed or not due.count or not in_step(call) else checkpoints(call, **how)


def ends(call):
    return [at for at in range(1, due_in(call).count + 1) if due_in(call).places[at][1] == 0]


def in_each_epoch(call):
    every = call.case["every"]
    return [
        at for one, two in pairwise([0, *ends(call), due_in(call).count]) for at in range(one + every, two + 1, every)
    ]


def other_saves(call, off):
    actual, expected = saved(call), checkpoints(call)
    killed = due_in(call).killed
    if killed and off.place[:1] == (0,):
        return words("other-checkpoint", actual=str(actual[0]), expected=str(expected[0]))
    return words("other-saves", when=when(call), actual=str(actual[killed:][:8]), expected=str(expected[killed:]))


SAVES = Same(saved, checkpoints, on_ranks("the list of checkpoints"), otherwise=other_saves)
SAVED_WRONGLY = Mistakes(
    """
    nothing-at-the-end: At the end of the training there is no checkpoint with the place ({epochs}, 0). A further call
    would make steps again.

    own-samples-counted: Checkpoints have the places {actual} (epoch, consumed, steps made): `consumed` counts the
    samples of one rank, not of all together.

    place-before-the-step: Checkpoints have the places {actual} (epoch, consumed, steps made). That is the place before
    a step, with the weights from after it: the step would be made twice.

    counted-in-the-epoch: Checkpoints have the places {actual} (epoch, consumed, steps made). `every` counts on over the
    end of an epoch, from the last checkpoint.

    only-after-epochs: Checkpoints have the places {actual} (epoch, consumed, steps made), at the ends of epochs alone.
    `every` asks for more.
    """,
    changed(
        other_checkpoints,
        nothing_at_the_end={"end": False},
        own_samples_counted={"own": True},
        place_before_the_step=[{"behind": 1, "end": end} for end in (True, False)],
        counted_in_the_epoch={"after": in_each_epoch},
        only_after_epochs={"after": ends},
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
    if STEPS(call) is None and len(call.seen[0].steps) == due_in(call).count and due_in(call).place:
        return [[loss for *_, loss in own] for own in undisturbed(call)]
    return [[each if isinstance(each, float) else 0.0 for each in own] for own in call.of("losses")]


def broke_off(run):
    """Rank 0 alone saves: the probe's own `save_checkpoint` communicates by mpi4py, from a line of the student's;
    nothing else does."""
    last = [log[-1] if log else None for log in run.events]
    saving = [event is not None and event["library"] == "mpi4py" and event["line"] is not None for event in last]
    waits = run.state in ("hang", "too-slow") and saving[0] and last[0]["end"] is None and not run.full
    return words.on_ranks(
        "save-on-rank-0", [rank for rank, saves in enumerate(saving) if waits and not saves], run.report
    )


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


CHECK = CallCheck.of(
    "train",
    train.PROBE,
    cases,
    Criterion(
        "trains",
        1.75,
        "by `load_checkpoint(path, model, optimizer)` it goes on from the file `checkpoint`, with the steps of an "
        "undisturbed training: of an epoch that was begun, only the samples that are left",
        STEPS,
        TRAINED_WRONGLY,
    ),
    Criterion(
        "saves",
        1.25,
        "it saves when it has made `every` steps since its last checkpoint (or since this call began; the end of an "
        "epoch does not begin a new count). And at the end, with the position (epochs, 0), from which a further call "
        "makes no step",
        SAVES,
        SAVED_WRONGLY,
    ),
    Criterion(
        "leaves",
        1,
        "it asks `preemption.agreed()` after each step, once: where that says True, `train` returns, and a checkpoint "
        "of just this step is there",
        first_of(leaves, nothing_starts_or_ends),
        after=("trains", "saves"),
    ),
    Criterion(
        "losses",
        0.5,
        "it returns this rank's losses in the steps made in this call, each the one that the step's gradient is "
        "computed from",
        Same(of_seen("losses"), losses, on_ranks("what is returned", "loss"), NEAR),
    ),
    DeviceCriterion(0.5, "batches are moved to the model's device"),
    inputs=("epochs",),
    gpu_case=lambda rng: case(rng, [0, 1], 2, 2, 1, (1, None), dropout=0.0),
    broke_off=broke_off,
    consolidation="One call starts a training and goes on with it, because all that it depends on is in the checkpoint "
    "or follows from it. What a failure costs are the steps since the last one.",
)
