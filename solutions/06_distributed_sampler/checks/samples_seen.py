"""The check of `samples_seen`: the ids that a loader yields, epoch by epoch, with a sampler that is told each epoch."""

import numpy as np

from autograde.rubric import (
    CallCheck,
    Criterion,
    Mistakes,
    Same,
    Words,
    changed,
    not_a_list,
    not_ints,
    on_ranks,
    once,
)

from ..probes import samples_seen

BIT = 2**53  # from here on a float64 has no odd numbers
BEFORE = -1  # stands for the order before any `set_epoch`

words = Words("""
not-per-epoch: The function returns one list of ids. Expected is a list of lists, one for each epoch.

wrong-number-of-epochs: The call asks for {epochs:epoch}, and the function returns {n:list}.

batches-not-flattened: The list of an epoch holds whole batches. Expected are the ids in them, one after the other.

other-epochs: The lists have the orders of epochs {actual}, where epochs {due} are expected. (None: the order before any
`set_epoch`. Another: that of an epoch which the call does not ask for. Unknown: the list has no id that the loader
yields.)
""")


def a_list_for_each(call):
    """What is returned is a list of lists of ints."""
    epochs, lists = call.arguments["epochs"], [each for own in call.of("lists") for each in own]
    if any(call.of("flat")):
        return words("not-per-epoch")
    if other := [len(own) for own in call.of("lists") if len(own) != epochs]:
        return words("wrong-number-of-epochs", epochs=epochs, n=other[0])
    if any(call.of("batches")):
        return words("batches-not-flattened")
    return not_a_list([*call.of("kind"), *(each.type for each in lists)]) or not_ints(lists)


def lists(call):
    """By rank, the lists of ids, as far as the call asks for them."""
    return [[each.ids for each in own[: call.arguments["epochs"]]] for own in call.of("lists")]


@once
def blocks(call):
    """The ids of the data set, [blocks, ranks, own]: epoch 0 has block 1, the last one stands for epochs far on."""
    return np.array(call.case["ids"]).reshape(-1, call.size, call.case["own"])


@once
def homes(call):
    """Epoch and rank of each id, also as floats of 64 or 32 bits round it, and of its position in the data set."""
    every = enumerate(np.ndenumerate(blocks(call)))
    forms = [(at, (number, each, float(each), np.float32(each))) for number, (at, each) in every]
    return {int(form): (block - 1, rank) for (block, rank, _), some in forms for form in some}


def known(call, ids):
    """Of the ids that are known, in order, epoch and rank."""
    return [homes(call)[each] for each in ids if each in homes(call)]


@once
def epochs(call):
    """By rank, the epoch of each list, by its last id; None if no id is known, and "another" for an epoch far on."""
    found, far = [], len(blocks(call)) - 2
    for own, one in zip(lists(call), call.of("one"), strict=True):
        every = [["another" if epoch == far else epoch for epoch, _ in known(call, ids)] for ids in own]
        together = [*dict.fromkeys(every[0])] if one else []  # all epochs, one after the other
        found.append(together if len(together) > 1 else [each[-1] if each else None for each in every])
    return found


@once
def due(call):
    """By rank, all ids of each list, in the epoch that its last id has."""

    def block(rank, number, ids):
        epoch = known(call, ids)[-1][0] if known(call, ids) else number
        return blocks(call)[epoch + 1, rank].tolist()

    return [[block(rank, *each) for each in enumerate(own or [[]])] for rank, own in enumerate(lists(call))]


def first_wrong(is_such):
    """A sign: whether this is so of the first list that is wrong. is_such: of a call, a rank, the ids in its list, and
    those that are due."""

    def sign(call):
        for rank, own in enumerate(zip(lists(call), due(call), strict=True)):
            for epoch, (ids, whole) in enumerate(zip(*own, strict=False)):
                if ids != whole:
                    about = {"rank": rank, "epoch": epoch, "whole": len(whole), "have": len(ids)}
                    return about if is_such(call, rank, ids, whole) else False
        return False

    return sign


def rounded(call, rank, ids, whole):
    return any(ids == [int(kind(each)) for each in whole] for kind in (float, np.float32))


def first_batch(call, rank, ids, whole):
    return ids == whole[: call.case["batch_size"]]


def full_batches(call, rank, ids, whole):
    return ids == whole[: -(len(whole) % call.case["batch_size"])]


def due_epochs(call, first=0):
    """By rank, the epochs that a call asks for, counted from `first`."""
    return [[*range(first, first + call.arguments["epochs"])]] * call.size


def too_late(call):
    """The same where the first list has the epoch to which the call before has set the sampler."""
    begin = call.case["calls"][call.number - 1]["epochs"] - 1 if call.number else BEFORE
    return [[begin, *own[:-1]] for own in due_epochs(call)]


def other_epochs(call, difference):
    rank, names = difference.place[0], {BEFORE: "None", None: "unknown"}
    actual, right = (", ".join(str(names.get(each, each)) for each in of(call)[rank]) for of in (epochs, due_epochs))
    return words("other-epochs", rank=rank, actual=actual, due=right)


