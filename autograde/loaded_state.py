"""Verdicts on how a checkpoint is read: what model and optimizer are then, and which files are refused."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autograde.check import Finding
from autograde.findings import Findings
from autograde.saved_state import short
from autograde.schema import optional, record, string
from course.checkpointed import same, state_of, trained
from course.report import name_ranks

finding = Findings("""
no-file-is-an-error 1
Where there is no file the function raises {error}. That is how every training begins.

starts-elsewhere 1
Where there is no file the function returns {value}. With which epoch does a training begin?

changed-without-a-file 1
Where there is no file, the model or the optimizer is another after the call.

good-file-refused 3
A file as `save_checkpoint` writes it is refused: {error}

no-map-location 1
A file that a rank with a GPU wrote cannot be loaded on the CPU: {error}

repeats-an-epoch 1
From a file with epoch {epoch} the function returns {value}. That epoch is finished, and would be trained again.

wrong-start 1
From a file with epoch {epoch} the function returns {value}.

weights-not-loaded 2
On {who} the model is not the file's after the call: {name!r} differs.

rank-0-only 2
Rank 0 has the file's model after the call, and {who} not. DistributedDataParallel compares weights when it wraps a
model, not later.

optimizer-not-loaded 1.5
On {who} the optimizer is not in the file's state after the call. Its momentum is part of the training.

strict-false 1.5
A file of another model, {how}, is taken without a word. Weights that no file has stay as they were drawn, and nobody
notices.

broken-file-ignored 1.5
A file of which only a half was written is taken without a word: the function returns {value}. Training would begin
anew, and write over it.

missing-entry-ignored 1
A file without the entry {name!r} is taken without a word: the function returns {value}.

some-ranks-refuse 1
Of a file that does not fit, {who} say nothing, and the others raise an error.

error-names-no-file 0.5
The error for a file that does not fit does not say which file it is: {error}
""")

LOADED = record(value={}, error=optional(string()), model={"type": "object"}, optimizer={"type": "object"})


def reading_mistakes(case: dict, number: int, calls: Sequence[dict]) -> list[Finding]:
    """What is wrong with a call of `load_checkpoint` for file `number` of the case. calls: of each rank, as `LOADED`.

    case: `files`, the kinds of files; `seed`, `optimizer` and `epoch` of what they hold; `fresh`, seed of the models.
    """
    kind = case["files"][number]
    if kind == "none":
        before = state_of(*trained(case["fresh"] + number, case["optimizer"], steps=0), 0)
        return no_file_mistakes(calls, {name: before[name] for name in ("model", "optimizer")})
    if kind == "good":
        return loading_mistakes(calls, state_of(*trained(case["seed"], case["optimizer"]), case["epoch"]))
    return misfit_mistakes(kind, f"{number}.pt", calls)


def no_file_mistakes(calls: Sequence[dict], before: dict) -> list[Finding]:
    """What is wrong where there was no file. calls: of each rank. before: the state of model and optimizer."""
    found = []
    for call in calls:
        if call["error"] is not None:
            found.append(finding("no-file-is-an-error", error=short(call["error"])))
        elif not same(call["value"], 0):
            found.append(finding("starts-elsewhere", value=short(call["value"])))
        elif not same({"model": call["model"], "optimizer": call["optimizer"]}, before):
            found.append(finding("changed-without-a-file"))
    return found


def loading_mistakes(calls: Sequence[dict], due: dict) -> list[Finding]:
    """What is wrong where a good file was there. calls: of each rank. due: what is in the file."""
    for call in calls:
        if (error := call["error"]) is not None:
            on_gpu = re.search("map_location|CUDA|cuda", error)
            return [finding("no-map-location" if on_gpu else "good-file-refused", error=short(error))]
    found, others = [], [*range(1, len(calls))]
    without = [rank for rank, call in enumerate(calls) if not same(call["model"], due["model"])]
    if without and without == others:
        found.append(finding("rank-0-only", who=name_ranks(without)))
    elif without:
        model = calls[without[0]]["model"]
        names = [name for name in due["model"] if not same(model.get(name), due["model"][name])]
        found.append(finding("weights-not-loaded", who=name_ranks(without), name=names[0] if names else "a name"))
    old = [rank for rank, call in enumerate(calls) if not same(call["optimizer"], due["optimizer"])]
    if old and not (old == without == others):
        found.append(finding("optimizer-not-loaded", who=name_ranks(old)))
    for call in calls:
        if not same(call["value"], due["epoch"] + 1):
            key = "repeats-an-epoch" if same(call["value"], due["epoch"]) else "wrong-start"
            found.append(finding(key, epoch=due["epoch"], value=short(call["value"])))
    return found


MISFITS = {
    "missing": "in which some weights of this one are missing",
    "unexpected": "which has more weights than this one",
    "renamed": "with other names",
}


def misfit_mistakes(kind: str, name: str, calls: Sequence[dict]) -> list[Finding]:
    """What is wrong where the file `name` did not fit.

    kind: "half", one of `MISFITS`, or "without-" and the name of an entry. calls: of each rank.
    """
    silent = [rank for rank, call in enumerate(calls) if call["error"] is None]
    if silent and len(silent) < len(calls):
        return [finding("some-ranks-refuse", who=name_ranks(silent))]
    if silent:
        value = short(calls[0]["value"])
        if kind in MISFITS:
            return [finding("strict-false", how=MISFITS[kind])]
        if kind == "half":
            return [finding("broken-file-ignored", value=value)]
        return [finding("missing-entry-ignored", name=kind.removeprefix("without-"), value=value)]
    unnamed = [call["error"] for call in calls if name not in call["error"]]
    return [finding("error-names-no-file", error=short(unnamed[0]))] if unnamed else []
