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

other-weights-saved: After epoch {epoch}, an entry of {name!r} in the file is not what it is in the model.
""")


def writers(call):
    return [rank for rank, saves in enumerate(call.of("saves")) if saves] or [0]


def other_writers(call, off):
    return words("wrong-rank-writes", who=Ranks(writers(call)))


def content(call):
    """What is in the files, whoever writes them."""
    first = call.seen[writers(call)[0]]
    if not first.there:
        return words("nothing-written")
    if first.error:
        kinds = [each.saved.kind for each in first.saves if each.saved.kind]
        return words("model-missing", kind=kinds[0]) if kinds else words("not-loadable", error=first.error)
    steps = len(drawn(call)[0][0]) if drawn(call) else 1
    due, after = (
        [steps * (epoch + 1) for epoch in range(call.arguments["epochs"])],
        [each.after for each in first.saves],
    )
    if drawn(call) and not {*due} <= {*after}:
        return words("not-each-epoch", actual=after, expected=due)
    states = [{each.after: each.saved for each in first.saves}.get(moment) for moment in due] if drawn(call) else []
    for epoch, saved in enumerate([*states, first.last]):
        if saved.kind:
            return words("bare-state") if saved.kind == "bare" else words("model-missing", kind=saved.kind)
        epochs = known(call) or []
        right = epochs[min(epoch, len(epochs) - 1)].states[0] if epochs else {}
        for name, values in right.items():
            if not NEAR(saved.state.get(name), values):
                return words("other-weights-saved", epoch=min(epoch, len(epochs) - 1), name=name)
    return None


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
