"""What is wrong with a training run: how it began, what it drew, what its history says, and what it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain
from typing import NamedTuple

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding, settle
from autograde.fixtures.numbered_net import BUFFERS, SIZES, NumberedNet, NumberedSet, state_of
from autograde.probes.weighed_part import WEIGHED
from autograde.verdicts.checkpoints import content_mistakes, each_epoch, file_mistakes, who_writes
from autograde.verdicts.checkpoints import finding as of_checkpoints
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.means import (
    TOLERANCE,
    accuracy_on_all,
    accuracy_parts,
    loss_parts,
    mean_on_all,
    totals_of,
)
from autograde.verdicts.numbers import on_all
from autograde.verdicts.one_process import finding as of_gradients
from autograde.verdicts.orders import finding as of_orders
from autograde.verdicts.replicas import TOLERANCE as STEPS
from autograde.verdicts.replicas import Replicas, Rules, hits_of, same_state
from autograde.verdicts.shards import loader_mistakes
from course.world.report import name_ranks

from .averaging import cut_by_epoch, without_averages
from .common import first_difference
from .make_optimizer import finding as of_optimizers
from .stand_ins import TESTS, push, score
from .starts import start_mistakes

finding = Findings("""
not-trained-at-all 4
On {who} the model is never trained, neither by `train_epoch` nor by the function itself.

seed-not-passed 1
The loader is made with seed {actual}; the argument `seed` is {expected}.

batch-size-not-passed 1
The loader is made with batch size {actual}; the argument `batch_size` is {expected}.

uneven-steps 2
Rank {rank} trains on {actual} batches in {epochs} epochs. No whole number of them makes an epoch.

eval-while-training 2
The model is in eval mode while it is trained.

train-while-evaluating 2
The model is in train mode while it is evaluated.

epoch-numbers 1.5
`train_epoch` is called with the epochs {epochs}. Epochs count from 0.

other-loss 2
In the history, the loss of epoch {epoch} is {actual:.6g}. `train_epoch` returned {expected:.6g}.

accuracy-before-epoch 1.5
The accuracy of epoch {epoch} is that of the model before this epoch; expected is that after it.

accuracy-on-train-set 1.5
The accuracy is that on the training set; expected is that on `test_set`.

other-accuracy 1.5
In the history, the accuracy of epoch {epoch} is {actual:.6g}. On `test_set` the model has {expected:.6g}.

