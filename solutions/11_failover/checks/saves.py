"""The checkpoints of a call of `train`: where in the training each is made, and with which place."""

from itertools import pairwise

from autograde.rubric import Mistakes, Same, Words, changed, on_ranks

from .history import due_in, plain, right_samples, when

words = Words("""
other-saves: {when}, checkpoints have the places {actual} (epoch, consumed, steps made); expected are {expected}.
""")


def saved(call):
    """The checkpoint that a killed run has left, and those of the call, each once, until it is to leave; nothing that
    was there at its beginning. None of a call that trains on other samples."""
    due, first = due_in(call), call.seen[0]
    kept = dict.fromkeys(plain(call, *each) for each in first.saves if right_samples(call))
    kept = [each for each in kept if each != (*due.place, 0) and not (due.leaves and each[2] > due.count)]
    return [*(plain(call, *first.begins) for _ in due.found), *kept]


def ends(call):
    """After which steps an epoch ends."""
    due = due_in(call)
    return [at for at in range(1, due.count + 1) if due.places[at][1] == 0]


def every_so_many(call, epochs=False):
    """After which steps it is to save. epochs: whether each epoch begins a new count."""
    every, last = call.case["every"], due_in(call).count
    parts = pairwise([0, *(ends(call) if epochs else []), last])
    return [at for one, two in parts for at in range(one + every, two + 1, every)]


def own_place(call, at):
    """The place after so many steps, if `consumed` counts one rank's samples since the call began."""
    due = due_in(call)
    (epoch, consumed), ids = due.steps[at - 1]
    begun = due.place[1] if epoch == due.place[0] else 0
    return plain(call, epoch, begun + (consumed - begun + sum(map(len, ids))) // call.size)


def checkpoints(call, steps=every_so_many, behind=0, own=False, end=True):
    """What `saved` is to be; also with one of the last step before it leaves, if that is there: it is judged by itself.

    steps: of a call, after which it saves. behind: how many steps their places are too early. own: see `own_place`.
    end: whether there is one at the end."""
    due = due_in(call)
    if not right_samples(call):
        return due.found
    at = steps(call)
    if due.leaves:
        leaving = {each for *_, each in saved(call)} & {due.count}
        at = [*(each for each in at if each < due.count), *leaving]
    kept = [(*(own_place(call, each) if own else due.places[each - behind]), each) for each in at]
    if end and due.count and not due.leaves:
        kept.append((call.arguments["epochs"], 0, due.count))
    return [*due.found, *dict.fromkeys(kept)]


def of_mistake(call, **how):
    """The same of a mistake; None where a call shows its consequences."""
    told = due_in(call).count and not due_in(call).killed and right_samples(call)
    return checkpoints(call, **how) if told else None


def other_saves(call, off):
    return words("other-saves", when=when(call), actual=str(saved(call)[:8]), expected=str(checkpoints(call)))


SAVES = Same(saved, checkpoints, on_ranks("the list of checkpoints"), otherwise=other_saves)
SAVED_WRONGLY = Mistakes(
    """
    nothing-at-the-end: At the end of the training there is no checkpoint with the place ({epochs}, 0). A further call
    would make steps again.

    own-samples-counted: Checkpoints have the places {actual} (epoch, consumed, steps made): `consumed` counts the
    samples of one rank, not of all together.

    place-before-the-step: Checkpoints have the places {actual} (epoch, consumed, steps made). That is the place before
    a step, with the weights from after it: the step would be made twice.

    counted-in-the-epoch: Checkpoints have the places {actual} (epoch, consumed, steps made). `every` counts on over the
    end of an epoch, from the last checkpoint.

    only-after-epochs: Checkpoints have the places {actual} (epoch, consumed, steps made), at the ends of epochs alone.
    `every` asks for more.
    """,
    changed(
        of_mistake,
        nothing_at_the_end={"end": False},
        own_samples_counted={"own": True},
        place_before_the_step=[{"behind": 1, "end": end} for end in (True, False)],
        counted_in_the_epoch=lambda call: of_mistake(call, steps=lambda call: every_so_many(call, epochs=True)),
        only_after_epochs=lambda call: of_mistake(call, steps=ends),
    ),
)
