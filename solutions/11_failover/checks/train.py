"""The check of `train`: steps, checkpoints and losses beside the undisturbed training."""

from __future__ import annotations

import random
from typing import Any

from autograde.rubric.check import CallCheck, on_its_device
from autograde.rubric.criterion import Call, Criterion, MistakesGiving, first_of, once
from autograde.rubric.judges.conduct import nothing_starts_or_ends
from autograde.rubric.rounding import Rounding
from autograde.rubric.run import Run
from autograde.rubric.words import Ranks, Words, Wrong
from autograde.verdicts.replicas import Rules

from ..probes import train
from .history import Step, due_in, history
from .saves import SAVED_WRONGLY, saves
from .steps import places

NEAR = Rounding(1e-9)
words = Words("""
save-on-rank-0: A deadlock: rank 0 waits in `save_checkpoint`, and {others:goes|go} on. All ranks have to call it: it
decides by itself who writes, and no rank leaves it before the file is there.

off-the-path: Before step {step} of a call, the weights on rank {rank} are not those of the undisturbed training. It is
about {what}.

asked-otherwise: `agreed()` is asked when {actual} steps are done; expected is once after each.

goes-on-when-agreed: All ranks agree to leave after step {stop}, and the training goes on.

not-when-leaving: All ranks leave after step {stop}, and no checkpoint of that step is there. What has been done since
the last one is lost, though there was time.

no-losses: The function returns what is of type {kind}, not a list of floats.

not-floats: The returned list holds entries of type {kind}, not floats.

wrong-losses: The training is right, but the returned list, of {actual:number}, does not hold the {expected:loss} of its
steps, one after another.
""")


@once
def trained(call: Call) -> Wrong | None:
    """Places and samples; then weights."""
    due = due_in(call)
    if not due.begins or (wrong := places(call)):
        return wrong if due.begins else None
    expected = due.path(due.history)
    for at in range(due.count):
        for rank, own in enumerate(due.weights):
            if not NEAR(own[at], expected[rank][at]):
                resumed = not at and (due.start or call.case["begin"])
                what = "the first step after a resume" if resumed else "what came before"
                return words("off-the-path", compared=True, rank=rank, step=at + 1, what=what)
    return None


def shows(call: Call, value: tuple[str, Any]) -> bool:
    """Whether these are the places, or the path."""
    kind, expected = value
    return due_in(call).passes == expected if kind == "places" else NEAR(due_in(call).weights, expected)


def trained_by_mistake(call: Call) -> dict[str, tuple]:
    """The places, or the paths, of known mistakes."""
    due = due_in(call)
    if not due.begins:
        return {}
    (epoch, consumed), passes = due.place, due.passes
    expected = due.walk(epoch, consumed, due.epochs)
    anew = "skipped-not-dealt" if len(call.seen[0].forwards) == due.count else "epoch-begun-anew"
    places = {
        "sampler-not-told": [(-1, -1)] * len(passes) if passes else expected,
        "not-resumed": due.walk(0, 0, due.epochs),
        anew: due.walk(epoch, 0, due.epochs),
        "next-epoch-cut": due.walk(epoch, consumed, due.epochs, consumed),
        "one-epoch-only": expected[:1],
        "epochs-counted-anew": due.walk(epoch, consumed, epoch + due.epochs),
    }
    found = {key: (("places", value),) for key, value in places.items() if value != expected}
    if passes == expected and not due.start and due.count:
        kept, own = Rules(zeroed=False), Rules(combine="own")
        rules = {"gradient-carried-over": (kept, kept), "grad-at-the-call": (kept,), "own-gradient-only": (own, own)}
        found |= {key: (("path", due.path(history(call.case, due.epochs, *each))),) for key, each in rules.items()}
    return found


trained.gives = shows
TRAINED_WRONGLY = MistakesGiving(
    """
    sampler-not-told: Nobody tells the loader's sampler where a pass begins, nor in which epoch: all epochs have the
    same order.

    not-resumed: There is a checkpoint of {start}, and yet training begins again with epoch 0.

    epoch-begun-anew: A checkpoint with the place {start} is there, and the training begins its epoch anew: what was
    done is done twice.

    skipped-not-dealt: From the place {start} on, the sampler deals out the whole epoch, and batches are skipped then.
    With another number of ranks, these are not the samples that are done.

    next-epoch-cut: The epoch after the resumed one begins at {second}, so part of it is left out.

    one-epoch-only: Only the first epoch of a call has samples: the passes begin at {actual}, where {expected} are
    expected. Where does the next epoch begin, and what does `consumed` say then?

    epochs-counted-anew: Called with epochs={until} when there is a checkpoint of {start}, your function goes on to
    later epochs: its passes begin at {actual}. `epochs` counts from the very first run.

    gradient-carried-over: What was in `.grad` before is still part of the step's gradient: `backward` adds to what is
    there. When does your code start from zero?

    own-gradient-only: Each of {size:rank} steps with its own gradient alone, so the ranks' models drift apart. What
    should average the gradients, and is it in use?

    grad-at-the-call: What was in `.grad` when `train` was called is part of the first step's gradient. When does your
    code start from zero?
    """,
    trained_by_mistake,
)


