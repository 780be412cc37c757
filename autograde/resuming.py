"""Verdicts on a training that is stopped and resumed: which epochs it ran, in what steps, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autograde.check import Finding
from autograde.findings import Findings
from autograde.schema import array, described_value, integer, numbers, optional, record, string
from course.epoch_runs import Step, everyones_batches, in_one_process, in_steps

CLOSE = 1e-6  # relative: a loss may have gone through float32
RESUMED = 1e-5  # how far weights may be off after a resume, on more than two ranks

finding = Findings("""
save-on-rank-0 4
A deadlock: rank 0 waits in `save_checkpoint`, and the others go on. All ranks have to call it: it decides by itself who
writes, and lets nobody go before that is done.

no-set-epoch 1
The loader's sampler is never told the epoch, so each of {count} epochs has the same order.

set-epoch-from-0 1
After a resume the sampler is told the epochs {seen}; due are {due}. The first ones' order comes a second time.

set-epoch-late 1
The sampler is told an epoch when that has begun already: the orders are those of the epochs {seen}; due are {due}.

epoch-shifted 1
The sampler is told the epochs {seen}; due are {due}. They are counted from 0.

not-resumed 2
A checkpoint of epoch {last} is there, and training begins again with epoch 0: {seen}.

epoch-repeated 1.5
After a checkpoint of epoch {last} the epochs are {seen}. Epoch {last} was finished: it is trained twice.

epoch-skipped 1.5
The epochs are {seen}, and due are {due}. One is left out.

epochs-counted-anew 1.5
Called with epochs={until} where {start} are done already, it runs {seen}: `epochs` counts from the very first run.

trains-when-done 1.5
All {until} epochs are done according to the checkpoint, and yet it runs {seen}.

wrong-epochs 1.5
The epochs that it runs are {seen}; due are {due}.

ranks-disagree 2
The ranks run different epochs: {seen}.

leftovers-dropped 1.5
The last {left} of {places} micro-batches of an epoch, which do not fill a step of {most}, are left out.

leftovers-carried 1.5
What is left at the end of an epoch, {left} of {places} micro-batches, goes into the first step of the next one. A
checkpoint between the two would lose it.

not-accumulated 1.5
Each micro-batch has a step of its own. Due are {most} in a step.

one-step-an-epoch 1.5
All {places} micro-batches of an epoch go into one step. Due are {most} in a step.

state-not-loaded 2
After a resume it goes on with a new model. What is in the checkpoint never comes to it.

wrong-training 2
The weights at the end are not those of training on these epochs in steps of {most} micro-batches: off by {off:.2g}.

no-checkpoint 1.5
After training there is no checkpoint.

checkpoint-late 1.5
When epoch {epoch} begins, {seen}. One is due after each epoch.

checkpoint-of-another-epoch 1
After epoch {due} the checkpoint says epoch {epoch}.

not-a-list 1
What is returned is of type {kind}, not a list of floats.

not-floats 0.5
The list that is returned holds what is of type {kind}, not floats.

last-epoch-only 1
The losses that are returned are those of the last epoch alone. Due are those of all steps made in this call.

losses-per-epoch 1
There is one number for each epoch in the list that is returned. Due is what each step returned.

wrong-losses 1
The training is right, but the list that is returned is not what its steps returned, one after another: {count} numbers,
and {due} are due.

nothing-kept 2
Rank {rank} was killed in the middle of epoch 1, and there is no checkpoint of epoch 0 to go on from: {seen}.

never-stopped 2
Rank {rank} was to be killed in the middle of epoch 1, and that never came.

