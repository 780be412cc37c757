"""The check of `samples_seen`."""

from __future__ import annotations

import random
from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from autograde.rubric import Call, CallCheck, Criterion, Words, Wrong, not_a_list, not_ints

from ..probes import samples_seen

BIT = 2**53  # from here on a float64 has no odd numbers
NEAR = 1e-6  # relative; a float32 is nearer to a whole number, and hardly any two ids are

words = Words("""
not-per-epoch: The function returns one list of ids. Expected is a list of lists, one for each epoch.

wrong-number-of-epochs: The call asks for {epochs:epoch}, and the function returns {n:list}.

batches-not-flattened: The list of an epoch holds whole batches. Expected are the ids in them, one after the other.

no-set-epoch: In every epoch the samples come in the order that the sampler had before the call: nothing tells the
sampler which epoch it is.

set-epoch-too-late: The first epoch has the order that the sampler had before the call, and each later one has the order
of the epoch before it. When is the sampler told its epoch, and when does it put the samples in order?

constant-epoch: Every epoch has the order of epoch {epoch}.

epochs-from-1: The first epoch has the order of epoch 1, the second that of epoch 2. Epochs count from 0.

epoch-differs-by-rank: In one and the same epoch, the ranks set their samplers to different epochs, {one} and {other}.
Then they do not share one order.

other-epochs: The lists have the orders of epochs {actual}, where epochs {expected} are expected. (None: the order
before any `set_epoch`. Another: that of an epoch which the call does not ask for.)

one-list-for-all: The result holds one and the same list {epochs:time}: what is put into it in a later epoch is in the
lists of all epochs. Where does your code make a list?

empty-epoch: The list of epoch {epoch} is empty. An iterator that has reached its end yields nothing more: does each
epoch begin a new pass?

epochs-run-together: The list of epoch {epoch} also holds the samples of other epochs, one after the other.

indices-not-ids: The lists hold the positions of samples in the data set, not the ids that the loader yields.

ids-through-float: The ids are rounded, as floats round whole numbers with many digits. Where do whole numbers turn into
floats?

order-lost: The ids are the right ones, but not in the order in which the loader yields them.

other-ranks-samples: The list of rank {rank} holds samples of other ranks.

wrong-ids: In epoch {epoch}, the list of rank {rank} holds {strange:entry} that the loader does not yield there.

ids-more-than-once: In epoch {epoch}, the list of rank {rank} holds {twice} of its ids more than once.

ids-missing: In epoch {epoch}, the loader of rank {rank} yields {whole:id}, and the list has {have} of them. What
becomes of the others?

first-batch-alone: In epoch {epoch}, the loader of rank {rank} yields {whole:id}, and the list has those of the first
batch alone.

smaller-batch-dropped: The last batch, which is smaller than the others, is missing.
""")


def a_list_for_each(call: Call) -> Wrong | None:
    """The form of what is returned."""
    epochs, lists = call.arguments["epochs"], [each for own in call.of("lists") for each in own]
    if any(call.of("flat")):
        return words("not-per-epoch")
    for own in call.of("lists"):
        if len(own) != epochs:
            return words("wrong-number-of-epochs", epochs=epochs, n=len(own))
    if any(call.of("batches")):
        return words("batches-not-flattened")
    return not_a_list([*call.of("kind"), *(each.type for each in lists)]) or not_ints(lists)