def leaves(call: Call) -> Wrong | None:
    """Asked after each step; when all are to leave, no step more, and a checkpoint of just this one."""
    due, first = due_in(call), call.seen[0]
    if first.asked != [*range(1, first.steps + 1)]:
        return words("asked-otherwise", compared=True, actual=", ".join(map(str, first.asked[:12])) or "no")
    if not due.leaves or not due.begins or first.steps < due.count:
        return None
    if first.steps > due.count:
        return words("goes-on-when-agreed", stop=due.count)
    return None if due.saves_leaving else words("not-when-leaving", stop=due.count)


def asked_by_mistake(call: Call) -> dict[str, tuple[list[int], ...]]:
    """When known mistakes ask."""
    first, every = call.seen[0], call.case["every"]
    if not first.steps or not due_in(call).begins:
        return {}
    regular = [at for at in range(1, first.steps + 1) if at % every == 0]
    return {
        "not-asked": ([],),
        "asked-before-the-step": ([*range(first.steps)], [*range(first.steps + 1)]),
        "asked-only-when-saving": (regular, sorted({*regular, first.steps})),
    }


leaves.gives = lambda call, value: call.seen[0].asked == value
ASKED_WRONGLY = MistakesGiving(
    """
    not-asked: `agreed()` is never asked, so a signal changes nothing.

    asked-before-the-step: `agreed()` is asked before each step, so that the step of the signal is not the last one:
    {actual} steps are done when it is asked.

    asked-only-when-saving: `agreed()` is asked after {actual} steps alone, when a checkpoint is due anyway. A signal
    leaves little time.
    """,
    asked_by_mistake,
)


def losses(call: Call) -> Wrong | None:
    """Floats; where the training is right, those of its steps."""
    for seen in call.seen:
        if seen.losses is None:
            return words("no-losses", kind=seen.kind)
        if other := [each.kind for each in seen.losses if not each.is_float]:
            return words("not-floats", kind=other[0])
    expected = [[step.loss[rank] for step in steps_right(call)] for rank in range(call.size)]
    if not expected[0] or NEAR(values(call), expected):
        return None
    about = {"actual": len(values(call)[0]), "expected": len(expected[0])}
    return words("wrong-losses", compared=True, **about)


def steps_right(call: Call) -> list[Step]:
    """The steps of a call, if they are the right ones; none if they are not."""
    due = due_in(call)
    right = due.begins and call.seen[0].steps == due.count and trained(call) is None
    return due.history[: due.count] if right else []


def values(call: Call) -> list[list[float | None]]:
    """The losses, by rank."""
    return [[each.value for each in seen.losses or []] for seen in call.seen]


def losses_by_mistake(call: Call) -> dict[str, list[list[float]]]:
    """The losses of known mistakes, by rank."""
    steps = steps_right(call)
    if not steps:
        return {}
    last = [step for step in steps if step.place[0] == steps[-1].place[0]]
    return {
        "last-epoch-only": [[step.loss[rank] for step in last] for rank in range(call.size)],
        "all-ranks-losses": [[sum(step.loss) / call.size for step in steps]] * call.size,
    }


losses.gives = lambda call, value: NEAR(values(call), value)
LOSSES_WRONGLY = MistakesGiving(
    """
    last-epoch-only: The returned losses are those of the last epoch alone. Expected are those of all steps made in this
    call.

    all-ranks-losses: The losses are means over all ranks. This rank's own are asked for.
    """,
    losses_by_mistake,
)


