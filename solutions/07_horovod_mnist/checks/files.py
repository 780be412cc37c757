"""The checkpoints that `train` writes: by whom, when, and what is in them."""

from autograde.rubric import Mistakes, Ranks, Same, Words, changed

from .runs import drawn
from .trained import NEAR, known

words = Words("""
wrong-rank-writes: The file is written by {who}; only rank 0 should.

nothing-written: All ranks have returned, and there is no file `checkpoint`. Does your code write to this path?

not-loadable: torch.load cannot load the file with weights_only=True: {error}

not-each-epoch: A checkpoint is expected after each epoch. Files are written after {actual} batches, where
{expected} are expected.

bare-state: The file holds the weights themselves; expected is a dict, whose entry "model" has them.

model-missing: The file has no state dict as its entry "model": that is {kind}.
""")


def writers(call):
    return [rank for rank, saves in enumerate(call.of("saves")) if saves] or [0]


def other_writers(call, off):
    return words("wrong-rank-writes", who=Ranks(writers(call)))


def ends(call):
    """After how many batches each epoch ends; nothing where that is not known."""
    steps = len(drawn(call)[0][0]) if drawn(call) else 0
    return [steps * (epoch + 1) for epoch in range(call.arguments["epochs"])] if steps else []


def kept(call):
    """What is in the file after each epoch, and in the end."""
    first = call.seen[writers(call)[0]]
    by_moment = {each.after: each.saved for each in first.saves}
    return [*(by_moment[moment] for moment in ends(call)), first.last]


def states(call):
    """What should be in it; as it is, where it is not known what was trained."""
    epochs = [each.states[0] for each in known(call) or []]
    return [*epochs, epochs[-1]] if epochs else [each.state for each in kept(call)]


def content(call):
    """What is in the files, whoever writes them."""
    first = call.seen[writers(call)[0]]
    kinds = [each.saved.kind for each in first.saves if each.saved.kind]
    if not first.there:
        return words("nothing-written")
    if first.error and not kinds:
        return words("not-loadable", error=first.error)
    after = [each.after for each in first.saves]
    if not first.error and not {*ends(call)} <= {*after}:
        return words("not-each-epoch", actual=after, expected=ends(call))
    if kinds:
        return words("bare-state") if kinds[0] == "bare" else words("model-missing", kind=kinds[0])
    return STATES(call)


def in_file(call, place):
    number, *names = [*place, 0]
    return f"After epoch {min(number, call.arguments['epochs'] - 1)}, in the file, an entry of `{names[0]}`"


STATES = Same(lambda call: [each.state for each in kept(call)], states, in_file, NEAR)
WRITERS = Same(writers, lambda call: [0], lambda call, place: "The list of ranks that write", otherwise=other_writers)
OTHER_WRITERS = Mistakes(
    """
    every-rank-writes: All {size:rank} write, at the same time. Where that is one file, it is chance which of them wins,
    and what they write together may be no file at all.

    local-rank-0-writes: The file is written by the local rank 0 of each node. Nodes share the folder, so they write
    over each other.
    """,
    changed(
        every_rank_writes=lambda call: [*range(call.size)],
        local_rank_0_writes=lambda call: [*range(0, call.size, call.arguments["local_size"])],
    ),
)