def places(call: Call, ids: Sequence[int | None]) -> list[tuple[int, int, int] | None]:
    """Of ids, also rounded ones, or of positions in the data set: epoch (-1 for none), rank, and place in the rank's
    list; None for what is none."""
    own, every = call.case["own"], call.case["ids"]
    known, numbers = {number: at for at, number in enumerate(every)}, sorted(every)
    positions = range(len(every))

    def place(number: int | None) -> int | None:
        if number is None or number in known or number in positions:
            return None if number is None else known.get(number, number)
        begin = bisect(numbers, number)
        nearest = min(numbers[max(0, begin - 1) : begin + 1], key=lambda each: abs(each - number))
        return known[nearest] if abs(nearest - number) <= NEAR * abs(nearest) else None

    found = [*map(place, ids)]
    return [None if at is None else (at // own // call.size - 1, at // own % call.size, at % own) for at in found]


def all_ids(call: Call) -> Wrong | None:
    """Each list has what a rank's loader yields in one epoch, whichever it is."""
    for rank, (lists, one) in enumerate(zip(call.of("lists"), call.of("one"), strict=True)):
        if not lists:
            return words("empty-epoch", epoch=0)
        for epoch, each in enumerate(lists[: call.arguments["epochs"]]):
            if wrong := strange(call, rank, epoch, each.ids):
                return words("one-list-for-all", epochs=len(lists)) if one else wrong
    return None


def strange(call: Call, rank: int, epoch: int, ids: Sequence[int | None]) -> Wrong | None:
    """What is wrong with the list of an epoch."""
    seen, whole, every = places(call, ids), call.case["own"], {*call.case["ids"]}
    about = {"epoch": epoch, "rank": rank, "whole": whole}
    if not ids:
        return words("empty-epoch", **about)
    if unknown := seen.count(None):
        return words("wrong-ids", strange=unknown, **about)
    if other := [each for each in ids if each not in every]:
        small = all(0 <= each < len(every) for each in other)
        return words("indices-not-ids" if small else "ids-through-float")
    epochs, ranks, order = zip(*seen, strict=True)
    if {*ranks} != {rank}:
        return words("other-ranks-samples", **about)
    if len({*epochs}) > 1:
        return words("epochs-run-together", **about)
    if twice := sum(times > 1 for times in Counter(order).values()):
        return words("ids-more-than-once", twice=twice, **about)
    if len(order) == whole:
        return None if [*order] == sorted(order) else words("order-lost")
    full = call.case["batch_size"]
    beginning = [*order] == [*range(len(order))]
    if beginning and len(order) == whole // full * full:
        return words("smaller-batch-dropped")
    return words("first-batch-alone" if beginning and len(order) == full else "ids-missing", have=len(order), **about)


def right_epochs(call: Call) -> Wrong | None:
    """Each list has ids of its own epoch, by the last of them that is known."""
    due, by_rank = [*range(call.arguments["epochs"])], []
    for lists, one in zip(call.of("lists"), call.of("one"), strict=True):
        known = [[each[0] for each in places(call, own.ids) if each] for own in lists[: len(due)]]
        if one and len({*known[0]}) > 1:  # all epochs, one after the other
            by_rank.append([epoch for epoch, _ in groupby(known[0])])
        else:
            by_rank.append([each[-1] if each else None for each in known])
    if any(None in own or len(own) < len(due) for own in by_rank):
        return all_ids(call) or a_list_for_each(call)
    one = by_rank[0]
    if other := next((own for own in by_rank if own != one), None):
        at = next(at for at in due if one[at] != other[at])
        return words("epoch-differs-by-rank", one=named(call, one[at]), other=named(call, other[at]))
    if one == due:
        return None
    if all(call.of("one")) and {*one} == {due[-1]}:
        return words("one-list-for-all", epochs=len(due))
    keys = {
        "no-set-epoch": [-1] * len(due),
        "set-epoch-too-late": [-1, *due[:-1]],
        "constant-epoch": one[:1] * len(due),
        "epochs-from-1": [epoch + 1 for epoch in due],
    }
    known = len(due) > 1 and another(call) not in one
    key = next((key for key, would in keys.items() if one == would and known), "other-epochs")
    actual = ", ".join(named(call, epoch) for epoch in one)
    return words(key, epoch=one[0], actual=actual, expected=", ".join(map(str, due)))


def another(call: Call) -> int:
    """What stands for all epochs that no block of ids is left for."""
    return len(call.case["ids"]) // (call.case["own"] * call.size) - 2


def named(call: Call, epoch: int) -> str:
    """An epoch as text."""
    return "None" if epoch < 0 else "another" if epoch == another(call) else str(epoch)


class SamplesSeen(CallCheck):
    """The ids that a loader yields, epoch by epoch, with a sampler that is told each epoch."""

    todo, probe = "samples_seen", samples_seen.PROBE
    inputs = ("epochs",)
    consolidation = (
        "A sampler knows the epoch only if the loop tells it, before the pass begins. If it was not told, nothing "
        "fails: only the samples themselves show it."
    )
    criteria = (
        Criterion("lists", 0.75, "the result is a list of lists of ints, one for each epoch", a_list_for_each),
        Criterion("ids", 1, "a list has all ids that the loader yields in its epoch, in this order", all_ids),
        Criterion(
            "epochs",
            1.25,
            "in every call, the epochs are 0, 1, ..., epochs - 1, also if the loader was used before",
            right_epochs,
        ),
    )

    def cases(self, rng: random.Random) -> list[dict]:
        """Loaders with several batches and a last, smaller one of more than one id, used more than once; on 4 ranks, 3
        and 2."""

        def case(size: int, own: int, batch_size: int, *epochs: int) -> dict:
            ids = rng.sample(range(BIT + 1, 2**62, 2), (max(epochs) + 4) * size * own)
            ids = [rng.choice((1, -1)) * each for each in ids]
            calls = [{"epochs": each} for each in epochs]
            return {"size": size, "own": own, "batch_size": batch_size, "ids": ids, "calls": calls}

        cases = [case(4, rng.choice([8, 11]), 3, 3, 2), case(3, rng.choice([8, 11]), 3, 4, 1)]
        return [*cases, case(2, rng.choice([11, 15]), 4, 5, 3)]


CHECK = SamplesSeen()
