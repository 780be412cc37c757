"""What each TODO of lab 06 must show: which rank draws which sample in which epoch, and that each counts once."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from autograde.another_process import AnotherProcess
from autograde.check import Check, Finding, raised, trouble
from autograde.collectives import finding as communication
from autograde.collectives import left_running, wrong_group
from autograde.findings import Findings, telling
from autograde.probes import calls_apart, described, meet, nothing_starts_or_ends
from autograde.results import agree, compared
from autograde.schema import (
    array,
    boolean,
    described_value,
    integer,
    number,
    one_of,
    optional,
    outcome,
    record,
    string,
)
from autograde.subject import describe
from course.counted_once import TELLING, counted_wrongly, draw_call, own_parts
from course.counted_once import due as accuracy_due
from course.epochs_seen import epoch_mistakes
from course.report import name_ranks
from course.sampler_orders import SamplerOrders
from course.sampler_passes import generators_after, passes_of
from course.sharding import listed, mistakes
from course.world import COMM, RANK

RANKS = 4
PATIENCE = 20.0  # seconds that the other process may take; it takes two, on a machine that has nothing else to do

finding = Findings("""
not-a-list 1
What is returned is of type {type}. The lab asks for a list.

not-ints 1
Among the samples are values of type {kinds}. The lab asks for `int`s, as other code may look them up in a dictionary
or write them to a file.

not-indices 3
There are {samples} samples, on {size} ranks, and one that is drawn is {bad}. The first has number 0, and the last
{last}.

everything-on-every-rank 3
Each of {size} ranks draws all {samples} samples. That takes as long as one rank alone. Which are a rank's own?

contiguous-shards 2
{samples} samples on {size} ranks: rank 0 takes neighbours, one after the other. The lab asks for strides: dealt out in
turn, like cards.

tail-dropped 2
{samples} samples on {size} ranks: the last {missing} are drawn by nobody. Samples that are left over when the ranks
have equally many must not be lost.

no-padding 2
{samples} samples on {size} ranks: one rank draws {most}, another {least}. One rank would make a step more than
another, and wait for the others for ever. All are to draw equally many.

padding-not-repeated 1
With fewer samples than ranks, here {samples} on {size} ranks, one rank draws {most} and another {least}. Filling up
once is not enough there.

wrong-number 2
{samples} samples on {size} ranks: one rank draws {most}, another {least}, and {missing} samples are drawn by nobody.
All ranks are to draw equally many, no more than it takes.

wrong-padding 1.5
{samples} samples on {size} ranks: each is drawn, but what fills up the shards is not what is due: {again}. Where does
filling up begin, and who is next?

overlapping-shards 2
{samples} samples on {size} ranks: {twice} are drawn more than once, and {missing} by nobody, although each rank draws
as many as it should.

wrong-order 1.5
{samples} samples on {size} ranks: each is drawn, but not in the order in which they are to be dealt out. Who gets the
second one?

few-samples 1
With fewer samples than ranks, the function {does}.

length-of-the-whole-set 1
`len` of a rank's sampler is {length}, and it yields {n} samples. That is the length of the whole set, and a
`DataLoader` counts its batches with it.

wrong-length 1
`len` of a rank's sampler is {length}, but it yields {n} samples.

not-a-sampler 0.5
`ShuffledSampler` is not derived from torch.utils.data.Sampler.

another-pass-differs 3
A second pass over a sampler, without `set_epoch` in between, comes in another order. The order must follow from seed
and epoch alone.

first-epoch-not-0 1
Before any `set_epoch`, the order is another than after `set_epoch(0)`. Until it is set, the epoch is 0.

default-seed 1
A sampler that is made without `seed` has another order than one with `seed=0`.

depends-on-history 2
Set to epoch {epoch} a second time, or set to it at once in a new sampler, the order is another than before. A run that
is resumed from a checkpoint would get other batches.

not-shuffled 3
The samples come in their own order, whatever epoch and seed are.

same-order-each-epoch 2
Epochs {epochs} come in one and the same order, with seed {seed}. What does `set_epoch` change?

seed-ignored 1.5
With seeds {seeds}, epoch {epoch} comes in one and the same order.

not-a-permutation 3
A single rank that has all {samples} samples to itself draws {missing} of them never, and others more than once.