class Train(CallCheck):
    """Undisturbed, killed and stopped; gone on from a place of another number of ranks; the same path each time.

    A call has `epochs`, up to which it trains, and `stop`, after how many steps all ranks are to leave, or None. Its
    case has `begin`: the place of a checkpoint that is there before, or None; `kill`: [rank, step in which it dies,
    ranks that go on], or None.
    """

    todo, probe = "train", train.PROBE
    inputs = ("epochs",)
    consolidation = (
        "One call starts a training and goes on with it, because all that it depends on is in the checkpoint or "
        "follows from it. What a failure costs are the steps since the last one."
    )
    criteria = (
        Criterion(
            "trains",
            1.75,
            "by `load_checkpoint(path, model, optimizer)` it goes on from the file `checkpoint`, with the steps "
            "of an undisturbed training: of an epoch that was begun, only the samples that are left",
            trained,
            TRAINED_WRONGLY,
        ),
        Criterion(
            "saves",
            1.25,
            "it saves when it has made `every` steps since its last checkpoint (or since this call began; the "
            "end of an epoch does not begin a new count). And at the end, with the position (epochs, 0), from "
            "which a further call makes no step",
            saves,
            SAVED_WRONGLY,
        ),
        Criterion(
            "leaves",
            1,
            "it asks `preemption.agreed()` after each step, once: where that says True, `train` returns, and a "
            "checkpoint of just this step is there",
            first_of(leaves, nothing_starts_or_ends),
            ASKED_WRONGLY,
            after=("trains", "saves"),
        ),
        Criterion(
            "losses",
            0.5,
            "it returns this rank's losses in the steps made in this call, each the one that the step's "
            "gradient is computed from",
            losses,
            LOSSES_WRONGLY,
        ),
        Criterion("device", 0.5, "batches are moved to the model's device", on_its_device),
    )

    def broke_off(self, run: Run) -> Wrong | None:
        """A run that does not end as rank 0 alone saves.

        The probe's own `save_checkpoint` communicates by mpi4py, from a line of the student's; nothing else does.
        """
        last = [log[-1] if log else None for log in run.events]
        saving = [event is not None and event["library"] == "mpi4py" and event["line"] is not None for event in last]
        waits = run.state in ("hang", "too-slow") and saving[0] and last[0]["end"] is None
        others = Ranks(rank for rank, saves in enumerate(saving) if not saves)
        return words("save-on-rank-0", run.report, others=others) if waits and others and not run.full else None

    def cases(self, rng: random.Random) -> list[dict]:
        """Undisturbed, and stopped twice; killed; begun by four ranks, and gone on with three."""

        def case(
            ranks: list[int],
            own: int,
            batch: int,
            every: int,
            *calls: tuple,
            pad: int = 0,
            begin: Any = None,
            kill: Any = None,
        ) -> dict:
            samples, most = len(ranks) * own - pad, 2 * max(epochs for epochs, _ in calls)
            orders = [rng.sample(range(samples), samples) for _ in range(most + 1)]
            about = {"ranks": ranks, "batch": batch, "every": every, "samples": samples, "orders": orders}
            about |= {"data": rng.randrange(2**31), "model": rng.randrange(2**30), "lr": rng.uniform(0.1, 0.2)}
            about |= {"luck": [rng.randrange(2**31) for _ in ranks], "dropout": 0.3, "begin": begin, "kill": kill}
            return {**about, "calls": [{"epochs": epochs, "stop": stop} for epochs, stop in calls]}

        some = rng.choice([[2, 0, 3], [3, 1, 0], [1, 3, 2]])
        cases = [case(some, 7, 2, 3, (2, None), pad=1), case(some[:2], 8, 2, 3, (3, 5), (3, 2), (3, None), (3, None))]
        cases += [case([0, 1, 2, 3], 8, 2, 5, (2, None), kill=[rng.randrange(4), rng.choice([6, 7]), [2, 3, 1, 0]])]
        cases += [case(some, 12, 4, 2, (2, None), begin=[0, 12 * rng.choice([1, 2])])]
        cases += [case([1, 0], 8, 2, 3, (2, None), kill=[1, rng.choice([5, 6]), [0, 1]])]
        return [*cases, case([2, 3, 0], 7, 3, 2, (3, 4), (3, None), pad=2)]

    def gpu_case(self, rng: random.Random) -> dict:
        """One step on two ranks."""
        about = {"ranks": [0, 1], "batch": 2, "every": 1, "samples": 4, "orders": [[0, 1, 2, 3]] * 3, "data": 1}
        about |= {"model": rng.randrange(2**30), "lr": 0.1, "luck": [1, 2], "dropout": 0.0, "begin": None}
        return {**about, "kill": None, "calls": [{"epochs": 1, "stop": None}]}


CHECK = Train()
