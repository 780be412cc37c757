"""The check of `samples_seen`."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import eq
from typing import Any

from autograde.contract.findings import Findings
from autograde.contract.rank_check import Rank, RankCheck
from autograde.contract.schema import array, boolean, record, string
from autograde.contract.verdict import Diagnosis, Finding
from autograde.probes.sampler_passes import kind_of, listed
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.judged import JudgedRun
from autograde.verdicts.samplers import listed_value, not_ints

from .common import finding as form_finding

BIT = 2**53  # from here on a float64 has no odd numbers
Orders = Sequence[Sequence[Sequence[int]]]  # by epoch and rank, indices in the order in which they are drawn
Ids = Sequence[int | None]  # None stands for an entry that is no whole number

finding = Findings("""
not-per-epoch 2
The function returns one list of ids; expected is a list of lists, one for each epoch.

wrong-number-of-epochs 2
The call asks for {expected} epochs, and the function returns {n} lists.

batches-not-flattened 1
The list of an epoch holds whole batches; expected are the ids in them, one after the other.

no-set-epoch 2
In every epoch the samples come in the order that the sampler had before the call: nothing tells the sampler which
epoch it is.

set-epoch-too-late 2
The first epoch has the order that the sampler had before the call, and each later one has the order of the epoch before
it. When is the sampler told its epoch, and when does it put the samples in order?

constant-epoch 2
Every epoch has the order of epoch {epoch}.

epochs-from-1 1
The first epoch has the order of epoch 1, the second that of epoch 2. Epochs count from 0.

epoch-differs-by-rank 2
In one and the same epoch, the ranks set their samplers to different epochs, {epochs}. Then they do not share one order.

other-epochs 2
The lists have the orders of epochs {actual}; expected are epochs {expected}. (None: the order before any `set_epoch`.)

empty-epoch 2
The list of epoch {epoch} is empty. An iterator that has reached its end yields nothing more: does each epoch begin a
new pass?

epochs-run-together 1
The list of an epoch also holds the samples of the epochs before it.

indices-not-ids 2
The lists hold the positions of samples in the data set, not the ids that the loader yields.

ids-through-float 2
The ids are rounded to floats, which have no odd numbers beyond 2**53. Where do whole numbers turn into floats?

order-lost 1
The ids are the right ones, but not in the order in which the loader yields them.

other-ranks-samples 1
The list of a rank also holds samples of other ranks.

wrong-ids 2
In epoch {epoch}, the ids are not those that the loader yields.