orders-differ-by-rank 3
{samples} samples on {size} ranks: the ranks do not share out one and the same order, so some samples are drawn by
several ranks, others by none. What is it that differs between ranks, and goes into the order?

same-samples-each-epoch 2
In each epoch a rank draws the same samples as before, only in another order: no sample ever comes to another rank.
What is shuffled, and when?

depends-on-size 1
The order is another with {size} ranks than with one. It is to follow from seed and epoch alone, so that a run can go
on with fewer ranks.

disturbs-generators 1.5
After the sampler was used, the global random generator of {which} is not where it was. Dropout and augmentation draw
from it, and so would draw the same on all ranks.

another-process-differs 2
Another process, started later on its own, draws another order with the same seed and epoch. A run that is resumed
there would not get the batches that are due. What in your code differs from process to process?

another-process-fails 2
The same cell, run in another process, fails there: {error}

not-per-epoch 2
What is returned has no list for each epoch.

wrong-number-of-epochs 2
{due} epochs were asked for, and {n} come back.

batches-not-flattened 1
An epoch's list holds whole batches. It is to hold the ids, one after the other.

no-set-epoch 2
In every epoch the samples come in the order that the sampler had before the call. It never hears of an epoch.

set-epoch-too-late 2
The first epoch has the order that the sampler had before the call, and each later one that of the epoch before. When
does the sampler hear of an epoch, and when does it put its samples in order?

constant-epoch 2
Every epoch has the order of epoch {epoch}.

epochs-from-1 1
The first epoch has the order of epoch 1, the second that of epoch 2. They are counted from 0.

epoch-differs-by-rank 2
In the same epoch, the ranks' samplers are set to different ones: {epochs}. Then they do not share out one and the same
order.

wrong-epochs 2
The epochs have the orders of epochs {got}, where {due} are due (None: that which the sampler had before).

empty-epoch 2
There are no samples in epoch {epoch}. What was gone through once may have nothing left.

epochs-run-together 1
The list of an epoch also holds samples of the epochs before it.

indices-not-ids 2
The list holds the positions of samples in the data set, not the ids that the loader yields.

last-batch-dropped 1
The last batch is missing, which is smaller than the others.

order-lost 1
The ids are those that the loader yields, but not in its order.

other-ranks-samples 1
The list of a rank also holds samples of other ranks.

wrong-ids 2
In epoch {epoch}, the ids are not those that the loader yields.

padding-counted 3
{n} samples, on ranks that hold {held}: what comes out is {value}, as if samples that two ranks hold counted twice.
{due} is due.

mean-of-means 2
Ranks with {held} samples: what comes out is {value}, the mean of the ranks' own accuracies. A rank with few samples
weighs as much in it as one with many. {due} is due.

cut-by-position 2
{n} samples, on ranks that hold {held}: what comes out is {value}. It is what the first {n} of all entries give, as the
ranks hold them. Which entries are copies is not to be seen from where they stand.

own-part-only 3
Each rank returns what follows from its own samples, so the ranks disagree: {values}. {due} is due on all of them.

on-rank-0-only 2
Rank 0 returns what is due, rank {rank} does not: {what}. Every rank has to know the result.

empty-rank 1.5
Where a rank has no samples, {who} {does}. What does such a rank bring to the others?

unequal-sizes 2
The ranks bring tensors of different sizes to {op}: {sizes} bytes. What becomes of that depends on the backend; it need
not be an error. How does a rank know how much the others have?

collective-skipped 3
A deadlock: {who} never made the call that the others wait in. A collective needs every rank of its group.

uneven-collectives 3
A deadlock: in one call of your function the ranks make {numbers} calls, in their order, so the last ones find no
partner. Ranks may hold different numbers of samples.

argument-changed 1
After the call, `{which}` is not what it was before.

