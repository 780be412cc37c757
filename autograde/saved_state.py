"""Verdicts on how a checkpoint is written: who touches which file, what a crash would leave, and what is in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograde.check import Finding
from autograde.findings import Findings
from autograde.schema import array, boolean, optional, record, string
from course.checkpointed import same, state_of, trained
from course.report import name_ranks

finding = Findings("""
barrier-on-rank-0 3
A deadlock: rank 0 waits for the others in a collective that {who} never called. Which ranks come past that line?

barrier-without-rank-0 3
A deadlock: {who} waited for rank 0, which never made that call. Which ranks come past that line?

nothing-written 3
All ranks have returned, and the file is not there, or it is still the old one.

every-rank-writes 2
All {size} ranks write the file, at the same time and at the same place. It is as good as what the last one leaves.

local-rank-0-writes 2
{who} write the file: the local rank 0 of each node. Nodes share the folder, and their writing runs into each other.

wrong-rank-writes 1.5
{who} write the file. In this group rank 0 is to, alone.

not-atomic 1.5
For a while there is something else at the place of the checkpoint, such as half a file. A rank that is killed just then
leaves it like that, and {lost}. What is there must be the old file or the new one, whole, at any moment.

file-gone-for-a-while 1.5
For a while there is no file at the place of the checkpoint, though an old one was there. A rank that is killed just
then has lost it.

other-disk 1.5
The file is written somewhere else, and then moved. Folders for checkpoints are mostly on a disk of their own, and
between two disks nothing can be moved in one go: {error}

left-behind 0.5
After a call there is more in the folder than the checkpoint: {names}.

leftovers-pile-up 0.5
A crash in the middle of writing leaves {names} behind, and after the next call that is still there. With each crash it
becomes more.

returns-too-early 1
{who} returned before the new file was there. What if that rank were to read it at once?

not-loadable 2
The file cannot be loaded with weights_only=True: {error}

not-a-dict 2
What is in the file is no dictionary with "model", "optimizer" and "epoch".

model-missing 2
The file has no entry "model".

optimizer-missing 1.5
The file has no entry "optimizer". Momentum then starts from nothing after a resume, and training takes another way.

epoch-missing 1
The file has no entry "epoch". Who resumes does not know where.

module-left 1
Names in "model" begin with "module.", as in {name!r}. That is DistributedDataParallel's own; a model that is not
wrapped cannot load it.

names-damaged 0.5
In "model", {name!r} has become {became!r}. Only what stands at the beginning of the names is too much.

wrong-names 1.5
The names in "model" are not those of the model: {names} differ.

wrong-weights 1.5
{name!r} in "model" is not what it is in the model.

wrong-optimizer 1.5
The entry "optimizer" is not the optimizer's whole state dict.

epoch-off-by-one 1
The entry "epoch" is {epoch} after epoch {due}. Due is the number of the last finished epoch, counted from 0.