smaller-batch-dropped 1
The last batch, which is smaller than the others, is missing.
""")


class SamplesSeen(RankCheck, JudgedRun):
    """The ids that a loader yields, epoch by epoch, with a sampler that is told each epoch."""

    todo, points = "samples_seen", 3
    consolidation = (
        "A sampler knows the epoch only if the loop tells it, before the pass begins. If it was not told, nothing "
        "fails: only the samples themselves show it."
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Loaders with a last, smaller batch, used more than once; on 4 ranks and on 3."""

        def case(size: int, own: int, batch_size: int, *epochs: int) -> dict:
            samples = own * size - rng.randint(1, size - 1)

            def order() -> list[list[int]]:
                dealt = rng.sample(range(samples), samples)
                dealt += dealt[: own * size - samples]
                return [dealt[own * rank : own * (rank + 1)] for rank in range(size)]

            before, *orders = (order() for _ in range(max(epochs) + 3))
            if any(len({*map(frozenset, of_rank)}) < len(of_rank) for of_rank in zip(before, *orders, strict=True)):
                return case(size, own, batch_size, *epochs)  # in any order, a rank's ids are to tell the epoch
            ids = rng.sample(range(BIT + 1, 2**62, 2), samples)
            plan = {"orders": orders, "before": before, "epochs": epochs}
            return {"size": size, "ids": ids, "batch_size": batch_size, **plan}

        cases = [case(4, rng.choice([5, 7]), 2, 3, 2), case(3, rng.choice([5, 8]), 3, 4, 1)]
        ### BEGIN HIDDEN CASES
        cases += [case(2, rng.choice([7, 11]), 4, 5, 3), case(4, 3, 2, 3)]
        ### END HIDDEN CASES
        return cases

    @staticmethod
    def run(rank: Rank, subject: Any, case: dict) -> list[dict]:
        """The student's function on one loader, again and again."""
        from torch.utils.data import DataLoader, Sampler

        class GivenOrders(Sampler):
            """Yields the order that the case has for the epoch, and one of its own for all others."""

            epoch = None

            def set_epoch(self, epoch: int) -> None:
                self.epoch = epoch

            def __iter__(self) -> Any:
                orders = case["orders"]
                known = any(self.epoch == epoch for epoch in range(len(orders)))
                return iter(orders[int(self.epoch)][rank.rank] if known else case["before"][rank.rank])

            def __len__(self) -> int:
                return len(case["before"][rank.rank])

        samples_seen, seen = subject.load(), []
        loader = DataLoader(case["ids"], batch_size=case["batch_size"], sampler=GivenOrders())
        most = len(case["orders"]) * len(case["ids"]) + 10
        for epochs in case["epochs"]:
            returned = samples_seen(loader, epochs)
            outer = listed(returned, most=epochs + 10)
            lists = [*returned.values()] if isinstance(returned, dict) else returned
            lists = lists[: epochs + 10] if isinstance(lists, (list, tuple)) else []
            seen.append({"type": outer["type"], "lists": [listed_epoch(each, most) for each in lists]})
        return seen

    def shape(self, case: dict) -> dict:
        """For each call, a list of ids for each epoch that came back."""
        epoch = record(**listed_value()["properties"], batches=boolean())
        call = record(type=string(), lists=array(epoch, most=max(case["epochs"]) + 10))
        return array(call, len(case["epochs"]))

    def judge(self, case: dict, results: list[list[dict]]) -> Iterable[Finding | Diagnosis]:
        """The form of what came back, then the order of each epoch."""
        for place, (epochs, *calls) in enumerate(zip(case["epochs"], *results, strict=True)):
            before = case["epochs"][place - 1] - 1 if place else None
            lists = [[each["ids"] for each in call["lists"]] for call in calls]
            found = [*form_mistakes(calls), *(unreadable(epochs, calls) or epoch_mistakes(case, before, lists))]
            if found:
                return found  # the next call begins with another sampler than it would after a right answer
        return []


def listed_epoch(values: Any, most: int) -> dict:
    """On a rank: the list of an epoch as `listed` gives it, whole batches in it taken apart; and whether there were
    such."""
    entries = values[:most] if isinstance(values, (list, tuple)) else []
    batches = [isinstance(each, (list, tuple)) or getattr(each, "ndim", 0) > 0 for each in entries]
    flat = chain.from_iterable(each if whole else [each] for each, whole in zip(entries, batches, strict=True))
    return {**listed(flat if any(batches) else values, most), "type": kind_of(values), "batches": any(batches)}


def form_mistakes(calls: list[dict]) -> list[Finding]:
    """What is wrong with the form of the values that the ranks returned, which can be read all the same."""
    lists, found = [each for call in calls for each in call["lists"]], []
    if others := [call["type"] for call in calls if call["type"] != "list"]:
        found.append(form_finding("not-a-list", type=others[0]))
    if any(each["batches"] for each in lists):
        return [*found, finding("batches-not-flattened")]
    return [*found, *not_ints(lists)]


def unreadable(epochs: int, calls: list[dict]) -> list[Finding]:
    """What keeps the values that the ranks returned from being compared, epoch by epoch."""
    for call in calls:
        if call["lists"] and all(each["type"] in ("int", "Tensor of torch.int64") for each in call["lists"]):
            return [finding("not-per-epoch")]
        if len(call["lists"]) != epochs:
            return [finding("wrong-number-of-epochs", n=len(call["lists"]), expected=epochs)]
        if any(None in each["ids"] for each in call["lists"]):
            return [finding("wrong-ids", epoch=0)]
    return []