ranks-differ 1
The ranks' results differ in their last digits. All are to return the very same number, bit for bit.
""")


def listed_value() -> dict:
    """A list of ids as `course.sharding.listed` gives it."""
    return record(type=string(), ids=array(optional(integer())), kinds=array(string()))


def told(seen: list[tuple[str, dict]]) -> list[Finding]:
    """Findings for what `course.sharding` saw."""
    found = []
    for name, about in seen:
        if name == "wrong-padding":
            drawn = about.pop("drawn")
            about["again"] = ", ".join(map(str, drawn[:6]))
        found.append(finding(name, **about))
    return found


def types_in(entries: Sequence[dict]) -> list[Finding]:
    """A finding if lists, as `listed` gives them, hold what is no int."""
    kinds = sorted({kind for entry in entries for kind in entry["kinds"]})
    return [finding("not-ints", kinds=" and ".join(kinds[:3]))] if kinds else []


# 1. shard


def all_shards(subject: Any, case: dict) -> list[dict]:
    """Runs on one rank: the student's `shard` for every rank of every split in the case."""
    shard, seen = subject.load(), []
    for samples, size in case["splits"]:
        for rank in range(size):
            entry: dict = {"shard": None, "error": None}
            try:
                entry["shard"] = listed(shard(samples, rank, size), most=3 * samples + 10)
            except NotImplementedError:
                raise
            except Exception as error:
                entry["error"] = describe(error, subject.filename)
            seen.append(entry)
    return seen


