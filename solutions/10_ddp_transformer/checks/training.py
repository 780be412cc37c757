"""What is wrong with a training of a few epochs that is stopped and resumed: its epochs, its steps, what came of it."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import partial

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding, settle
from autograde.verdicts.checkpoints import each_epoch
from autograde.verdicts.checkpoints import finding as of_checkpoints
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.resumed import finding as of_training
from autograde.verdicts.resumed import wrong_losses

from .training_plan import Step, everyones_batches, in_one_process, in_steps

CLOSE = 1e-6  # relative: a loss may have gone through float32
RESUMED = 1e-5  # how far weights may be off after a resume, on more than two ranks

# Findings on epochs whose batches come in the order of other epochs: what is made of them can be judged all the same.
OTHER_ORDERS = {"sampler-not-told", "set-epoch-from-0", "set-epoch-late", "epoch-shifted"}

finding = Findings("""
set-epoch-from-0 1
After a resume the sampler is told the epochs {seen}; expected are {expected}. The first epochs' orders come a second
time.

set-epoch-late 1
The sampler is told an epoch only after that epoch has begun: the orders are those of the epochs {seen}; expected are
{expected}.

epoch-shifted 1
The sampler is told the epochs {seen}; expected are {expected}. Epochs are counted from 0.

epoch-repeated 1.5
After a checkpoint of epoch {last} the epochs are {seen}. Epoch {last} was finished: it is trained twice.

epoch-skipped 1.5
The epochs are {seen}; expected are {expected}. One is left out.

trains-when-done 1.5
According to the checkpoint all {until} epochs are done, and yet your function runs {seen}.

unexpected-epochs 1.5
Your function runs the epochs {seen}; expected are {expected}.

ranks-disagree 2
The ranks run different epochs: {seen}.

leftovers-dropped 1.5
The last {left} of {places} micro-batches of an epoch, which do not fill a step of {most}, are left out.

leftovers-carried 1.5
The {left} of {places} micro-batches that are left at the end of an epoch go into the first step of the next one. A kill
between the two would lose them.

not-accumulated 1.5
Each micro-batch has a step of its own. Expected are {most} in a step.

one-step-an-epoch 1.5
All {places} micro-batches of an epoch go into one step. Expected are {most} in a step.

state-not-loaded 2
After a resume, your function goes on with a new model. What is in the checkpoint never gets into it.

other-weights 2
The weights at the end are not those of a training on these epochs in steps of {most} micro-batches: off by {off:.2g},
relative to the largest. Is the optimizer's state kept, and each micro-batch used once an epoch?

losses-per-epoch 1
The returned list has one number for each epoch. Expected is what each step returned.

nothing-kept 2
Rank {rank} was killed in the middle of epoch 1, and there is no checkpoint of epoch 0 to go on from: {seen}.

never-stopped 2
The check kills rank {rank} in the middle of epoch 1, but this rank never got there.

