"""Verdicts on a whole training run of several ranks: how it began, what it drew, what it tells and leaves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from autograde.accuracies import accuracy_mistakes
from autograde.check import Finding
from autograde.checkpoints import STATE, checkpoint_mistakes, file_schema, saves_schema
from autograde.drawn import finding as drawing
from autograde.drawn import shares_of
from autograde.epochs import finding as training
from autograde.findings import Findings
from autograde.means import TOLERANCE, different, loss_mistakes, returned
from autograde.optimizers import finding as optimizing
from autograde.replicas import Replicas, Rules, close, hits_of, same_state
from autograde.schema import array, boolean, described_value, integer, number, optional, record, string
from autograde.synchronized import start_mistakes
from autograde.training_run import KEYS, TESTS, push, score
from course.numbered import NumberedNet, NumberedSet, state_of
from course.report import name_ranks

finding = Findings("""
no-history 4
What comes back on {who} is no list of {epochs} dicts.

wrong-keys 1
The dicts of the history have the keys {keys}. Due are {due}.

wrong-epochs 0.5
The epochs in the history are {numbers}. They count from 0.

wrong-seconds 0.5
The seconds in the history are {seconds}; the whole call took {elapsed:.3g}. Each epoch has its own.

not-trained-at-all 4
On {who} the model is never trained: not by `train_epoch`, nor by the function itself.

seed-not-passed 1
The loader is made with seed {told}; `seed` is {due}.

batch-size-not-passed 1
The loader is made with batch size {told}; `batch_size` is {due}.

uneven-steps 2
Rank {rank} trains on {told} batches in {epochs} epochs. No whole number of them makes an epoch.

eval-while-training 2
While it is trained, the model is in eval mode.

train-while-evaluating 2
While it is evaluated, the model is in train mode.

epoch-numbers 1.5
`train_epoch` is told the epochs {told}. They count from 0.

other-loss 2
The loss of epoch {epoch} is {value:.6g} in the history of rank {rank}. That is not what `train_epoch` returned.

accuracy-before-epoch 1.5
The accuracy of epoch {epoch} is that of the model before this epoch. It is due after it.

accuracy-on-train-set 1.5
The accuracy is that on the training set. It is due on `test_set`.

other-accuracy 1.5
The accuracy of epoch {epoch} is {value:.6g} in the history of rank {rank}. That is not the model's on `test_set`.

