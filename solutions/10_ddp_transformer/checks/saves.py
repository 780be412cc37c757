"""The checkpoints of a call of `train`: of which epoch each is, and whether it holds the state that there is then."""

from autograde.rubric import Mistakes, Same, Words, changed, on_ranks

from .epochs import killed, run

words = Words("""
other-checkpoints: After {ran}, there is {actual}. Expected is {expected}.

other-state-saved: After epoch {epoch}, the {what} in the checkpoint is not what it is on rank 0.
""")


def in_words(epochs):
    """Of the epoch in each checkpoint, as in `Saved`."""
    kinds = {None: "no file", -1: "one that cannot be read"}
    return [kinds.get(each, f"one of epoch {each}") for each in epochs]


def saved(call):
    """The epoch of the checkpoint that a killed run has left, and those after each epoch."""
    first = call.seen[0]
    return in_words([first.begins] * killed(call) + [each.epoch for each in first.saved])


def checkpoints(call, found=0, after=lambda epochs: epochs):
    """What `saved` is to be. after: of the epochs, those of the checkpoints after each."""
    return in_words([found] * killed(call) + after(run(call)[0]))


def other_checkpoints(call, off):
    ran = ["a rank was killed in epoch 1"] * killed(call) + [f"epoch {each}" for each in run(call)[0]]
    return words("other-checkpoints", ran=ran, actual=saved(call), expected=checkpoints(call))


def whole_state(call):
    for epoch, each in zip(run(call)[0], call.seen[0].saved, strict=False):
        if each.other:
            return words("other-state-saved", epoch=epoch, what=each.other)
    return None


def before_now(call):
    """At every end of an epoch but the last, what was there at the beginning."""
    return lambda epochs: [call.seen[0].begins for _ in epochs[1:]] + epochs[-1:]


SAVES = Same(saved, checkpoints, on_ranks("the list of checkpoints"), otherwise=other_checkpoints)
OTHER_SAVES = Mistakes(
    """
    nothing-written: All ranks have returned, and there is no file `checkpoint`. Which function writes it, and when is
    it called?

    epoch-off-by-one: After {ran}, there is {actual}. It should be the number of the last
    finished epoch, counted from 0.

    unfinished-epoch-saved: A rank was killed in the middle of epoch 1, and the checkpoint that is there says that this
    epoch is done. The rest of it would never be trained.

    not-each-epoch: A checkpoint is expected after each epoch. After {ran}, there is {actual}.
    """,
    changed(
        checkpoints,
        nothing_written={"found": None, "after": lambda call: lambda epochs: [None for _ in epochs]},
        epoch_off_by_one={"found": 1, "after": lambda call: lambda epochs: [each + 1 for each in epochs]},
        unfinished_epoch_saved={"found": 1},
        not_each_epoch=[
            {"found": None, "after": before_now},
            {"found": 1, "after": lambda call: lambda epochs: epochs[1:] + epochs[-1:]},
        ],
    ),
)