resumed-differs 2
Killed and resumed, the training ends with other weights than without the kill: off by {off:.2g}.
""")


def runs_mistakes(case: dict, results: Sequence[dict]) -> list[Finding | Diagnosis]:
    """What is wrong with runs of `train` that came to their end; a call counts only where it is known what was before.

    case: `training`, see `draw_training`; `epochs`, up to which each call in a run is to train; `kill`; `fresh`.
    """
    found: list[Finding | Diagnosis] = []
    made: list[list[Step]] | None = []
    start = 0  # epochs that are done
    for number, until in enumerate(case["epochs"]):
        calls = [result["whole"][number] for result in results]
        wrong, made = call_mistakes(case["training"], start, until, calls, case["fresh"], made)
        found += wrong
        if made is None:
            return found
        said = calls[0]["files"][-1]  # what goes on from a wrong number can be judged all the same
        start = until if said is None else said + 1
    if not case["kill"] or any(each.key == "epoch-off-by-one" for each in settle([found])):
        return found
    if any(result["resumed"] is None for result in results):
        return [*found, finding("never-stopped", rank=case["kill"]["rank"])]
    return found + kill_mistakes(case, results, made)


def call_mistakes(
    training: dict, start: int, until: int, calls: Sequence[dict], fresh: int, made: list[list[Step]]
) -> tuple[list[Finding | Diagnosis], list[list[Step]] | None]:
    """What is wrong with one call of `train` that begins after `start` epochs and is to end after `until`; and the
    steps of all epochs so far, None where they are not known, or not kept.

    calls: of each rank, as the check's schema has them. fresh: seed of the model that it is given. made: the steps of
    the epochs before.
    """
    seen, files, due = calls[0]["epochs"], calls[0]["files"], max(0, until - start)
    if any(call["epochs"] != seen for call in calls):
        return [finding("ranks-disagree", seen="; ".join(str(call["epochs"]) for call in calls))], None
    found: list[Finding | Diagnosis] = [*epochs_told(seen, files, start, until)]
    if any(each.key not in OTHER_ORDERS for each in settle([found])) or len(seen) != due:
        return found, None
    before, places = joined(made), [everyones_batches(training, epoch) for epoch in seen]
    steps = [in_steps(each, training["accumulate"]) for each in places]
    losses, weights = in_one_process(training, before + joined(steps))
    if steps:
        judged, known = weights_after(training, before, places, calls, weights, fresh if start else None)
        kept = each_epoch(files, start) if files[-1] is not None else of_checkpoints("nothing-written")
        found += [judged, kept]
        lost = known is None or any(each.key != "epoch-off-by-one" for each in settle([[kept]]))
        made = None if lost else [*made, *known]
        if judged.otherwise is not None:
            return found, made
    return [*found, *returned(calls, losses[len(before) :], due)], made


def joined(epochs: Sequence[Sequence[Step]]) -> list[Step]:
    """The steps of some epochs, one after another."""
    return [step for steps in epochs for step in steps]


def epochs_told(seen: Sequence[int], files: Sequence[int | None], start: int, until: int) -> list[Finding | Diagnosis]:
    """What is wrong with the epochs that the sampler was told, where start, ..., until - 1 are expected.

    files: epochs of the checkpoints, as the check's schema has them. Where nothing explains what the sampler was told,
    they tell which epochs these were.
    """
    judged, saved = epochs_run(seen, start, until), files[1:]
    known = len(saved) == len(seen) > 0 and all(epoch is not None and epoch >= 0 for epoch in saved)
    if judged.otherwise is None or judged.explained or not known:
        return [judged]
    if [*seen] == [epoch + 1 for epoch in saved]:
        order = finding("epoch-shifted", seen=listed(seen), expected=listed(saved))
    elif any(seen) or not any(saved):
        return [judged]
    else:
        order = of_training("sampler-not-told", what="the epoch")
    return [epochs_run(saved, start, until), order]


def epochs_run(seen: Sequence[int], start: int, until: int) -> Diagnosis:
    """What is wrong with these epochs, where start, ..., until - 1 are expected."""
    expected = [*range(start, until)]
    candidates = {
        "sampler-not-told": [0] * len(expected),
        "sampler-not-told/once": [start] * len(expected),
        "epoch-shifted": [epoch + 1 for epoch in expected],
    }
    if start or [*seen] in (expected[1:], expected[:-1]):  # who skips one after a resume need not do it at the start
        candidates |= {"epoch-skipped": expected[1:], "epoch-skipped/last": expected[:-1]}
    if start:
        candidates |= {
            "set-epoch-from-0": [*range(len(expected))],
            "not-resumed": [*range(until)],
            "epoch-repeated": [start - 1, *expected],
            "epochs-counted-anew": [*range(start, start + until)],
            "trains-when-done": expected or [start],
        }
    candidates["set-epoch-late"] = [0, *expected][: len(expected)]
    about = {"seen": listed(seen), "expected": listed(expected), "last": start - 1, "until": until}

    def told(key: str) -> Finding:
        if key in of_training.known:
            more = {"place": f"epoch {start - 1}", "what": "the epoch", "seen": f"epochs {listed(seen)}"}
            return of_training(key, **{**about, **more})
        return finding(key, **about)

    return diagnose("epochs", [*seen], expected, candidates, told, "unexpected-epochs", operator.eq)


def weights_after(
    training: dict,
    before: list[Step],
    places: list[list[Step]],
    calls: Sequence[dict],
    expected: list[float],
    fresh: int | None,
) -> tuple[Diagnosis, list[list[Step]] | None]:
    """What is wrong with the weights after the right epochs: how were their micro-batches put together? And the steps
    of each epoch of the call, if they are known.

    before: the steps of the epochs before this call. places: of each epoch of it, the micro-batches by place. fresh:
    seed of the model that came, where it was to be loaded.
    """
    rows = [call["weights"] for call in calls]
    if all_close(rows, expected):  # each of the candidates below would take as long as all the rest
        return Diagnosis("weights"), [in_steps(each, training["accumulate"]) for each in places]
    most, count = training["accumulate"], len(places[0])
    left = count % most

    def after(plan: Sequence[Step]) -> list[float]:
        return in_one_process(training, [*before, *plan])[1]

    def cut(most: int, until: int = count) -> list[list[Step]]:
        return [in_steps(each[:until], most) for each in places]

    across = in_steps([place for each in places for place in each], most)
    plans = {"leftovers-dropped": cut(most, count - left), "not-accumulated": cut(1), "one-step-an-epoch": cut(count)}
    carried = {"leftovers-carried": across}
    carried["leftovers-carried/dropped"] = [step for step in across if len(step) == len(across[0])]
    ways = {key: joined(plan) for key, plan in plans.items()}
    candidates = {key: after(plan) for key, plan in {"leftovers-dropped": [], **carried, **ways}.items()}
    if fresh is not None:
        candidates["state-not-loaded"] = in_one_process(training, joined(cut(most)), fresh)[1]
    off = max(distance(row, expected) for row in rows)
    told = partial(finding, left=left, places=count, most=most, off=off)
    judged = diagnose("weights", rows, expected, candidates, told, "other-weights", all_close)
    return judged, next((plans[each.key] for each in judged.explained if each.key in plans), None)


def returned(calls: Sequence[dict], expected: Sequence[float], epochs: int) -> list[Finding | Diagnosis]:
    """What is wrong with the lists that the ranks returned. expected: the losses of the steps. epochs: how many ran."""
    if others := [call["kind"] for call in calls if call["losses"] is None]:
        return [of_training("no-losses", kind=others[0])]
    rows = [[each["value"] for each in call["losses"]] for call in calls]
    steps = len(expected) // max(1, epochs)  # of an epoch
    by_epoch = [expected[number * steps : number * steps + steps] for number in range(epochs)]
    candidates = {
        "last-epoch-only": by_epoch[-1] if by_epoch else [],
        "losses-per-epoch": [sum(of_rank) / steps for of_rank in by_epoch],
        "losses-per-epoch/summed": [sum(of_rank) for of_rank in by_epoch],
        "losses-per-epoch/last": [of_rank[-1] for of_rank in by_epoch],
    }

    def told(key: str) -> Finding:
        return of_training(key) if key in of_training.known else finding(key)

    otherwise = wrong_losses(rows[0], expected)
    found: list[Finding | Diagnosis] = [diagnose("losses", rows, expected, candidates, told, otherwise, all_near)]
    kinds = [each["type"] for call in calls for each in call["losses"] if not each["float"]]
    return found if settle([found]) or not kinds else [*found, of_training("not-floats", kind=kinds[0])]


def kill_mistakes(case: dict, results: Sequence[dict], made: list[list[Step]]) -> list[Finding | Diagnosis]:
    """What is wrong with a training that was killed and resumed. made: the steps of each epoch without the kill.

    The weights must be those of the training that was not killed: on two ranks bit for bit, on more but for rounding,
    as DistributedDataParallel sums the first step of a fresh process in another order.
    """
    kill, training, kept = case["kill"], case["training"], results[0]["found"]
    if kept != kill["epoch"] - 1:
        seen = "there is none" if kept is None else f"it says epoch {kept}" if kept >= 0 else "what is there is broken"
        if kept == kill["epoch"]:
            seen = f"what is there says that epoch {kept} is done, which nobody had finished"
        return [finding("nothing-kept", rank=kill["rank"], seen=seen)]
    resumed = [result["resumed"][0] for result in results]
    found, _ = call_mistakes(training, kill["epoch"], case["epochs"][0], resumed, case["fresh"], made[: kill["epoch"]])
    off = max(distance(result["resumed"][0]["weights"], result["whole"][0]["weights"]) for result in results)
    if not settle([found]) and off > (0 if training["size"] == 2 else RESUMED):
        found.append(finding("resumed-differs", off=off))
    return found


def all_close(rows: Sequence[Sequence[float | None]], expected: Sequence[float]) -> bool:
    """Whether the weights of all ranks are these but for rounding."""
    return all(distance(row, expected) <= CLOSE for row in rows)


def all_near(rows: Sequence[Sequence[float | None]], expected: Sequence[float]) -> bool:
    """Whether the losses of all ranks are these but for rounding."""

    def near(value: float | None, loss: float) -> bool:
        return value is not None and math.isclose(value, loss, rel_tol=CLOSE)

    return all(len(row) == len(expected) and all(map(near, row, expected)) for row in rows)


def distance(actual: Sequence[float | None], expected: Sequence[float | None]) -> float:
    """The largest difference of two rows of numbers, relative to the largest expected; infinite for others."""
    if len(actual) != len(expected) or None in actual or None in expected or not expected:
        return math.inf
    return max(abs(one - other) for one, other in zip(actual, expected, strict=True)) / max(map(abs, expected))


def listed(epochs: Sequence[int]) -> str:
    """``0, 1, 2``, or ``none``."""
    return ", ".join(map(str, epochs)) or "none"
