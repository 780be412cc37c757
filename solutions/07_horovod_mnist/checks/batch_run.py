"""The check of `batch_run`: what it passes to `train`, and what it returns; and a run that is on record, once more.

However many ranks there are, they are to share one batch of 64 images, and to make one step with it. Then the losses
are the same on any number of ranks, up to rounding, and a run on a cluster can be repeated anywhere.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest import mock

from autograde.contract.calls import described, with_article
from autograde.contract.check import Demand
from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank
from autograde.contract.schema import array, described_value, integer, number, optional, record, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.fixtures.numbered_net import NumberedNet, NumberedSet, state_of
from autograde.probes.simulated_node import seeded_apart
from autograde.verdicts.diagnosis import diagnose
from course.models.digits import BATCH, digit_model, some_digits
from course.world.report import name_ranks

from .common import STATE, HorovodCheck, seeds

LR, SEED = 0.06, 0  # of one process
NUMBERS = ("epochs", "batch_size", "lr", "seed")
LOSSES = optional(array(optional(number())))  # of a history

finding = Findings("""
train-not-called 3
On {who} your function calls `train` {times} times; expected is one call.

batch-per-rank 2
On {size} ranks, each rank takes {actual} images in a step. Together they take {together}, not 64.

lr-per-rank 2
On {size} ranks your function passes the learning rate {actual} to `train`. What does `make_optimizer` do with it?

batch-size-to-train 2
On {size} ranks your function passes the batch size {actual} to `train`; expected is {expected}, a whole number.

lr-to-train 2
On {size} ranks your function passes the learning rate {actual} to `train`. The effective learning rate, after
`make_optimizer`, is then not 0.06.

seed-to-train 1
Your function passes the seed {actual} to `train`; expected is {expected}.

epochs-to-train 1
Your function passes {actual} epochs to `train`; its argument `epochs` is {expected}.

model-to-train 1
The model that rank 0 passes to `train` is not `digit_model(0)`.

other-sets 2
The sets that your function passes to `train` have {actual} samples; `train_set` and `test_set` have {expected}.

other-checkpoint 1
Your function passes the checkpoint {actual!r} to `train`; its argument `checkpoint` is {expected!r}.