other-model 2
After the call, {name} on rank {rank} has the entry {actual}; this training gives {expected}. Is the learning rate the
one that was passed, and does the model go once through the loader in each epoch?
""")

# Findings after which it is not known what the batches that were drawn are to give.
OTHER_STEPS = {"uneven-steps", "eval-while-training", "train-while-evaluating"}

# Rules by which a model may have been trained instead.
WRONG_RULES = {
    "own-gradient-only": Rules("own"),
    "gradients-summed": Rules("sum"),
    "gradient-carried-over": Rules(zeroed=False),
    "momentum": Rules(momentum=0.0),
}


def run_mistakes(case: dict, results: Sequence[dict], events: Sequence[Sequence[dict]]) -> list[Finding | Diagnosis]:
    """What is wrong with a run of `train` that has a history; case, results and events as `TrainingRun` has them."""
    if idle := [rank for rank, result in enumerate(results) if result["begin"] is None]:
        return [finding("not-trained-at-all", who=name_ranks(idle))]
    run = TrainingRun(case, results, events)
    came = [state_of(NumberedNet(seed)) for seed in case["models"]]
    begun, conduct = start_mistakes(came, [result["begin"] for result in results]), run.conduct()
    outcome, states = [], [dict.fromkeys({**SIZES, **BUFFERS})] * case["epochs"]
    if not begun and not {each.key for each in settle([conduct])} & OTHER_STEPS and run.known():
        outcome, states = run.outcome()
    return [*begun, *conduct, *outcome, *run.checkpoints(states)]


class Epoch(NamedTuple):
    """What one process gives for an epoch: the ranks' states after it, its losses, and rank 0's model after it."""

    states: list[dict]
    losses: list[list[float]]
    model: NumberedNet


class TrainingRun:
    """What the ranks did in a run of `train`, and what is wrong with it.

    case: ``size``, ``local_size``, ``models`` (a seed for each rank), ``samples`` and ``data`` of the training set,
    ``tests`` and ``test_data`` of the test set, ``epochs``, ``batch_size``, ``lr``, ``seed``, and ``losses`` that the
    stand-in for `train_epoch` returns. results, events: by rank; see `course.watch.events`.
    """

    def __init__(self, case: dict, results: Sequence[dict], events: Sequence[Sequence[dict]]) -> None:
        self.case, self.results, self.size, self.epochs = case, results, case["size"], case["epochs"]
        self.train_set = NumberedSet(case["samples"], case["data"])
        self.test_set = NumberedSet(case["tests"], case["test_data"])
        self.stood_in = any(result["drawn"] for result in results)
        self.trains = [[f for f in result["forwards"] if max(f[0], default=0) < TESTS] for result in results]
        self.tests = [[f for f in result["forwards"] if max(f[0], default=0) >= TESTS] for result in results]
        self.counts = [*map(len, [result["drawn"] for result in results] if self.stood_in else self.trains)]
        self.steps = max(1, self.counts[0] // self.epochs)
        logs = [without_averages(log, self.steps * self.epochs) for log in events]
        self.logs = cut_by_epoch(events, self.steps, self.epochs) or [logs] * self.epochs

    def drawn(self) -> list[list[list[list[int]]]]:
        """The batches that were drawn, [epoch][rank][batch][sample]."""
        if self.stood_in:
            return [[result["drawn"][epoch] for result in self.results] for epoch in range(self.epochs)]
        cut = range(0, self.steps * self.epochs, self.steps)
        return [[[ids for ids, *_ in of_rank[at : at + self.steps]] for of_rank in self.trains] for at in cut]

    def known(self) -> bool:
        """Whether all that was drawn are batches of the training set's samples."""
        batches = chain.from_iterable(of_rank for epoch in self.drawn() for of_rank in epoch)
        return all(ids and 0 <= min(ids) <= max(ids) < self.case["samples"] for ids in batches)

    def conduct(self) -> list[Finding | Diagnosis]:
        """What is wrong with what was called and drawn."""
        found: list[Finding | Diagnosis] = []
        for result in self.results:
            for samples, batch_size, seed in result["loaders"]:
                if samples == self.case["samples"] and seed != self.case["seed"]:
                    found.append(finding("seed-not-passed", actual=seed, expected=self.case["seed"]))
                if samples == self.case["samples"] and batch_size != self.case["batch_size"]:
                    found.append(finding("batch-size-not-passed", actual=batch_size, expected=self.case["batch_size"]))
            if self.stood_in and result["epochs"] != list(range(self.epochs)):
                found.append(finding("epoch-numbers", epochs=", ".join(map(str, result["epochs"]))))
        for rank, count in enumerate(self.counts):
            if count != self.steps * self.epochs:
                return [*found, finding("uneven-steps", rank=rank, actual=count, epochs=self.epochs)]
        if any(not mode for of_rank in self.trains for _, mode, _ in of_rank):
            found.append(finding("eval-while-training"))
        if any(mode for of_rank in self.tests for _, mode, _ in of_rank):
            found.append(finding("train-while-evaluating"))
        drawn = self.drawn()
        found += loader_mistakes(self.case["samples"], self.case["batch_size"], drawn, self.case["local_size"])
        orders = [[list(chain.from_iterable(of_rank)) for of_rank in epoch] for epoch in drawn]
        if not found and not self.stood_in and any(orders[0] == other for other in orders[1:]):
            found.append(of_orders("same-order-every-epoch", epochs=f"0 to {self.epochs - 1}"))
        return found

    def replay(self, factor: float = 1.0, rules: Rules | None = None) -> list[Epoch]:
        """The epochs in one process. factor: by which the learning rate is wrong."""
        first = self.case["models"][0]
        lr = self.case["lr"] * self.size * factor
        replicas = Replicas([NumberedNet(first, follows=0.0) for _ in self.results], lr, rules or Rules())
        epochs = []
        for drawn in self.drawn():
            losses: list[list[float]] = []
            if self.stood_in:
                for rank, model in enumerate(replicas.models):
                    push(model, rank)
                replicas.step([[p.grad for p in m.parameters() if p.requires_grad] for m in replicas.models])
            else:
                losses = replicas.epoch(self.train_set, drawn)
            kept = NumberedNet(first, follows=0.0)
            kept.load_state_dict(replicas.models[0].state_dict())
            epochs.append(Epoch(replicas.states(), losses, kept))
        return epochs

    def outcome(self) -> tuple[list[Finding | Diagnosis], list[dict]]:
        """What is wrong with the models and the history; and rank 0's state that is expected after each epoch."""
        trained, expected = self.final_model(self.replay())
        if expected is None:
            return [trained], [dict.fromkeys({**SIZES, **BUFFERS})] * self.epochs
        found: list[Finding | Diagnosis] = [trained]
        kept = set.intersection(*({*entry["keys"]} for result in self.results for entry in result["history"]))
        for judged in [getattr(self, name) for name in ("loss", "accuracy") if name in kept]:
            for epoch in range(self.epochs):
                reported = [result["history"][epoch] for result in self.results]
                mistakes = judged(epoch, reported, expected)
                found += mistakes
                if settle([mistakes]):
                    break
        return found, [epoch.states[0] for epoch in expected]

    def final_model(self, expected: list[Epoch]) -> tuple[Diagnosis, list[Epoch] | None]:
        """What is wrong with the models in the end; and the epochs of a replay that ends with them, if one does and has
        the same model on all ranks."""
        size, local, states = self.size, self.case["local_size"], [result["state"] for result in self.results]
        factors = {"lr-not-scaled": 1 / size, "lr-scaled-by-local-size": local / size, "lr-scaled-twice": size}
        replays = {key: self.replay(factor) for key, factor in factors.items()}
        replays |= {key: self.replay(rules=rules) for key, rules in WRONG_RULES.items()}
        candidates = {key: epochs[-1].states for key, epochs in replays.items()}

        def worded(key: str) -> Finding:
            known = next(known for known in (of_optimizers, of_gradients) if key in known.known)
            times = factors.get(key, 1) * size
            return known(key, lr=self.case["lr"], size=size, local=local, times=times, momentum=0.0, expected=0.9)

        def equal(actual: list[dict], states: list[dict]) -> bool:
            return all(map(same_state, actual, states))

        due = expected[-1].states
        otherwise = finding("other-model", **first_difference(states, due))
        told = diagnose("final model", states, due, candidates, worded, otherwise, equal)
        known = [replays[each.key] for each in told.explained if each.key != "own-gradient-only"]
        return told, next(iter(known), None) if told.otherwise else expected

    def loss(self, epoch: int, reported: Sequence[dict], expected: Sequence[Epoch]) -> list[Finding | Diagnosis]:
        """What is wrong with the loss of an epoch."""
        losses = [entry["loss"] for entry in reported]
        if not self.stood_in:
            sizes = [[len(ids) for ids in of_rank] for of_rank in self.drawn()[epoch]]
            hits = accuracy_parts(hits_of(expected[epoch].model, self.test_set), self.shown(epoch))
            how = {"subject": "loss", "logs": self.logs[epoch], "beside": [totals_of(hits, self.size)]}
            how["weighed"] = self.case.get(WEIGHED, False)
            return mean_on_all(losses, loss_parts(expected[epoch].losses, sizes), "samples", **how)
        told = dict(enumerate(self.results[0]["epochs"])).get(epoch, epoch)
        return self.number("loss", losses, self.case["losses"][told % len(self.case["losses"])], {}, epoch)

    def accuracy(self, epoch: int, reported: Sequence[dict], expected: Sequence[Epoch]) -> list[Finding | Diagnosis]:
        """What is wrong with the accuracy of an epoch."""
        accuracies, model = [entry["accuracy"] for entry in reported], expected[epoch].model
        before = expected[epoch - 1].model if epoch else NumberedNet(self.case["models"][0], follows=0.0)
        by_stand_in = any(result["evaluated"] for result in self.results)
        if self.case.get(WEIGHED) and not by_stand_in:  # hits may have weighed more, too
            return []

        def accuracy_of(model: NumberedNet, dataset: NumberedSet) -> float:
            return score(model, len(dataset)) if by_stand_in else sum(hits_of(model, dataset)) / len(dataset)

        candidates = {
            "accuracy-before-epoch": accuracy_of(before, self.test_set),
            "accuracy-on-train-set": accuracy_of(model, self.train_set),
        }
        found = self.number("accuracy", accuracies, accuracy_of(model, self.test_set), candidates, epoch)
        if by_stand_in or not settle([found]) or any(isinstance(each, Diagnosis) and each.explained for each in found):
            return found
        return accuracy_on_all(accuracies, hits_of(model, self.test_set), self.shown(epoch))

    def shown(self, epoch: int) -> list[list[int]]:
        """The samples of the test set that the model was shown after an epoch, by rank."""
        after = self.steps * (epoch + 1)
        return [[number - TESTS for ids, _, at in of_rank if at == after for number in ids] for of_rank in self.tests]

    def number(
        self, name: str, reported: Sequence[dict], expected: float, candidates: dict[str, float], epoch: int
    ) -> list[Finding | Diagnosis]:
        """What is wrong with a number of an epoch's history, which is to be the same on all ranks."""
        about = partial(finding, epoch=epoch)
        found = on_all(reported, expected, candidates, about, tolerance=TOLERANCE, subject=name)
        values = [each["value"] for each in reported]
        return [
            replace(each, otherwise=about(f"other-{name}", actual=values[0], expected=expected))
            if isinstance(each, Diagnosis) and each.otherwise and each.otherwise.key == "wrong-value"
            else each
            for each in found
        ]

    def checkpoints(self, states: Sequence[dict]) -> list[Finding | Diagnosis]:
        """What is wrong with the checkpoints. states: of rank 0's model that is expected after each epoch."""
        writers, file = [rank for rank, result in enumerate(self.results) if result["saves"]], self.results[0]["file"]
        other_ranks = who_writes(writers, [rank % self.case["local_size"] for rank in range(self.size)])
        saves = self.results[min(writers, default=0)]["saves"]
        by_epoch = {save["after"] // self.steps - 1: save for save in saves if save["after"] % self.steps == 0}
        if not file["there"]:
            return [*other_ranks, of_checkpoints("nothing-written")]
        saved = [epoch if epoch in by_epoch else None for epoch in range(self.epochs)]
        last = accumulate(saved, lambda before, epoch: before if epoch is None else epoch)
        found: list[Finding | Diagnosis] = [each_epoch([None, *last], 0)]
        for epoch, save in sorted(by_epoch.items()):
            if not settle([found]) and 0 <= epoch < self.epochs:
                found += content_mistakes(save["content"], {"model": states[epoch]}, STEPS)
        found = [*other_ranks, *found]
        return found if settle([found]) else [*found, *file_mistakes(file, {"model": states[-1]}, STEPS)]