other-model 2
After the call, the model of {who} is not the one that this training gives.
""")

# Rules and factors of the learning rate by which a model may have been trained instead.
WRONG = {
    "not-wrapped": (Rules("own"), 1.0),
    "gradients-summed": (Rules("sum"), 1.0),
    "gradient-carried-over": (Rules(zeroed=False), 1.0),
    "momentum": (Rules(momentum=0.0), 1.0),
}


def history_mistakes(histories: Sequence[Any], epochs: int, elapsed: Sequence[float]) -> list[Finding]:
    """What is wrong with the form of the ranks' histories: lists of dicts, of which `described` told the values.

    elapsed: seconds that the whole call took, by rank.
    """
    if wrong := [rank for rank, own in enumerate(histories) if own is None or len(own) != epochs]:
        return [finding("no-history", who=name_ranks(wrong), epochs=epochs)]
    for own, whole in zip(histories, elapsed, strict=True):
        keys = sorted({key for entry in own for key in entry["keys"]})
        if any(sorted(entry["keys"]) != sorted(KEYS) for entry in own):
            return [finding("wrong-keys", keys=", ".join(keys) or "none", due=", ".join(KEYS))]
        numbers_told = [entry["epoch"]["value"] for entry in own]
        if not all(close(told, due) for told, due in zip(numbers_told, range(epochs), strict=True)):
            return [finding("wrong-epochs", numbers=numbers_told)]
        seconds = [entry["seconds"]["value"] for entry in own]
        if any(each is None or each < 0 for each in seconds) or sum(seconds) > whole + 1e-3:
            told = ", ".join("none" if each is None else f"{each:.3g}" for each in seconds)
            return [finding("wrong-seconds", seconds=told, elapsed=whole)]
    return []


class Run:
    """What the ranks did in a run of `train`, and what is wrong with it.

    case: ``size``, ``local_size``, ``models`` (a seed for each rank), ``samples`` and ``data`` of the training set,
    ``tests`` and ``test_data`` of the test set, ``epochs``, ``batch_size``, ``lr``, ``seed``, and ``losses`` that the
    stand-in for `train_epoch` returns. results: by rank.
    """

    def __init__(self, case: dict, results: Sequence[dict]) -> None:
        self.case, self.results = case, results
        self.size, self.epochs = case["size"], case["epochs"]
        self.train_set = NumberedSet(case["samples"], case["data"])
        self.test_set = NumberedSet(case["tests"], case["test_data"])
        self.stood_in = any(result["drawn"] for result in results)
        self.trains = [[f for f in result["forwards"] if max(f[0], default=0) < TESTS] for result in results]
        self.tests = [[f for f in result["forwards"] if max(f[0], default=0) >= TESTS] for result in results]
        self.counts = [len(result["drawn"]) for result in results]
        if not self.stood_in:
            self.counts = [len(own) for own in self.trains]
        self.steps = max(1, self.counts[0] // self.epochs)

    def drawn(self) -> list[list[list[list[int]]]]:
        """The batches that were drawn, [epoch][rank][batch][sample]."""
        if self.stood_in:
            return [[result["drawn"][epoch] for result in self.results] for epoch in range(self.epochs)]
        cut = range(0, self.steps * self.epochs, self.steps)
        return [[[ids for ids, *_ in own[at : at + self.steps]] for own in self.trains] for at in cut]

    def conduct(self) -> list[Finding]:
        """What is wrong with what was called and drawn."""
        found: list[Finding] = []
        for result in self.results:
            for samples, batch_size, seed in result["loaders"]:
                if samples == self.case["samples"] and seed != self.case["seed"]:
                    found.append(finding("seed-not-passed", told=seed, due=self.case["seed"]))
                if samples == self.case["samples"] and batch_size != self.case["batch_size"]:
                    found.append(finding("batch-size-not-passed", told=batch_size, due=self.case["batch_size"]))
            if self.stood_in and result["epochs"] != list(range(self.epochs)):
                found.append(finding("epoch-numbers", told=", ".join(map(str, result["epochs"]))))
        for rank, told in enumerate(self.counts):
            if told != self.steps * self.epochs:
                return [*found, finding("uneven-steps", rank=rank, told=told, epochs=self.epochs)]
        if any(not mode for own in self.trains for _, mode, _ in own):
            found.append(finding("eval-while-training"))
        if any(mode for own in self.tests for _, mode, _ in own):
            found.append(finding("train-while-evaluating"))
        drawn = self.drawn()
        found += shares_of(self.case["samples"], self.case["batch_size"], drawn, self.case["local_size"])
        orders = [[list(chain.from_iterable(own)) for own in epoch] for epoch in drawn]
        if not found and not self.stood_in and any(orders[0] == other for other in orders[1:]):
            found.append(drawing("same-order-every-epoch"))
        return found

    def replay(self, rules: Rules, factor: float = 1.0) -> tuple[list[list[dict]], list, list[NumberedNet]]:
        """The ranks' states and the losses after each epoch, and rank 0's models then."""
        first = self.case["models"][0]
        replicas = Replicas(
            [NumberedNet(first, follows=0.0) for _ in self.results], self.case["lr"] * self.size * factor, rules
        )
        states, losses, models = [], [], []
        for epoch in self.drawn():
            if self.stood_in:
                losses.append([])
                for rank, model in enumerate(replicas.models):
                    push(model, rank)
                replicas.step([[p.grad for p in m.parameters() if p.requires_grad] for m in replicas.models])
            else:
                losses.append(replicas.epoch(self.train_set, epoch))
            states.append(replicas.states())
            kept = NumberedNet(first, follows=0.0)
            kept.load_state_dict(replicas.models[0].state_dict())
            models.append(kept)
        return states, losses, models

    def outcome(self) -> tuple[list[Finding], list[dict]]:
        """What is wrong with the models and the history; and rank 0's state that is due after each epoch."""
        states, losses, models = self.replay(Rules())
        due = [own[0] for own in states]
        if wrong := [r for r, result in enumerate(self.results) if not same_state(result["state"], states[-1][r])]:
            return [self.explain(wrong)], [{} for _ in due]
        found: list[Finding] = []
        for epoch in range(self.epochs):
            entries = [result["history"][epoch] for result in self.results]
            found = found or self.loss(epoch, [entry["loss"] for entry in entries], losses[epoch])
        for epoch in range(self.epochs):
            entries = [result["history"][epoch] for result in self.results]
            if mistakes := self.accuracy(epoch, [entry["accuracy"] for entry in entries], models):
                return found + mistakes, due
        return found, due

    def explain(self, wrong: Sequence[int]) -> Finding:
        """The finding for models that are not those due on some ranks."""

        def made(rules: Rules, factor: float) -> bool:
            states = self.replay(rules, factor)[0][-1]
            return all(same_state(result["state"], state) for result, state in zip(self.results, states, strict=True))

        size, local, lr = self.size, self.case["local_size"], self.case["lr"]
        rates = {"lr-not-scaled": 1 / size, "lr-scaled-by-local-size": local / size, "lr-scaled-twice": size}
        for key, factor in rates.items():
            if made(Rules(), factor):
                return optimizing(key, lr=lr, size=size, local=local, times=factor * size)
        for key, (rules, factor) in WRONG.items():
            if made(rules, factor):
                known = training if key in training.known else optimizing
                return known(key, size=size, momentum=0.0, due=0.9)
        return finding("other-model", who=name_ranks(wrong))

    def loss(self, epoch: int, told: Sequence[dict], losses: Sequence[Sequence[float]]) -> list[Finding]:
        """What is wrong with the loss of an epoch, as the ranks tell it."""
        if not self.stood_in:
            return loss_mistakes(told, losses, [[len(ids) for ids in own] for own in self.drawn()[epoch]])
        return self.expected("other-loss", epoch, told, self.case["losses"][epoch])

    def expected(self, key: str, epoch: int, told: Sequence[dict], due: float) -> list[Finding]:
        """A finding if the ranks do not tell a number that is known."""
        if found := returned(told):
            return found
        values = [each["value"] for each in told]
        wrong = [rank for rank, value in enumerate(values) if not close(value, due, TOLERANCE)]
        if not wrong:
            return []
        return [different(values) or finding(key, epoch=epoch, rank=wrong[0], value=values[wrong[0]])]

    def accuracy(self, epoch: int, told: Sequence[dict], models: Sequence[NumberedNet]) -> list[Finding]:
        """What is wrong with the accuracy of an epoch, as the ranks tell it."""
        values = [each["value"] for each in told]
        before = models[epoch - 1] if epoch else NumberedNet(self.case["models"][0], follows=0.0)
        by_stand_in = any(result["evaluated"] for result in self.results)

        def accuracy_of(model: NumberedNet, dataset: NumberedSet) -> float:
            return score(model, len(dataset)) if by_stand_in else sum(hits_of(model, dataset)) / len(dataset)

        due = accuracy_of(models[epoch], self.test_set)
        if all(value is not None and close(value, due, TOLERANCE) for value in values):
            return returned(told)
        for key, model, dataset in (
            ("accuracy-before-epoch", before, self.test_set),
            ("accuracy-on-train-set", models[epoch], self.train_set),
        ):
            other = accuracy_of(model, dataset)
            if all(value is not None and close(value, other, TOLERANCE) for value in values):
                return [finding(key, epoch=epoch)]
        if by_stand_in:
            return self.expected("other-accuracy", epoch, told, due)
        shares = [
            [number - TESTS for ids, _, after in own if after == self.steps * (epoch + 1) for number in ids]
            for own in self.tests
        ]
        return accuracy_mistakes(told, hits_of(models[epoch], self.test_set), shares)