resumed-differs 2
Killed and resumed, the training ends with other weights than without: off by {off:.2g}.
""")

CALL = record(
    kind=string(),
    losses=optional(array(described_value(), most=500)),
    epochs=array(integer(), most=500),
    files=array(optional(integer()), most=501),
    weights=numbers(),
)


def runs_schema(calls: int) -> dict:
    """What each rank did in the runs that `autograde.train_runs.killed_and_resumed` makes. calls: in each run."""
    made = array(CALL, calls)
    return record(whole=made, resumed=optional(made), found=optional(integer()))


def training_trouble(run: dict) -> list[Finding]:
    """A finding for a run that hangs as rank 0 alone saves.

    The check's own `save_checkpoint` meets in a barrier; its meetings outside of the student's code have no line.
    """
    if run["state"] != "hang":
        return []
    last = [rank["events"][-1] if rank["events"] else None for rank in run["ranks"]]
    saving = [event is not None and event["kind"] == "barrier" and event["line"] is not None for event in last]
    stuck = saving[0] and last[0]["end"] is None and not any(saving[1:])
    return [finding("save-on-rank-0", run["report"])] if stuck else []


def runs_mistakes(case: dict, evidence: dict) -> list[Finding]:
    """What is wrong with runs of `train` that came to their end; with a call only where those before it were right.

    case: `training`, see `course.epoch_runs`; `epochs`, up to which each call in a run is to train; `kill`; `fresh`.
    """
    training, results = case["training"], [rank["result"] for rank in evidence["ranks"]]
    for number, (start, until) in enumerate(zip([0, *case["epochs"]], case["epochs"], strict=False)):
        calls = [result["whole"][number] for result in results]
        if found := call_mistakes(training, start, until, calls, case["fresh"]):
            return found
    if not case["kill"]:
        return []
    if any(result["resumed"] is None for result in results):
        return [finding("never-stopped", rank=case["kill"]["rank"])]
    return kill_mistakes(case, results)


def call_mistakes(training: dict, start: int, until: int, calls: Sequence[dict], fresh: int) -> list[Finding]:
    """What is wrong with one call of `train` that begins after `start` epochs and is to end after `until`.

    calls: of each rank, as `CALL`. fresh: seed of the model that it is given.
    """
    seen = calls[0]["epochs"]
    if any(call["epochs"] != seen for call in calls):
        return [finding("ranks-disagree", seen="; ".join(str(call["epochs"]) for call in calls))]
    if key := wrong_epochs(seen, start, until):
        about = {"seen": listed(seen), "due": listed(range(start, until)), "count": len(seen)}
        return [finding(key, **about, last=start - 1, start=start, until=until)]
    places = [everyones_batches(training, epoch) for epoch in range(until)]
    before = [step for each in places[:start] for step in in_steps(each, training["accumulate"])]
    steps = [step for each in places[start:] for step in in_steps(each, training["accumulate"])]
    losses, weights = in_one_process(training, before + steps)
    found = []
    if steps:
        off = max(distance(call["weights"], weights) for call in calls)
        if off > CLOSE:
            return [wrong_steps(training, before, places[start:], calls[0]["weights"], fresh, off)]
        found += checkpoint_mistakes(start, until, calls[0]["files"])
    return found + returned_mistakes(calls, losses[len(before) :], until - start)


def wrong_epochs(seen: Sequence[int], start: int, until: int) -> str | None:
    """Which mistake these epochs are, where start, ..., until - 1 are due; None: they are right."""
    due, seen = [*range(start, until)], [*seen]
    if seen == due:
        return None
    if start != 1 and len(seen) == len(due) > 1 and seen == [0, *due[:-1]] != [0] * len(seen):
        return "set-epoch-late"
    if len(set(seen)) == 1 < len(due) == len(seen):
        return "no-set-epoch"
    if start and seen == [*range(until)]:
        return "not-resumed"
    if start and seen == [start - 1, *due]:
        return "epoch-repeated"
    if start and len(seen) == until and (seen[0] == start or len(set(seen)) == 1):
        return "epochs-counted-anew"
    if not due:
        return "trains-when-done"
    if start and seen == [*range(len(due))]:
        return "set-epoch-from-0"
    if len(seen) == len(due) and seen == [epoch + seen[0] - start for epoch in due]:
        return "epoch-shifted"
    return "epoch-skipped" if len(seen) == len(due) - 1 else "wrong-epochs"


def wrong_steps(
    training: dict, before: list[Step], places: list[list[Step]], got: Sequence[float | None], fresh: int, off: float
) -> Finding:
    """The finding for weights that are wrong, though the epochs are right: how were their micro-batches put together?

    before: the steps of the epochs before this call. places: of each epoch of it, the micro-batches by place.
    """
    most, count = training["accumulate"], len(places[0])
    left = count % most
    about = {"left": left, "places": count, "most": most}
    right = [step for each in places for step in in_steps(each, most)]
    full = [step for each in places for step in in_steps(each[: count - left], most)]
    across = in_steps([place for each in places for place in each], most)
    plans = {
        "leftovers-dropped": (full, None),
        "leftovers-carried": (across, None),
        "not-accumulated": ([step for each in places for step in in_steps(each, 1)], None),
        "one-step-an-epoch": ([step for each in places for step in in_steps(each, count)], None),
        "state-not-loaded": (right, fresh),
    }
    whole = [step for step in across if len(step) == len(across[0])]
    for key, (plan, seed) in [*plans.items(), ("leftovers-carried", (whole, None))]:
        _, weights = in_one_process(training, plan if seed is not None else before + plan, seed)
        if distance(got, weights) <= CLOSE:
            return finding(key, **about)
    return finding("wrong-training", **about, off=off)


def checkpoint_mistakes(start: int, until: int, files: Sequence[int | None]) -> list[Finding]:
    """What is wrong with the epochs that were in the file when each epoch began, and at the end."""
    if len(files) != until - start + 1 or files[-1] is None:
        return [finding("no-checkpoint")]
    for epoch, there in zip(range(start, until), files[:-1], strict=False):
        if there != (epoch - 1 if epoch else None):
            seen = "there is no checkpoint" if there is None else f"the checkpoint is one of epoch {there}"
            return [finding("checkpoint-late", epoch=epoch, seen=seen)]
    wrong = files[-1] != until - 1
    return [finding("checkpoint-of-another-epoch", due=until - 1, epoch=files[-1])] if wrong else []


def returned_mistakes(calls: Sequence[dict], due: Sequence[float], epochs: int) -> list[Finding]:
    """What is wrong with the lists that the ranks returned. due: the losses of the steps. epochs: how many ran."""
    for call in calls:
        if call["losses"] is None:
            return [finding("not-a-list", kind=call["kind"])]
        values = [each["value"] for each in call["losses"]]
        if near(values, due):
            kinds = [each["type"] for each in call["losses"] if not each["float"]]
            if kinds:
                return [finding("not-floats", kind=kinds[0])]
        elif epochs > 1 and near(values, due[len(due) - len(due) // epochs :]):
            return [finding("last-epoch-only")]
        elif epochs and len(values) == epochs:
            return [finding("losses-per-epoch")]
        else:
            return [finding("wrong-losses", count=len(values), due=len(due))]
    return []


def kill_mistakes(case: dict, results: Sequence[dict]) -> list[Finding]:
    """What is wrong with a training that was killed and resumed. results: of each rank, as `runs_schema` has them.

    The weights must be those of the training that was not killed: on two ranks bit for bit, on more but for rounding,
    as DistributedDataParallel sums the first step of a fresh process in another order.
    """
    kill, training, kept = case["kill"], case["training"], results[0]["found"]
    if kept != kill["epoch"] - 1:
        seen = "there is none" if kept is None else f"it says epoch {kept}" if kept >= 0 else "what is there is broken"
        return [finding("nothing-kept", rank=kill["rank"], seen=seen)]
    resumed = [result["resumed"][0] for result in results]
    found = call_mistakes(training, kill["epoch"], case["epochs"][0], resumed, case["fresh"])
    off = max(distance(result["resumed"][0]["weights"], result["whole"][0]["weights"]) for result in results)
    if not found and off > (0 if training["size"] == 2 else RESUMED):
        found.append(finding("resumed-differs", off=off))
    return found


def near(values: Sequence[float | None], due: Sequence[float]) -> bool:
    """Whether two lists of numbers are the same but for rounding."""
    pairs = zip(values, due, strict=False)
    return len(values) == len(due) and all(
        value is not None and math.isclose(value, right, rel_tol=CLOSE) for value, right in pairs
    )


def distance(got: Sequence[float | None], due: Sequence[float | None]) -> float:
    """The largest difference of two rows of numbers, relative to the largest that is due; infinite for others."""
    if len(got) != len(due) or None in got or None in due or not due:
        return math.inf
    return max(abs(one - other) for one, other in zip(got, due, strict=True)) / max(map(abs, due))


def listed(epochs: Any) -> str:
    """``0, 1, 2``, or ``none``."""
    return ", ".join(map(str, epochs)) or "none"