def cases(rng):
    """Loaders with several batches and a last, smaller one of more than one id, used more than once; on 4 ranks, 3 and
    2."""

    def case(size, own, batch_size, *epochs):
        ids = rng.sample(range(BIT + 1, 2**62, 2), (max(epochs) + 4) * size * own)
        ids = [rng.choice((1, -1)) * each for each in ids]
        calls = [{"epochs": each} for each in epochs]
        return {"size": size, "own": own, "batch_size": batch_size, "ids": ids, "calls": calls}

    cases = [case(4, rng.choice([8, 11]), 3, 3, 2), case(3, rng.choice([8, 11]), 3, 4, 1)]
    return [*cases, case(2, rng.choice([11, 15]), 4, 5, 3)]


def all_one(call):
    """Whether the lists of all epochs are one list; with a single epoch nobody can tell."""
    return all(call.of("one")) if call.arguments["epochs"] > 1 else None


OF_LISTS = """
one-list-for-all: The result holds one and the same list {epochs:time}: what is put into it in a later epoch is in the
lists of all epochs. Where does your code make a list?

empty-epoch: The list of epoch {epoch} is empty. An iterator that has reached its end yields nothing more: does each
epoch begin a new pass?
"""
EMPTY = first_wrong(lambda call, rank, ids, whole: not ids)
IDS_WRONG = Mistakes(
    OF_LISTS
    + """
    indices-not-ids: The lists hold the positions of samples in the data set, not the ids that the loader yields.

    ids-through-float: The ids are rounded, as floats round whole numbers with many digits. Where do whole numbers turn
    into floats?

    order-lost: The ids are the right ones, but not in the order in which the loader yields them.

    epochs-run-together: The list of epoch {epoch} also holds the samples of other epochs, one after the other.

    other-ranks-samples: The list of rank {rank} holds samples of other ranks.

    smaller-batch-dropped: The last batch, which is smaller than the others, is missing.

    first-batch-alone: In epoch {epoch}, the loader of rank {rank} yields {whole:id}, and the list has those of the
    first batch alone.

    ids-missing: In epoch {epoch}, the loader of rank {rank} yields {whole:id}, and the list has {have} of them. What
    becomes of the others?

    ids-more-than-once: In epoch {epoch}, the list of rank {rank} holds some of its ids more than once.
    """,
    one_list_for_all=all_one,
    empty_epoch=EMPTY,
    indices_not_ids=first_wrong(lambda call, rank, ids, whole: ids == [call.case["ids"].index(each) for each in whole]),
    ids_through_float=first_wrong(rounded),
    order_lost=first_wrong(lambda call, rank, ids, whole: {*ids} == {*whole} and len(ids) == len(whole)),
    epochs_run_together=first_wrong(lambda call, rank, ids, whole: len({*dict(known(call, ids))}) > 1),
    other_ranks_samples=first_wrong(lambda call, rank, ids, whole: {of for _, of in known(call, ids)} - {rank}),
    smaller_batch_dropped=first_wrong(full_batches),
    first_batch_alone=first_wrong(first_batch),
    ids_missing=first_wrong(lambda call, rank, ids, whole: {*ids} < {*whole} and len({*ids}) == len(ids)),
    ids_more_than_once=first_wrong(lambda call, rank, ids, whole: {*ids} <= {*whole} and len({*ids}) < len(ids)),
)
EPOCHS_WRONG = Mistakes(
    OF_LISTS
    + """
    no-set-epoch: In every epoch the samples come in the order that the sampler had before the call: nothing tells the
    sampler which epoch it is.

    set-epoch-too-late: The first epoch has the order that the sampler had before the call, and each later one has the
    order of the epoch before it. When is the sampler told its epoch, and when does it put the samples in order?

    constant-epoch: All lists have the order of one and the same epoch: {actual}, where epochs {due} are expected.

    epochs-from-1: The first epoch has the order of epoch 1, the second that of epoch 2. Epochs count from 0.

    epoch-differs-by-rank: The ranks set their samplers to different epochs: the lists of rank {rank} have the orders of
    epochs {actual}, and those of another rank have others. Then they do not share one order.
    """,
    changed(
        due_epochs,
        no_set_epoch=lambda call: [[BEFORE] * call.arguments["epochs"]] * call.size,
        set_epoch_too_late=too_late,
        constant_epoch=lambda call: [own[:1] * len(own) for own in epochs(call)],
        epochs_from_1={"first": 1},
    ),
    one_list_for_all=all_one,
    empty_epoch=EMPTY,
    epoch_differs_by_rank=lambda call: len({*map(str, epochs(call))}) > 1,
)
IDS = Same(lists, due, on_ranks("the result", "list", "entry"))
EPOCHS = Same(epochs, due_epochs, on_ranks("the lists", "epoch"), otherwise=other_epochs)
FORM = "the result is a list of lists of ints, one for each epoch"
WHOLE = "a list has all ids that the loader yields in its epoch, in this order"
COUNTED = "in every call, the epochs are 0, 1, ..., epochs - 1, also if the loader was used before"
CHECK = CallCheck.of(
    "samples_seen",
    samples_seen.PROBE,
    cases,
    Criterion("lists", 0.75, FORM, a_list_for_each),
    Criterion("ids", 1, WHOLE, IDS, IDS_WRONG, after=("lists",)),
    Criterion("epochs", 1.25, COUNTED, EPOCHS, EPOCHS_WRONG),
    inputs=("epochs",),
    repeats=False,  # the loader is used more than once
    consolidation="A sampler knows the epoch only if the loop tells it, before the pass begins. If it was not told, "
    "nothing fails: only the samples themselves show it.",
)
