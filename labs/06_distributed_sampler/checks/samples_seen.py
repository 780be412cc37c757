"""The check of `samples_seen`."""

from __future__ import annotations

import random
from collections.abc import Sequence

from autograde.rubric.check import CallCheck
from autograde.rubric.criterion import Call, Criterion
from autograde.rubric.sampler_check import not_a_list, not_ints
from autograde.rubric.words import Words, Wrong

from ..probes import samples_seen

BIT = 2**53  # from here on a float64 has no odd numbers

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
before any `set_epoch`.)

empty-epoch: The list of epoch {epoch} is empty. An iterator that has reached its end yields nothing more: does each
epoch begin a new pass?

epochs-run-together: The list of an epoch also holds the samples of the epochs before it.

indices-not-ids: The lists hold the positions of samples in the data set, not the ids that the loader yields.

ids-through-float: The ids are rounded to floats, which have no odd numbers beyond 2**53. Where do whole numbers turn
into floats?

order-lost: The ids are the right ones, but not in the order in which the loader yields them.

other-ranks-samples: The list of a rank also holds samples of other ranks.

wrong-ids: In epoch {epoch}, the ids are not those that the loader yields.

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
    known = {float(number): at for at, number in enumerate(every)} | {float(at): at for at in range(len(every))}
    found = [None if each is None else known.get(float(each)) for each in ids]
    return [None if at is None else (at // own // call.size - 1, at // own % call.size, at % own) for at in found]


def all_ids(call: Call) -> Wrong | None:
    """Each list has what a rank's loader yields in one epoch, whichever it is."""
    for rank, lists in enumerate(call.of("lists")):
        if not lists:
            return words("empty-epoch", epoch=0)
        for epoch, each in enumerate(lists[: call.arguments["epochs"]]):
            if key := strange(call, rank, each.ids):
                return words(key, epoch=epoch)
    return None


def strange(call: Call, rank: int, ids: Sequence[int | None]) -> str:
    """The key of what is wrong with the list of an epoch; empty if nothing is."""
    seen, whole = places(call, ids), [*range(call.case["own"])]
    if not ids:
        return "empty-epoch"
    if None in seen:
        return "wrong-ids"
    if not {*ids} <= {*call.case["ids"]}:
        return "indices-not-ids" if all(0 <= each < len(call.case["ids"]) for each in ids) else "ids-through-float"
    epochs, ranks, order = zip(*seen, strict=True)
    if {*ranks} > {rank}:
        return "other-ranks-samples"
    if len({*epochs}) > 1 or {*ranks} != {rank} or len(order) > len(whole):
        passes = [*range(0, len(order), len(whole))]
        together = all([*order[begin : begin + len(whole)]] == whole for begin in passes)
        return "epochs-run-together" if together and len(passes) > 1 else "wrong-ids"
    if [*order] == whole:
        return ""
    if [*order] == whole[: len(order)]:
        return "smaller-batch-dropped"
    return "order-lost" if sorted(order) == whole else "wrong-ids"


def right_epochs(call: Call) -> Wrong | None:
    """Each list has ids of its own epoch, by the last of them that is known."""
    due, by_rank = [*range(call.arguments["epochs"])], []
    for lists in call.of("lists"):
        known = [[each[0] for each in places(call, own.ids) if each] for own in lists[: len(due)]]
        by_rank.append([each[-1] if each else None for each in known])
    if any(None in own or len(own) < len(due) for own in by_rank):
        return all_ids(call) or a_list_for_each(call)
    one = by_rank[0]
    if other := next((own for own in by_rank if own != one), None):
        at = next(at for at in due if one[at] != other[at])
        return words("epoch-differs-by-rank", one=one[at], other=other[at])
    keys = {
        "no-set-epoch": [-1] * len(due),
        "set-epoch-too-late": [-1, *due[:-1]],
        "constant-epoch": one[:1] * len(due),
    }
    keys["epochs-from-1"] = [epoch + 1 for epoch in due]
    if one == due:
        return None
    key = next((key for key, would in keys.items() if one == would and len(due) > 1), "other-epochs")
    actual = ", ".join("None" if epoch < 0 else str(epoch) for epoch in one)
    return words(key, epoch=one[0], actual=actual, expected=", ".join(map(str, due)))


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
        """Loaders with a last, smaller batch, used more than once; on 4 ranks, 3 and 2."""

        def case(size: int, own: int, batch_size: int, *epochs: int) -> dict:
            ids = rng.sample(range(BIT + 1, 2**62, 2), (max(epochs) + 3) * size * own)
            ids = [rng.choice((1, -1)) * each for each in ids]
            calls = [{"epochs": each} for each in epochs]
            return {"size": size, "own": own, "batch_size": batch_size, "ids": ids, "calls": calls}

        cases = [case(4, rng.choice([5, 7]), 2, 3, 2), case(3, rng.choice([5, 8]), 3, 4, 1)]
        return [*cases, case(2, rng.choice([7, 11]), 4, 5, 3)]


CHECK = SamplesSeen()