def run_schema(case: dict) -> dict:
    """Of what a rank tells of a run."""
    batches = array(array(integer()))
    forward = {"type": "array", "items": [array(integer()), boolean(), integer()], "minItems": 3, "maxItems": 3}
    entry = record(keys=array(string()), **dict.fromkeys(KEYS, described_value()))
    return record(
        begin=optional(STATE),
        state=STATE,
        forwards=array(forward),
        drawn=array(batches),
        loaders=array(array(integer(), 3)),
        epochs=array(integer()),
        evaluated=boolean(),
        history=optional(array(entry)),
        elapsed=number(0),
        saves=saves_schema(),
        file=file_schema(),
    )


def run_mistakes(case: dict, results: Sequence[dict]) -> list[Finding]:
    """What is wrong with a run of `train`; case and results as `Run` has them."""
    found = history_mistakes([r["history"] for r in results], case["epochs"], [r["elapsed"] for r in results])
    if found and found[0].key in ("no-history", "wrong-keys"):
        return found
    if idle := [rank for rank, result in enumerate(results) if result["begin"] is None]:
        return [*found, finding("not-trained-at-all", who=name_ranks(idle))]
    run = Run(case, results)
    came = [state_of(NumberedNet(seed)) for seed in case["models"]]
    begun, conduct = start_mistakes(came, [result["begin"] for result in results]), run.conduct()
    unknown: list[dict] = [{} for _ in range(case["epochs"])]
    outcome, due = ([], unknown) if begun or conduct else run.outcome()
    saves = checkpoint_mistakes([result["saves"] for result in results], results[0]["file"], due, run.steps)
    return found + begun + conduct + outcome + saves
