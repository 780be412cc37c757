"""When a call of `train` saves, and with which places."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from autograde.rubric import Call, Mistakes, Words, Wrong

from .history import Due, Save, due_in
from .steps import places

words = Words("""
other-saves: In a call, checkpoints have the places {actual} (epoch, consumed, steps made); expected are {expected}.

other-checkpoint: After a rank was killed, the checkpoint is {actual} (epoch, consumed, steps made until then); expected
is {expected}.
""")


def saves(call: Call) -> Wrong | None:
    """When checkpoints come, and with which places; that there is one when the call leaves is judged elsewhere."""
    due = due_in(call)
    if not due.begins and due.after_kill:
        actual, expected = call.seen[0].begins, (*due.place, due.start)
        return words("other-checkpoint", actual=str(actual), expected=str(expected))
    if not due.begins or places(call) or (actual := due.saves) == (expected := regular(due)):
        return None
    place = next((each for each in actual if each not in expected), (actual or [(0, 0, 0)])[0])
    about = {"place": str(place[:2]), "n": place[2], "end": str((due.epochs, 0))}
    about |= {"whens": [save[2] for save in actual[:12]]}
    return words("other-saves", compared=True, actual=str(actual[:8]), expected=str(expected), **about)


def regular(due: Due, steps: Sequence[int] | None = None, behind: int = 0, end: bool = True) -> list[Save]:
    """Checkpoints of a call: also one as it leaves, if it makes one.

    steps: after which they come; None: those of `every`. behind: how many steps their places are behind. end: whether
    there is one at the end, which is not behind.
    """
    steps = [*(range(due.every, due.count + 1, due.every) if steps is None else steps)]
    if due.leaves:
        steps = [at for at in steps if at < due.count] + ([due.count] if due.saves_leaving else [])
    last = [(due.epochs, 0, due.count)] if end and not due.leaves and due.count and due.count not in steps else []
    return [(*due.after(at - behind), at) for at in steps] + last


def saved_by_mistake(call: Call) -> dict[str, tuple[list[Save], ...]]:
    """The checkpoints of known mistakes."""
    due = due_in(call)
    if not due.begins or places(call) or not due.count:
        return {}
    count, every = due.count, range(due.every, due.count + 1, due.every)
    ends = [at for at in range(1, count + 1) if due.after(at)[1] == 0]
    anew = [at for first, last in pairwise([0, *ends]) for at in range(first + due.every, last + 1, due.every)]
    inner, behind = regular(due, end=False), regular(due, behind=1, end=False)
    end = [] if due.leaves else [(due.epochs, 0, count)]
    leaving = [each for each in regular(due) if due.leaves and each[2] == count]
    sooner = [(*due.after(at), at - 1) for at in every] + leaving
    return {
        "nothing-at-the-end": (inner,),
        "own-samples-counted": ([(*due.by_one_rank(at), at) for _, _, at in inner] + end,),
        "place-before-the-step": (behind + end, behind),
        "saved-before-the-step": (sooner + end, sooner),
        "counted-in-the-epoch": (regular(due, anew),),
        "only-after-epochs": (regular(due, ends),),
    }


saves.gives = lambda call, value: due_in(call).saves == value
SAVED_WRONGLY = Mistakes(
    """
    nothing-at-the-end: At the end of the training there is no checkpoint with the place {end}. A further call would
    make steps again.

    own-samples-counted: A checkpoint has the place {place} after {n:step}: `consumed` counts the samples of one rank,
    not of all together.

    place-before-the-step: A checkpoint has the place {place}, which is that before a step, and the weights from after
    it: {n:step} are made. That step would be made twice.

    saved-before-the-step: A checkpoint has the place after a step, and the weights from before it: {n:step} are made,
    and its place is {place}. That step would never be made.

    counted-in-the-epoch: Checkpoints come after {whens} steps of a call. `every` counts on over the end of an epoch,
    from the last checkpoint.

    only-after-epochs: Checkpoints come after {whens} steps of a call, at the ends of epochs alone. `every` asks for
    more.
    """,
    saved_by_mistake,
)
