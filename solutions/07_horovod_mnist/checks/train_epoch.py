"""The check of `train_epoch`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from torch.utils.data import DataLoader

from autograde.contract.calls import described
from autograde.contract.findings import Findings
from autograde.contract.rank_check import CallCheck, Rank
from autograde.contract.schema import array, described_value, integer
from autograde.contract.verdict import Diagnosis, Finding, hiding
from autograde.fixtures.numbered_net import BUFFERS, SIZES, GivenOrder, NumberedNet, NumberedSet, state_of
from autograde.probes.simulated_node import seeded_apart, simulated_node
from autograde.verdicts import one_process
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import Call, JudgedCalls, Run
from autograde.verdicts.means import apart, loss_parts, mean_on_all
from autograde.verdicts.means import finding as of_means
from autograde.verdicts.replicas import Rules, cut_into_batches, replay, same_state

from .averaging import AveragingSGD
from .common import FORWARD, MOMENTUM, STATE, deadlock, first_difference

finding = Findings("""
epoch-not-told 1.5
In epoch {epoch} the ranks draw the samples in the order of another epoch. What tells the sampler which epoch it is?

epoch-told-late 1.5
The sampler is told that it is epoch {epoch} only after its samples were drawn. When does a loader ask its sampler?

shown-twice 1.5
The model is shown a batch of rank {rank} more than once. One forward pass gives everything that is needed.

other-batches 3
The model is not shown the batches that the loader of rank {rank} yields, one after another.

wrong-training 3
After the epoch, {name} on rank {rank} has the entry {actual}; expected is {expected}, from one step of the optimizer
for each batch. Is there another number of steps, or does something else change the loss or the gradient?
""")

WRONG_RULES = {
    "gradient-carried-over": Rules(zeroed=False),
    "own-gradient-only": Rules("own"),
    "gradients-summed": Rules("sum"),
    "sum-not-mean": Rules(loss="sum"),
}


class TrainEpoch(CallCheck, JudgedCalls):
    """Two epochs, beside the replay in one process."""

    todo, points, needs, deadline = "train_epoch", 4, "horovod", 20.0
    consolidation = (
        "Sums and counts add up over ranks, and means do not: divide once, at the end. The loss of one rank is about "
        "its own images; the loss that you report is about all of them."
    )

    # The loss is looked at where the training is right, so it costs no more than the cheapest mistake in that.
    prices = MappingProxyType(dict.fromkeys(("no-number", "wrong-value"), 2))

    def cases(self, rng: random.Random) -> list[dict]:
        """Ranks whose last batches are of different sizes."""
        cases = [draw_epochs(rng, 4), draw_epochs(rng, 3), draw_epochs(rng, 1)]
        ### BEGIN HIDDEN CASES
        cases += [draw_epochs(rng, 2)]
        ### END HIDDEN CASES
        return cases

    def gpu_case(self, rng: random.Random) -> dict:
        """An epoch of two batches on two ranks."""
        case = draw_epochs(rng, 2)
        orders = [[own[: case["batch_size"] + 2] for own in case["orders"][0]]]
        return {**case, "epochs": case["epochs"][:1], "orders": orders}

    def calls(self, case: dict) -> list[dict]:
        """One for each epoch."""
        return [{"epoch": epoch, "order": order} for epoch, order in zip(case["epochs"], case["orders"], strict=True)]

    @staticmethod
    def given(rank: Rank, case: dict) -> Mapping:
        """Nothing by name. Model, optimizer and data serve both epochs."""
        forwards: list[list] = []
        model = NumberedNet(case["model"], record=lambda net, ids: forwards.append([ids, net.training]))
        model.to(rank.torch_device)
        optimizer = AveragingSGD(model.parameters(), rank.comm, lr=case["lr"], momentum=MOMENTUM)
        data = NumberedSet(case["samples"], case["data"])
        rank.notes |= {"case": case, "model": model, "optimizer": optimizer, "data": data, "forwards": forwards}
        return {}

    @staticmethod
    def call(train_epoch: Callable, rank: Rank, call: dict) -> dict:
        """An epoch, of a model that comes in eval mode."""
        case, model, own = rank.notes["case"], rank.notes["model"], rank.rank
        sampler = GivenOrder({call["epoch"]: call["order"][own]}, case["other"][own])
        loader = DataLoader(rank.notes["data"], batch_size=case["batch_size"], sampler=sampler)
        rank.notes["forwards"].clear()
        with seeded_apart(own), simulated_node(own % case["local_size"], case["local_size"]):
            value = train_epoch(model.eval(), loader, rank.notes["optimizer"], call["epoch"], rank.torch_device)
        about = {"loss": described(value), "told": sampler.told, "state": state_of(model)}
        return {**about, "forwards": [*rank.notes["forwards"]]}

    def shape(self, case: dict, call: dict) -> dict[str, dict]:
        """Loss, state and forward passes, and the epochs that the sampler was told."""
        return {"loss": described_value(), "told": array(integer()), "state": STATE, "forwards": array(FORWARD)}

    def unfinished(self, case: dict, run: Run) -> Iterable[Finding]:
        """What a deadlock says."""
        return deadlock(run)

    def judge(self, case: dict, call: Call) -> Iterable[Finding | Diagnosis]:
        """What the model was shown; then what became of it, and the loss."""
        found, seen = shown_mistakes(case, call)
        if seen is None or (found and call.number):  # the second epoch begins with what the first one left
            return found
        twice = any(each.key == "shown-twice" for each in found)
        names = SIZES if twice else {**SIZES, **BUFFERS}  # BatchNorm follows whatever it is shown
        training = all(mode for one in call.shown for _, mode in one["forwards"])
        states, losses = replay(seen, Rules(training=training))[call.number]
        rules = {key: replace(wrong, training=training) for key, wrong in WRONG_RULES.items()}
        made = {key: replay(seen, wrong)[call.number][0] for key, wrong in rules.items()}
        made["no-step"] = [state_of(NumberedNet(case["model"]))] * call.size
        candidates = {key: [{name: one[name] for name in SIZES} for one in own] for key, own in made.items()}
        due = [{name: one[name] for name in names} for one in states]
        known = {"items": "samples", "size": call.size, **first_difference(call.of("state"), due)}
        trained = diagnose(
            "training",
            call.of("state"),
            due,
            candidates,
            lambda key: (finding if key in finding.known else one_process.finding)(key, **known),
            "wrong-training",
            same_states,
        )
        if trained.otherwise or twice:
            return [*found, trained]
        parts = loss_parts(losses, batch_sizes(case, call.number))
        logs = [[event for event in log if event["library"] == "horovod"] for log in call.events]  # not the optimizer's
        return [*found, trained, *mean_on_all(call.of("loss"), parts, "samples", logs=logs)]


def same_states(states: Sequence[Mapping], expected: Sequence[Mapping]) -> bool:
    """Whether the ranks' states have the numbers that are expected."""
    return all(map(same_state, states, expected))