def epoch_mistakes(case: dict, before: int | None, lists: Sequence[Sequence[Ids]]) -> list[Finding | Diagnosis]:
    """What is wrong with the ids that the ranks saw, [rank][epoch], where epochs 0, 1, 2, ... are expected.

    case: `ids` of the samples by index; `orders` that a sampler yields once it is set to an epoch; `before`, that which
    it yields before, by rank. before: the epoch that it was set to when the first of these began, None for none.
    """
    ids, orders = case["ids"], {None: case["before"], **dict(enumerate(case["orders"]))}
    expected = [*range(len(lists[0]))]

    def order_of(epoch: int | None, rank: int) -> list[int]:
        return [ids[i] for i in orders[epoch][rank]]

    def seen_by_all(epochs: Sequence[int | None]) -> list[list[list[int]]]:
        return [[order_of(epoch, rank) for epoch in epochs] for rank in range(len(lists))]

    rows: list[list[int | None]] = []
    strange: list[Finding | Diagnosis] = []
    for rank, own in enumerate(lists):
        known = {epoch: order_of(epoch, rank) for epoch in orders}
        rows.append([])
        for place, each in enumerate(own):
            name = "" if each in known.values() else strange_list(ids, [*orders.values()], rank, each)
            strange += [finding(name, epoch=place)] if name else []
            likely = {place: known[place], **known}  # where few ids fit several epochs, the one that is due
            read = [epoch for epoch, order in likely.items() if fits(name, each, order)]
            if not read:
                return strange[:1]
            rows[-1].append(read[0])
    candidates = {"no-set-epoch": [before] * len(expected), "epochs-from-1": [epoch + 1 for epoch in expected]}
    if len(expected) > 1:
        candidates["set-epoch-too-late"] = [before, *expected[:-1]]
        candidates |= {f"constant-epoch/{epoch}": [epoch] * len(expected) for epoch in orders}
    about = {"epoch": rows[0][0], "actual": ", ".join(map(str, rows[0])), "expected": ", ".join(map(str, expected))}
    if other := next((row for row in rows if row != rows[0]), None):
        at = next(place for place in expected if other[place] != rows[0][place])
        about["epochs"] = f"{rows[0][at]} and {other[at]}"

    def known_mistake(key: str) -> Finding:
        return finding(key, **about)

    would_give = {key: seen_by_all(epochs) for key, epochs in candidates.items()}
    generic = "epoch-differs-by-rank" if other else "other-epochs"
    meant = [[order_of(epoch, rank) for epoch in row] for rank, row in enumerate(rows)]
    found = diagnose("epochs", meant, seen_by_all(expected), would_give, known_mistake, generic, eq)
    return [*strange[:1], *([found] if found.otherwise else [])]


def fits(name: str, got: Ids, order: Sequence[int]) -> bool:
    """Whether a list comes of this order by the mistake `name`; none: by no mistake."""
    if name == "epochs-run-together":
        return [*got[-len(order) :]] == order
    if name == "smaller-batch-dropped":
        return got == order[: len(got)]
    if name == "order-lost":
        return sorted(got) == sorted(order)
    if name == "other-ranks-samples":
        return {*order} < {*got}
    return not name and got == order


def strange_list(ids: Sequence[int], orders: Orders, rank: int, got: Ids) -> str:
    """The name of the mistake in a list of ids that no epoch of this rank can give."""
    own = [[ids[i] for i in order[rank]] for order in orders]
    everyone = [{ids[i] for i in chain.from_iterable(order)} for order in orders]
    length = len(own[0])
    if not got:
        return "empty-epoch"
    if all(i < len(ids) for i in got):
        return "indices-not-ids"
    if len(got) < length and got in [order[: len(got)] for order in own]:
        return "smaller-batch-dropped"
    if any(None not in got and [*map(float, got)] == [*map(float, order)] for order in own):
        return "ids-through-float"
    if sorted(got) in [sorted(order) for order in own]:
        return "order-lost"
    if len(got) > length and all([*got[start : start + length]] in own for start in range(0, len(got), length)):
        return "epochs-run-together"
    if any({*mine} < {*got} <= all_ for mine, all_ in zip(own, everyone, strict=True)):
        return "other-ranks-samples"
    return "wrong-ids"


CHECK = SamplesSeen()