wrong-epoch 1
The entry "epoch" is {epoch} after epoch {due}.
""")

REACH = 200  # characters of an error that a finding quotes


FILE = optional(string())
NAMES = array(string(), most=500)
SAVED = record(
    touched=NAMES,
    moments=array(record(file=FILE, others=NAMES), most=100),
    left=NAMES,
    before=FILE,
    returned=FILE,
    after=FILE,
    content=optional(record(there=boolean(), error=optional(string()), content={})),
)


def saving_trouble(run: dict) -> list[Finding]:
    """A finding for a run that hangs as rank 0 makes other calls than the rest, or that was to move a file too far."""
    if "cross-device" in run["detail"]:
        return [finding("other-disk", run["report"], error=short(run["detail"]))]
    if run["state"] != "hang":
        return []
    calls = [sum(event["library"] == "torch" for event in rank["events"]) for rank in run["ranks"]]
    if fewer := [rank for rank, number in enumerate(calls) if number < calls[0]]:
        return [finding("barrier-on-rank-0", run["report"], who=name_ranks(fewer))]
    if more := [rank for rank, number in enumerate(calls) if number > calls[0]]:
        return [finding("barrier-without-rank-0", run["report"], who=name_ranks(more))]
    return []


def saving_mistakes(case: dict, number: int, calls: Sequence[dict]) -> list[Finding]:
    """What is wrong with call `number` of `save_checkpoint`. calls: of each rank, as `SAVED`.

    case: `local`, each rank's number on its node; `epochs`; `seed` and `optimizer` of the model that was saved.
    """
    before, after, content = (calls[0][name] for name in ("before", "after", "content"))
    found = writing_mistakes(case["local"], [call["touched"] for call in calls])
    if content is None or not content["there"] or before == after:
        return [*found, finding("nothing-written")]
    if not found:
        found += crash_mistakes([moment["file"] for moment in calls[0]["moments"]], before, after)
    found += content_mistakes(
        content, state_of(*trained(case["seed"] + number, case["optimizer"]), case["epochs"][number])
    )
    if early := [rank for rank, call in enumerate(calls) if call["returned"] != after]:
        found.append(finding("returns-too-early", who=name_ranks(early).capitalize()))
    if left := calls[0]["left"]:
        found.append(finding("leftovers-pile-up" if number else "left-behind", names=", ".join(left)))
    return found


def writing_mistakes(local: Sequence[int], touched: Sequence[Sequence[str]]) -> list[Finding]:
    """Who should not have written. local: each rank's number on its node. touched: names of files, by rank."""
    writers = [rank for rank, names in enumerate(touched) if names]
    if writers in ([], [0]):
        return []
    if len(writers) == len(local):
        return [finding("every-rank-writes", size=len(local))]
    leaders = writers == [rank for rank, number in enumerate(local) if number == 0]
    return [finding("local-rank-0-writes" if leaders else "wrong-rank-writes", who=name_ranks(writers).capitalize())]


def crash_mistakes(moments: Sequence[str | None], old: str | None, new: str | None) -> list[Finding]:
    """What a crash at one of these moments would have spoilt.

    moments: what the file was like then, by `course.checkpointed.fingerprint`; old, new: before and afterwards.
    """
    if old is not None and None in moments:
        return [finding("file-gone-for-a-while")]
    if set(moments) <= {old, new}:
        return []
    return [finding("not-atomic", lost="the old file is lost, too" if old else "no training can go on from it")]


def content_mistakes(seen: dict, due: dict) -> list[Finding]:
    """What is wrong with the content of a file. seen: as `course.checkpointed.read_checkpoint`. due: its content."""
    if seen["error"] is not None:
        return [finding("not-loadable", error=short(seen["error"]))]
    content = seen["content"]
    if not isinstance(content, dict):
        return [finding("not-a-dict")]
    found = [finding(f"{name}-missing") for name in due if content.get(name) is None]
    if content.get("model") is not None:
        found += names_mistakes(content["model"], due["model"])
    if content.get("optimizer") is not None and not same(content["optimizer"], due["optimizer"]):
        found.append(finding("wrong-optimizer"))
    epoch = content.get("epoch")
    if epoch is not None and not same(epoch, due["epoch"]):
        key = "epoch-off-by-one" if same(epoch, due["epoch"] + 1) else "wrong-epoch"
        found.append(finding(key, epoch=short(epoch), due=due["epoch"]))
    return found


def names_mistakes(model: Any, due: dict) -> list[Finding]:
    """What is wrong with a state dict, as plain JSON, where `due` is right."""
    if not isinstance(model, dict):
        return [finding("wrong-names", names="all of them")]
    if model.keys() != due.keys():
        if left := [name for name in model if name.startswith("module.")]:
            return [finding("module-left", name=left[0])]
        for name in [name for name in due if name not in model]:
            for became in (name.replace("module.", ""), name.lstrip("module.")):
                if became in model:
                    return [finding("names-damaged", name=name, became=became)]
        names = ", ".join(sorted(model.keys() ^ due.keys())[:4])
        return [finding("wrong-names", names=names)]
    wrong = [name for name in due if not same(model[name], due[name])]
    return [finding("wrong-weights", name=wrong[0])] if wrong else []


def short(value: Any) -> str:
    """The beginning of a text."""
    text = " ".join(str(value).split())
    return text if len(text) <= REACH else text[:REACH] + "..."