def shown_mistakes(case: dict, call: Call) -> tuple[list[Finding], dict | None]:
    """What is wrong with the batches that the models were shown; and the case in which these are the right ones, None
    if no case has them."""
    epoch, size, found, orders = call.plan["epoch"], case["batch_size"], [], []
    for rank, one in enumerate(call.shown):
        shown = [ids for ids, _ in one["forwards"]]
        once = [ids for place, ids in enumerate(shown) if ids not in shown[:place]]
        known = (call.plan["order"][rank], case["other"][rank])
        order = next((order for order in known if once == cut_into_batches(order, size)), None)
        if order is None:
            return [finding("shown-twice" if once != shown else "other-batches", rank=rank)], None
        if order == case["other"][rank]:
            found.append(finding("epoch-told-late" if epoch in one["told"] else "epoch-not-told", epoch=epoch))
        if once != shown:
            found.append(hiding(finding("shown-twice", rank=rank), *of_means.some("mean-of-means")))
        orders.append(order)
    modes = {mode for one in call.shown for _, mode in one["forwards"]}
    if False in modes:
        found.append(one_process.finding("not-train-mode"))
    seen = {**case, "orders": [*case["orders"][: call.number], orders]}
    return found, seen if len(modes) == 1 else None


def draw_epochs(rng: random.Random, size: int) -> dict:
    """A case: `size` ranks, whose last batches are of different sizes, in two epochs.

    Besides what `replicas.replay` needs it has the epochs' numbers, ``epochs``, and what each rank draws that
    does not tell the sampler the epoch, ``other``.
    """
    lengths = rng.sample([10, *(rng.choice((11, 12)) for _ in range(size - 1))], size)

    def order() -> list[list[int]]:
        ids = rng.sample(range(12 * size), 12 * size)
        return [ids[12 * rank : 12 * rank + length] for rank, length in enumerate(lengths)]

    case = {"size": size, "local_size": min(2, size), "samples": 12 * size, "batch_size": 4}
    case |= {"epochs": rng.sample(range(1, 40), 2), "orders": [order(), order()], "other": order()}
    case |= {"lr": round(rng.uniform(0.03, 0.06), 4), "model": rng.randrange(2**31), "data": rng.randrange(2**31)}
    _, losses = replay({**case, "orders": case["orders"][:1]})[0]
    keys = ["mean-of-means/batches", *(("own-part-only", "mean-of-means/ranks") if size > 1 else ())]
    told_apart = apart(loss_parts(losses, batch_sizes(case, 0)), size, keys, 1e-3)
    return case if told_apart else draw_epochs(rng, size)


def batch_sizes(case: dict, number: int) -> list[list[int]]:
    """Samples in each batch of each rank in epoch `number` of the case."""
    return [[len(ids) for ids in cut_into_batches(of_rank, case["batch_size"])] for of_rank in case["orders"][number]]


CHECK = TrainEpoch()
