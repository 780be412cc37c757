"""Verdict on the checkpoints that a training run writes, as `autograde.noted_saves` noted them."""

from __future__ import annotations

from collections.abc import Sequence

from autograde.check import Finding
from autograde.findings import Findings
from autograde.replicas import same_state
from autograde.schema import array, integer, numbers, optional, record, string
from course.numbered import BUFFERS, SIZES
from course.report import name_ranks

finding = Findings("""
all-ranks-write 2
{who} write the checkpoint by torch.save, to one path and at one time. One of them is enough.

wrong-rank-writes 1
The checkpoint is written by {who}; rank 0 is to write it.

not-each-epoch 1.5
Rank 0 writes a checkpoint by torch.save after {after} of {epochs} epochs. One is due after each.

no-file 1.5
After the call there is no file at `checkpoint`.

not-loadable 1.5
torch.load with weights_only=True, which is its default, cannot read the checkpoint: {problem}

no-model-in-checkpoint 1.5
The checkpoint is no dict whose `model` is the model's state dict. It holds {holds}.

wrong-checkpoint 1.5
The checkpoint of epoch {epoch} does not hold the model as it is after that epoch.
""")

STATE = record(**{name: numbers(count) for name, count in {**SIZES, **BUFFERS}.items()})


def saves_schema() -> dict:
    """Of what `noted_saves` notes."""
    return array(record(after=integer(), holds=string(), state=optional(STATE)))


def file_schema() -> dict:
    """Of what `read_back` gives."""
    return record(holds=string(), state=optional(STATE), problem=optional(string()))


def checkpoint_mistakes(
    saves: Sequence[Sequence[dict]], file: dict, states: Sequence[dict], steps: int
) -> list[Finding]:
    """What is wrong with the checkpoints. saves: of each rank, whose moments count steps. file: what is there at last.

    states: of rank 0's model after each epoch, as they are due, or nothing where they are not to be looked at.
    steps: in an epoch.
    """
    writers = [rank for rank, own in enumerate(saves) if own]
    if len(writers) > 1:
        return [finding("all-ranks-write", who=name_ranks(writers).capitalize())]
    if writers and writers != [0]:
        return [finding("wrong-rank-writes", who=name_ranks(writers))]
    by_epoch = {save["after"] // steps - 1: save for save in saves[0] if save["after"] % steps == 0}
    epochs = len(states)
    if missing := [epoch for epoch in range(epochs) if epoch not in by_epoch]:
        return [finding("not-each-epoch", after=epochs - len(missing), epochs=epochs)]
    if file["problem"]:
        key = "no-file" if file["problem"] == "no file" else "not-loadable"
        return [finding(key, problem=file["problem"])]
    for epoch, save in [*sorted(by_epoch.items()), (epochs - 1, file)]:
        if save["state"] is None:
            return [finding("no-model-in-checkpoint", holds=save["holds"])]
        if states[epoch] and not same_state(save["state"], states[epoch]):
            return [finding("wrong-checkpoint", epoch=epoch)]
    return []