class Shard(Check):
    """Each sample dealt out in turn, and as many for each rank."""

    todo = "shard"
    points = 3

    def cases(self, rng: random.Random) -> list[dict]:
        """Two and three padded samples; sizes that divide evenly; fewer samples than ranks; one sample; one rank."""
        splits = [[4 * rng.randint(3, 6) + 2, 4], [4 * rng.randint(3, 6) + 1, 4], [3 * rng.randint(3, 7) + 1, 3]]
        splits += [[4 * rng.randint(2, 6), 4], [rng.randint(5, 9), 1], [2 * rng.randint(3, 8) + 1, 2], [3, 4], [1, 4]]
        ### BEGIN HIDDEN CASES
        splits += [[2, 7], [3, 8], [1, 1], [7 * rng.randint(3, 6) + 3, 7], [5 * rng.randint(20, 40) + 2, 5], [6, 6]]
        ### END HIDDEN CASES
        return [{"splits": splits}]

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """All shards of all splits, on one rank: the function needs no other."""
        return world.attempt(all_shards, subject, case, size=1, deadline=15).plain()

    def schema(self, case: dict) -> dict:
        """A list of ids for each shard of each split, or an error."""
        entry = record(shard=optional(listed_value()), error=optional(string()))
        return outcome(1, array(one_of(entry, "shard", "error"), sum(size for _, size in case["splits"])))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """First what is returned at all, then each split by itself."""
        if found := trouble(evidence, self.points):
            return found
        seen = iter(evidence["ranks"][0]["result"])
        splits = [(samples, [next(seen) for _ in range(size)]) for samples, size in case["splits"]]
        errors = [(samples < len(own), entry["error"]) for samples, own in splits for entry in own if entry["error"]]
        if many := [error for few, error in errors if not few]:
            return [raised(many[0], self.points)]
        if errors:
            return [finding("few-samples", does=f"raises {errors[0][1]}")]
        shards = [entry["shard"] for _, own in splits for entry in own]
        found = types_in(shards)
        if strange := [shard["type"] for shard in shards if shard["type"] != "list"]:
            found.append(finding("not-a-list", type=strange[0]))
            if not any(shard["ids"] for shard in shards):
                return found
        judged = []
        for samples, own in splits:
            ids = [entry["shard"]["ids"] for entry in own]
            judged.append((samples // len(own), told(mistakes(samples, ids))))
        return found + telling(judged)


# 2. ShuffledSampler


def in_another_process(subject: Any, case: dict) -> list[list[list[int | None]]]:
    """Runs in a process of its own: the ids of each rank's passes."""
    sampler_class = subject.load()
    ranks = [passes_of(sampler_class, case, rank, case["luck"][-1] + rank) for rank in range(case["size"])]
    return [[entry["ids"] for entry in rank["passes"]] for rank in ranks]


def sampler_passes(subject: Any, case: dict, rank: int) -> dict:
    """Runs on each rank: its samplers; on rank 0 of the first case also those of all ranks in another process."""
    sampler_class, own = subject.load(), None
    if rank > 0 or not case["salt"]:
        return passes_of(sampler_class, case, rank, case["luck"][rank]) | {"other": None}
    with AnotherProcess(in_another_process, subject, case, salt=case["salt"]) as process:
        own = passes_of(sampler_class, case, rank, case["luck"][rank])
        return own | {"other": process.answer(PATIENCE)}


class ShuffledSampler(Check):
    """One order for all ranks, which follows from seed and epoch and from nothing else."""

    todo = "ShuffledSampler"
    points = 4

    def cases(self, rng: random.Random) -> list[dict]:
        """Two and three padded samples, evenly many, fewer than ranks; on 4 ranks and on 3."""

        def case(size: int, sizes: list[int], salt: int) -> dict:
            seed, other = rng.sample(range(1, 10**6), 2)
            one, two = rng.sample(range(1, 50), 2)
            samplers: list[list] = []
            passes: list[list] = []

            def add(samples: int, alone: bool, seed: int | None, *epochs: int | None) -> None:
                passes.extend([len(samplers), epoch] for epoch in epochs)
                samplers.append([samples, alone, seed])

            for samples in sizes:
                add(samples, False, seed, None, None, 0, one, two, None, one)
                add(samples, False, seed, two)
                add(samples, False, other, None, one)
                add(samples, False, None, None, one, two)
                add(samples, False, 0, None)
                for each, *epochs in ((seed, None, one, two), (other, None, one), (0, None, one, two)):
                    add(samples, True, each, *epochs)  # each of them is there in shares, too
            luck = rng.sample(range(10**6), size + 1)
            return {"size": size, "samplers": samplers, "passes": passes, "luck": luck, "salt": salt}

        cases = [case(4, [4 * rng.randint(3, 6) + 2, 4 * rng.randint(3, 6) + 1, 1], rng.randrange(1, 2**31))]
        cases += [case(3, [3 * rng.randint(4, 7) + 1, 3 * rng.randint(3, 7), 2], 0)]
        ### BEGIN HIDDEN CASES
        cases += [case(4, [4 * rng.randint(3, 6), 3, 2, 4 * rng.randint(50, 90) + 3], 0), case(2, [11, 1], 0)]
        ### END HIDDEN CASES
        return cases

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The samplers of each rank, on the case's number of ranks."""
        return world.attempt(sampler_passes, subject, case, RANK, size=case["size"], deadline=PATIENCE + 5).plain()

    def schema(self, case: dict) -> dict:
        """On each rank a list of ids for each pass; on one perhaps those of all ranks in another process."""
        passes = len(case["passes"])
        one_pass = listed_value()
        one_pass = record(**one_pass["properties"], length=integer(0))
        ids = array(array(array(optional(integer())), passes), case["size"])
        other = one_of(record(result=optional(ids), error=optional(string())), "result", "error")
        kinds = {"passes": array(one_pass, passes), "drawn": array(number(), 3), "derived": boolean()}
        form = outcome(case["size"], record(**kinds, other=optional(other)))
        return form

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """What it yields; then whether that repeats, changes and is shared out as it should; then side effects."""
        if found := trouble(evidence, self.points):
            return found
        results = [rank["result"] for rank in evidence["ranks"]]
        flat = [entry for result in results for entry in result["passes"]]
        found = types_in(flat)
        if not all(result["derived"] for result in results):
            found.append(finding("not-a-sampler"))
        found += self.lengths(case, results)
        yielded = [[entry["ids"] for entry in result["passes"]] for result in results]
        orders = SamplerOrders(case["size"], case["samplers"], case["passes"], yielded)
        if changes := orders.changes():
            found += told(changes)
        else:
            sharing = telling([(own, told(seen)) for own, seen in orders.shares()])
            found += told(orders.repeats()) + sharing
            if case["salt"] and "orders-differ-by-rank" not in [each.key for each in sharing]:
                found += self.elsewhere(results[0]["other"], yielded)
        for rank, result in enumerate(results):
            due = generators_after(case["luck"][rank])
            moved = [name for name, drawn in zip(due, result["drawn"], strict=True) if not agree(drawn, due[name])]
            if moved:
                found.append(finding("disturbs-generators", which=" and ".join(moved)))
                break
        return found

    def lengths(self, case: dict, results: list[dict]) -> list[Finding]:
        """A finding if `len` is not how many samples came."""
        for result in results:
            for (which, _), entry in zip(case["passes"], result["passes"], strict=True):
                samples, n = case["samplers"][which][0], len(entry["ids"])
                if entry["length"] != n:
                    name = "length-of-the-whole-set" if entry["length"] == samples else "wrong-length"
                    return [finding(name, length=entry["length"], n=n)]
        return []

    def elsewhere(self, other: dict | None, here: list) -> list[Finding]:
        """What is wrong with what another process draws. here: what the ranks drew, by rank and pass."""
        if other is None or other["error"] is not None:
            return [finding("another-process-fails", error=other["error"] if other else "it gave no answer")]
        return [] if other["result"] == here else [finding("another-process-differs")]


# 3. samples_seen


def loader_calls(subject: Any, case: dict, rank: int) -> list[dict]:
    """Runs on each rank: the student's function on one loader, again and again."""
    from torch.utils.data import DataLoader, Sampler

    class GivenOrders(Sampler):
        """Yields the order that the case has for the epoch, and one of its own for all others."""

        epoch = None

        def set_epoch(self, epoch: int) -> None:
            self.epoch = epoch

        def __iter__(self) -> Any:
            orders = case["orders"]
            known = any(self.epoch == epoch for epoch in range(len(orders)))
            return iter(orders[int(self.epoch)][rank] if known else case["before"][rank])

        def __len__(self) -> int:
            return len(case["before"][rank])

    samples_seen, seen = subject.load(), []
    loader = DataLoader(case["ids"], batch_size=case["batch_size"], sampler=GivenOrders())
    most = len(case["orders"]) * len(case["ids"]) + 10
    for epochs in case["epochs"]:
        returned = samples_seen(loader, epochs)
        outer = listed(returned, most=epochs + 10)
        lists = returned if isinstance(returned, (list, tuple)) else []
        seen.append({"type": outer["type"], "lists": [listed(each, most) for each in lists[: epochs + 10]]})
    return seen


class SamplesSeen(Check):
    """The ids that a loader yields, epoch by epoch, with a sampler that is told each epoch."""

    todo = "samples_seen"
    points = 3

    def cases(self, rng: random.Random) -> list[dict]:
        """Loaders with a last, smaller batch, used more than once; on 4 ranks and on 3."""

        def case(size: int, own: int, batch_size: int, *epochs: int) -> dict:
            samples = own * size - rng.randint(1, size - 1)

            def order() -> list[list[int]]:
                dealt = rng.sample(range(samples), samples)
                dealt += dealt[: own * size - samples]
                return [dealt[own * rank : own * (rank + 1)] for rank in range(size)]

            orders = [order() for _ in range(max(epochs) + 2)]
            ids = rng.sample(range(10**6, 10**12), samples)
            plan = {"orders": orders, "before": order(), "epochs": epochs}
            return {"size": size, "ids": ids, "batch_size": batch_size, **plan}

        cases = [case(4, rng.choice([5, 7]), 2, 3, 2), case(3, rng.choice([5, 8]), 3, 4, 1)]
        ### BEGIN HIDDEN CASES
        cases += [case(2, rng.choice([7, 11]), 4, 5, 3), case(4, 3, 2, 3)]
        ### END HIDDEN CASES
        return cases

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The student's function on each rank's own loader."""
        return world.attempt(loader_calls, subject, case, RANK, size=case["size"], deadline=15).plain()

    def schema(self, case: dict) -> dict:
        """On each rank, for each call, a list of ids for each epoch that came back."""
        call = record(type=string(), lists=array(listed_value(), most=max(case["epochs"]) + 10))
        return outcome(case["size"], array(call, len(case["epochs"])))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """The form of what came back, then the order of each epoch."""
        if found := trouble(evidence, self.points):
            return found
        results = [rank["result"] for rank in evidence["ranks"]]
        for place, epochs in enumerate(case["epochs"]):
            calls = [result[place] for result in results]
            before = case["epochs"][place - 1] - 1 if place else None
            lists = [[each["ids"] for each in call["lists"]] for call in calls]
            if found := self.form(epochs, calls) or told(
                epoch_mistakes(case["ids"], case["orders"], case["before"], before, lists)
            ):
                return found  # the next call begins with another sampler than it would after a right answer
        return []

    def form(self, epochs: int, calls: list[dict]) -> list[Finding]:
        """What keeps the returned value from being read."""
        for call in calls:
            if call["type"] != "list":
                return [finding("not-a-list", type=call["type"])]
            if call["lists"] and all(each["type"] in ("int", "Tensor of torch.int64") for each in call["lists"]):
                return [finding("not-per-epoch")]
            if len(call["lists"]) != epochs:
                return [finding("wrong-number-of-epochs", n=len(call["lists"]), due=epochs)]
            if any(None in each["ids"] for each in call["lists"]):
                return [finding("batches-not-flattened")]
        return types_in([each for call in calls for each in call["lists"]])


# 4. distributed_accuracy


def accuracy_calls(subject: Any, case: dict, comm: Any) -> dict:
    """Runs on each rank: the student's function on what this rank holds in each call."""
    import torch
    import torch.distributed as dist

    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    calls, tried = [], []
    with nothing_starts_or_ends(tried):
        function = subject.load()
        for place, call in enumerate(case["calls"]):
            if place:
                meet(comm)
            indices = torch.tensor(call["indices"][comm.rank], dtype=torch.int64, device=device)
            correct = torch.tensor(call["correct"][comm.rank], dtype=torch.bool, device=device)
            value = function(correct, indices, call["dataset_size"])
            after = {"indices": indices.tolist(), "correct": correct.long().tolist()}
            calls.append({"result": described(value), **after})
    return {"calls": calls, "tried": tried}


class DistributedAccuracy(Check):
    """Each sample counted once by its index, and the same number on every rank."""

    todo = "distributed_accuracy"
    points = 4

    def cases(self, rng: random.Random) -> list[dict]:
        """Shards with copies; shards of unequal sizes, some of them empty; one sample; other ranks, in other orders."""

        def case(ranks: list[int], *calls: tuple[int, list[int]]) -> dict:
            drawn = []
            for samples, held in calls:
                held = rng.sample(held, len(held))
                drawn.append(draw_call(rng, samples, held))
            return {"ranks": ranks, "calls": drawn}

        n, m = rng.randint(3, 8), rng.randint(3, 6)
        cases = [case([0, 1, 2, 3], (4 * n - 2, [n] * 4), (4 * m + 1, [m + 1] * 4))]
        cases += [case(rng.choice([[2, 0, 3], [3, 1, 0], [1, 3, 2]]), (m + 11, [m, 3, 8]), (n + 9, [0, n, 9]))]
        cases += [case([0, 1, 2, 3], (n + 10, [0, n + 3, 9, 2]), (1, [1] * 4), (2, [1, 1, 0, 0]))]
        ### BEGIN HIDDEN CASES
        cases += [case([3, 1], (2 * n + 3, [n + 3] * 2), (n + 9, [n + 9, 0])), case([2], (11, [11]), (11, [13]))]
        ### END HIDDEN CASES
        return cases

    def probe(self, world: Any, subject: Any, case: dict) -> dict:
        """The student's function on the case's ranks, in their order."""
        where = {"ranks": case["ranks"], "init": "torch", "deadline": 15}
        return world.attempt(accuracy_calls, subject, case, COMM, **where).plain()

    def schema(self, case: dict) -> dict:
        """On each rank a record of each call."""
        call = record(result=described_value(), indices=array(integer()), correct=array(integer(0, 1)))
        return outcome(len(case["ranks"]), record(calls=array(call, len(case["calls"])), tried=array(string())))

    def verdict(self, case: dict, evidence: dict) -> list[Finding]:
        """How the run ended; then each call by itself."""
        size, report = len(case["ranks"]), evidence["report"]
        logs = [calls_apart(rank["events"]) for rank in evidence["ranks"]]
        if found := wrong_group(size, [[event for call in log for event in call] for log in logs], report):
            return found
        if evidence["state"] != "ok":
            return self.ended(case, evidence, logs)
        results, judged = [rank["result"] for rank in evidence["ranks"]], []
        for place, call in enumerate(case["calls"]):
            made = [log[place] if place < len(log) else [] for log in logs]
            seen = self.call(call, [result["calls"][place] for result in results], made)
            judged.append((call["dataset_size"] // TELLING, seen))
        return telling(judged) + left_running([result["tried"] for result in results])

    def ended(self, case: dict, evidence: dict, logs: list[list[list[dict]]]) -> list[Finding]:
        """What is wrong with a run that did not come to its end on every rank."""
        report = evidence["report"]
        number = min(map(len, logs)) - 1  # of the call in which the last rank stands
        made = [log[number] for log in logs]
        held = [len(row) for row in case["calls"][min(number, len(case["calls"]) - 1)]["indices"]]
        if evidence["state"] in ("raised", "hang", "rank-died") and (found := unequal_sizes(made, report)):
            return [found]
        for rank in evidence["ranks"]:
            if rank["error"] and rank["error"]["type"] != "NotImplementedError" and held[rank["rank"]] == 0:
                does = f"raises {rank['error']['type']}: {rank['error']['message'][:200]}"
                return [finding("empty-rank", report, who=f"rank {rank['rank']}", does=does)]
        numbers = [len(log) for log in made]
        if evidence["state"] == "hang" and min(numbers) < max(numbers):
            if min(numbers) > 0:
                return [finding("uneven-collectives", report, numbers=", ".join(map(str, numbers)))]
            skipped = [rank for rank, count in enumerate(numbers) if not count]
            return [finding("collective-skipped", report, who=name_ranks(skipped))]
        return trouble(evidence, self.points)

    def call(self, call: dict, returned: list[dict], made: list[list[dict]]) -> list[Finding]:
        """What is wrong with one call that every rank came back from."""
        events, found = [event for log in made for event in log], []
        ops = " and ".join(sorted({f"{event['library']}'s {event['op']}" for event in events}))
        if {event["library"] for event in events} - {"torch"}:
            found.append(communication("other-library", due="torch.distributed", ops=ops))
        if left := [event for event in events if event["end"] is None]:
            return [*found, communication("not-waited-for", line=left[0]["line"], ops=left[0]["op"])]
        for which in ("correct", "indices"):
            if [each[which] for each in returned] != call[which]:
                found.append(finding("argument-changed", which=which))
        return found + self.values(call, [each["result"] for each in returned], made)

    def values(self, call: dict, results: list[dict], made: list[list[dict]]) -> list[Finding]:
        """What is wrong with the numbers that come out."""
        due, size = accuracy_due(call), len(results)
        values, held = [result["value"] for result in results], [len(row) for row in call["indices"]]
        right = [agree(value, due) for value in values]
        if all(right):
            wrong = next(filter(None, (compared(each, due, rank, size) for rank, each in enumerate(results))), [])
            return wrong or ([finding("ranks-differ")] if len({*values}) > 1 else [])
        about = {"n": call["dataset_size"], "held": ", ".join(map(str, held)), "due": f"{due:.4f}"}
        if right[0] and size > 1:
            rank = right.index(False)
            what = f"it returns a value of type {results[rank]['type']}"
            return [finding("on-rank-0-only", rank=rank, what=what if values[rank] is None else f"{values[rank]:.4f}")]
        if None in values and 0 in held:
            who = name_ranks([rank for rank, value in enumerate(values) if value is None])
            return [finding("empty-rank", who=who, does="returned no finite number")]
        if None in values:
            return compared(results[values.index(None)], due, values.index(None), size)
        if found := unequal_sizes(made):
            return [found]
        if size > 1 and any(all(map(agree, values, parts)) for parts in own_parts(call)) and len({*values}) > 1:
            return [finding("own-part-only", values=", ".join(f"{value:.4f}" for value in values), due=about["due"])]
        for name, value in counted_wrongly(call):
            if all(abs(each - value) < 1e-6 for each in values) and abs(value - due) > 1e-6:
                return [finding(name, value=f"{value:.4f}", **about)]
        return next(filter(None, (compared(each, due, rank, size) for rank, each in enumerate(results))), [])


def unequal_sizes(made: list[list[dict]], report: str = "") -> Finding | None:
    """The finding for a collective on tensors to which ranks brought different sizes. made: events, one list a rank."""
    for events in zip(*made, strict=False):
        sizes = [event["bytes"] for event in events]
        same = len({event["op"] for event in events}) == 1 and "object" not in events[0]["op"]
        if same and None not in sizes and len({*sizes}) > 1:
            return finding("unequal-sizes", report, op=events[0]["op"], sizes=", ".join(map(str, sizes)))
    return None


CHECKS = [Shard(), ShuffledSampler(), SamplesSeen(), DistributedAccuracy()]
