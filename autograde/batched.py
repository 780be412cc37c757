"""Verdict on a TODO `batch_run`, which calls the student's `train`: what it passes on, and what it returns.

However many ranks there are, they are to share one batch of 64 images, and to make one step with it. Then the losses
are the same on any number of ranks, up to rounding, and a run on a cluster can be repeated anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from autograde.check import Finding
from autograde.checkpoints import STATE
from autograde.findings import Findings
from autograde.schema import array, described_value, integer, number, optional, record, string
from course.digit_training import BATCH
from course.numbered import NumberedNet, state_of
from course.report import name_ranks

LR, SEED = 0.06, 0  # of one process
NUMBERS = ("epochs", "batch_size", "lr", "seed")
LOSSES = optional(array(optional(number())))  # of a history

finding = Findings("""
train-not-called 3
On {who} `train` is called {times} times. Due is one call.

batch-per-rank 2
On {size} ranks, each takes {told} images in a step: together they take {together}, not 64.

lr-per-rank 2
The learning rate passed to `train` is {told:g} on {size} ranks. Remember what `make_optimizer` makes of it.

wrong-batch-size 2
On {size} ranks `train` is passed the batch size {told}. Due is {due}, a whole number.

wrong-lr 2
On {size} ranks `train` is passed the learning rate {told}. What `make_optimizer` makes of it is not 0.06.

wrong-seed 1
`train` is passed the seed {told}. Due is 0.

wrong-epochs 1
`train` is passed {told} epochs. `epochs` is {due}.

other-start 1
The model that rank 0 passes to `train` is not `digit_model(0)`.

other-sets 2
`train` is passed sets of {told} samples, to train and to test with. `train_set` and `test_set` have {due}.

other-checkpoint 1
`train` is passed the checkpoint {told!r}. `checkpoint` is {due!r}.

other-history 2
What comes back on {who} is not what `train` returned.
""")


def calls_schema() -> dict:
    """Of what a rank tells of a run in which nothing is trained."""
    numbers = dict.fromkeys(NUMBERS, described_value())
    call = record(sets=array(integer(0), 2), checkpoint=string(), state=STATE, **numbers)
    return record(calls=array(call), losses=LOSSES)


def repeated_schema() -> dict:
    """Of what a rank tells of a real run."""
    return record(losses=LOSSES, data=string())


def batch_mistakes(case: dict, results: Sequence[dict]) -> list[Finding]:
    """What is wrong with a run in which nothing is trained: the calls of all ranks, then what came back."""
    if odd := [rank for rank, result in enumerate(results) if len(result["calls"]) != 1]:
        return [finding("train-not-called", who=name_ranks(odd), times=len(results[odd[0]]["calls"]))]
    found = call_mistakes(case, [result["calls"][0] for result in results])
    if other := [rank for rank, result in enumerate(results) if result["losses"] != case["losses"]]:
        found.append(finding("other-history", who=name_ranks(other)))
    return found


def call_mistakes(case: dict, calls: Sequence[dict]) -> list[Finding]:
    """What is wrong with the arguments of `train`, of each kind once."""
    found: dict[str, Finding] = {}
    for call in calls:
        for each in (batch_size_mistake(case, call), lr_mistake(case, call), *other_mistakes(case, call)):
            if each is not None:
                found.setdefault(each.key, each)
    if calls[0]["state"] != state_of(NumberedNet(case["models"][0])):
        found["other-start"] = finding("other-start")
    return [*found.values()]


def batch_size_mistake(case: dict, call: dict) -> Finding | None:
    """The ranks' shares of the batch."""
    size, told = case["size"], call["batch_size"]
    if told["value"] == BATCH // size and told["type"] == "int":
        return None
    if size > 1 and told["value"] == BATCH:
        return finding("batch-per-rank", size=size, told=BATCH, together=size * BATCH)
    return finding("wrong-batch-size", size=size, told=said(told), due=BATCH // size)


def lr_mistake(case: dict, call: dict) -> Finding | None:
    """The length of a step, with what `make_optimizer` makes of it."""
    size, told = case["size"], call["lr"]["value"]
    if told is not None and abs(told * size - LR) < 1e-9:
        return None
    if told is not None and size > 1 and abs(told - LR) < 1e-9:
        return finding("lr-per-rank", size=size, told=told)
    return finding("wrong-lr", size=size, told=said(call["lr"]))


def other_mistakes(case: dict, call: dict) -> list[Finding]:
    """Arguments that are to be passed on as they are."""
    found, epochs = [], len(case["losses"])
    if call["seed"]["value"] != SEED:
        found.append(finding("wrong-seed", told=said(call["seed"])))
    if call["epochs"]["value"] != epochs:
        found.append(finding("wrong-epochs", told=said(call["epochs"]), due=epochs))
    if call["sets"] != [case["samples"], case["tests"]]:
        due = f"{case['samples']} and {case['tests']}"
        found.append(finding("other-sets", told="{} and {}".format(*call["sets"]), due=due))
    if call["checkpoint"] != case["checkpoint"]:
        found.append(finding("other-checkpoint", told=call["checkpoint"][:80], due=case["checkpoint"]))
    return found


def said(told: dict) -> str:
    """A number that was passed, or what was passed in its place."""
    return f"{told['value']:g} ({told['type']})" if told["value"] is not None else f"a {told['type']}"