other-history 2
On {who} your function does not return the history that `train` returned.
""")


class BatchRun(HorovodCheck):
    """What `train` is called with on different numbers of ranks, where it only records that.

    A case has the sets' sizes, what `train` returns, and seeds of the models that `digit_model` gives; or it has
    ``again``, and is a real run of so many ``epochs``.
    """

    todo, points = "batch_run", 4
    consolidation = (
        "With the global batch and the effective learning rate fixed, the number of ranks changes how long a training "
        "takes, and not where it goes. So a run on eight ranks can be verified on one."
    )
    batch = Demand(points=1, ranks=2)

    def cases(self, rng: random.Random) -> list[dict]:
        """Numbers of ranks that divide 64, and one that does not."""
        return [self.draw(rng, size) for size in (4, 3, 2, 1)]

    def draw(self, rng: random.Random, size: int) -> dict:
        """One case."""
        samples, tests = rng.sample(range(20, 40), 2)
        case = {"size": size, "samples": samples, "tests": tests, "models": rng.sample(range(2**31), size)}
        case |= {"losses": [rng.uniform(0, 2) for _ in range(rng.randint(2, 5))]}
        return case | {"checkpoint": f"digits-{rng.randrange(10**6)}.pt"} | seeds(rng, "data")

    def again(self, run: dict, most: int) -> dict | None:
        """The first epochs. Ranks that share 64 images may be any that do; others, as many as there were."""
        size = run["ranks"] if run["ranks"] <= most else most
        if size != run["ranks"] and BATCH % run["ranks"]:
            return None
        return {"again": True, "size": size, "epochs": min(len(run["epochs"]), 3), "deadline": 60}

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> dict:
        """The student's `batch_run`: with a `train` that only records, or with all the student's other functions."""
        if "again" in case:
            train_set, test_set = some_digits()
            batch_run, path = subject.load_all(digit_model=digit_model), os.path.join(rank.folder, "digits.pt")
            history = batch_run(train_set, test_set, case["epochs"], path)
            return {"losses": losses_of(history), "data": train_set.dataset.fingerprint}
        calls: list[dict] = []
        history = [{"epoch": epoch, "loss": loss} for epoch, loss in enumerate(case["losses"])]

        def train(
            model: Any, train_set: Any, test_set: Any, epochs: Any, batch_size: Any, lr: Any, seed: Any, checkpoint: Any
        ) -> list[dict]:
            passed = {"epochs": epochs, "batch_size": batch_size, "lr": lr, "seed": seed}
            state = state_of(model) if isinstance(model, NumberedNet) else None
            about = {"sets": [len(train_set), len(test_set)], "checkpoint": str(checkpoint), "state": state}
            calls.append({**about, **{name: described(value) for name, value in passed.items()}})
            return history

        def stand_in(seed: int) -> NumberedNet:
            return NumberedNet(case["models"][seed])

        sets = NumberedSet(case["samples"], case["data"]), NumberedSet(case["tests"], case["data"])
        imported = mock.patch("course.models.digits.digit_model", stand_in)  # by the student's own import
        with seeded_apart(rank.rank), imported:
            batch_run = subject.load(train=train, digit_model=stand_in)
            returned = batch_run(*sets, len(history), case["checkpoint"])
        return {"calls": calls, "losses": losses_of(returned)}

    def shape(self, case: dict) -> dict:
        """Calls and losses; of a real run, losses and data."""
        if "again" in case:
            return record(losses=LOSSES, data=string())
        numbers = dict.fromkeys(NUMBERS, described_value())
        call = record(sets=array(integer(0), 2), checkpoint=string(), state=optional(STATE), **numbers)
        return record(calls=array(call), losses=LOSSES)

    def judge(self, case: dict, results: list[Any]) -> list[Finding | Diagnosis]:
        """The calls of all ranks, then what came back."""
        if odd := [rank for rank, result in enumerate(results) if len(result["calls"]) != 1]:
            return [finding("train-not-called", who=name_ranks(odd), times=len(results[odd[0]]["calls"]))]
        calls = [result["calls"][0] for result in results]
        found: list[Finding | Diagnosis] = [each for call in calls for each in call_mistakes(case, call)]
        if calls[0]["state"] != state_of(NumberedNet(case["models"][0])):
            found.append(finding("model-to-train"))
        if other := [rank for rank, result in enumerate(results) if result["losses"] != case["losses"]]:
            found.append(finding("other-history", who=name_ranks(other)))
        return found


def losses_of(history: Any) -> list[float | None] | None:
    """On a rank: the losses in a history; None where it is no list of dicts."""
    if not isinstance(history, (list, tuple)) or not all(isinstance(entry, dict) for entry in history):
        return None
    return [described(entry.get("loss"))["value"] for entry in history]


def call_mistakes(case: dict, call: dict) -> Iterator[Finding | Diagnosis]:
    """What is wrong with the arguments of one call of `train`."""
    size, batch_size, lr = case["size"], call["batch_size"], call["lr"]
    images = batch_size["value"] if batch_size["type"] == "int" else None
    about = partial(finding, size=size, actual=shown(batch_size), expected=BATCH // size, together=size * BATCH)
    yield diagnose("batch size", images, BATCH // size, {"batch-per-rank": BATCH}, about, "batch-size-to-train")

    def as_long(rate: float | None, expected: float) -> bool:
        return rate is not None and abs(rate - expected) * size < 1e-9

    about = partial(finding, size=size, actual=shown(lr))
    yield diagnose("learning rate", lr["value"], LR / size, {"lr-per-rank": LR}, about, "lr-to-train", as_long)
    if call["seed"]["value"] != SEED:
        yield finding("seed-to-train", actual=shown(call["seed"]), expected=SEED)
    if call["epochs"]["value"] != (epochs := len(case["losses"])):
        yield finding("epochs-to-train", actual=shown(call["epochs"]), expected=epochs)
    if call["sets"] != (sizes := [case["samples"], case["tests"]]):
        yield finding("other-sets", actual=pair(call["sets"]), expected=pair(sizes))
    if call["checkpoint"] != case["checkpoint"]:
        yield finding("other-checkpoint", actual=call["checkpoint"][:80], expected=case["checkpoint"])


def pair(sizes: list[int]) -> str:
    """Two numbers."""
    return " and ".join(map(str, sizes))


def shown(value: dict) -> str:
    """A number that was passed, or what was passed in its place. value: as `described` gives it."""
    return f"{value['value']:g} ({value['type']})" if value["value"] is not None else with_article(value["type"])


CHECK = BatchRun()
