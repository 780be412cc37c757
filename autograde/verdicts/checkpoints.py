"""Verdicts on checkpoints: who writes them, and when; what a crash would leave; what is in the file.

A content is plain data, as `autograde.probes.checkpoint_files` gives it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.diagnosis import diagnose
from course.world.report import name_ranks

finding = Findings("""
nothing-written 3
All ranks have returned, and the file is not there, or is still the old one. Does your code write to `path`, and does it
finish?

every-rank-writes 2
All {size} ranks write, at the same time. Where that is one file, it is chance which of them wins, and what they write
together may be no file at all.

local-rank-0-writes 2
{who} write the file: the local rank 0 of each node. Nodes share the folder, so they write over each other.

wrong-rank-writes 1.5
{who} write the file. In this group, only rank 0 should.

not-atomic 1.5
For a while there is something else at the place of the checkpoint, such as half a file. A rank that is killed just then
leaves it like that, and {lost}. What is there must be the old file or the new one, whole, at any moment.

file-gone-for-a-while 1.5
For a while there is no file at the place of the checkpoint, though an old one was there. A rank that is killed just
then has lost it.

not-loadable 2
torch.load cannot load the file with weights_only=True: {error}

not-a-dict 2
The file does not hold a dictionary with {entries}.

model-missing 2
The file has no entry "model", so the weights are lost.

optimizer-missing 1.5
The file has no entry "optimizer". After a resume the momentum would start from zero, and the training would take
another path.

epoch-missing 1
The file has no entry "epoch", so a resumed training cannot know where to go on.

module-left 1
Names in "model" begin with "module.", as in {name!r}. That prefix belongs to the wrapper, DistributedDataParallel; a
model that is not wrapped cannot load it.

names-damaged 0.5
In "model", {name!r} has become {became!r}. Only the prefix at the beginning of a name has to go.

wrong-names 1.5
The names in "model" are not those of the model: {names} differ.

other-weights-saved 1.5
{name!r} in "model" is not what it is in the model.

wrong-optimizer 1.5
The entry "optimizer" is not the optimizer's whole state dict: momentum or options are missing.

epoch-off-by-one 1
The entry "epoch" is {epoch} after epoch {expected}. It should be the number of the last finished epoch, counted from 0.

wrong-epoch 1
The entry "epoch" is {epoch} after epoch {expected}. It should be the number of the last finished epoch, counted from 0.
""")

REACH = 200  # characters of an error that a finding quotes


def who_writes(writers: Sequence[int], local: Sequence[int]) -> list[Diagnosis]:
    """What is wrong with who writes, where rank 0 is to, alone; nothing where no rank does.

    writers: the ranks that do. local: each rank's number on its node.
    """
    if not writers:
        return []
    leaders = [rank for rank, number in enumerate(local) if number == 0]
    candidates = {"every-rank-writes": [*range(len(local))], "local-rank-0-writes": leaders}
    about = partial(finding, size=len(local), who=name_ranks(writers).capitalize())
    return [diagnose("writers", [*writers], [0], candidates, about, "wrong-rank-writes")]


def always_whole(moments: Sequence[str | None], old: str | None, new: str | None) -> list[Finding]:
    """What a crash at one of these moments would have spoilt.

    moments: what tells the file of then from others, None where there was none; old, new: before and afterwards.
    """
    if old is not None and None in moments:
        return [finding("file-gone-for-a-while")]
    if set(moments) <= {old, new}:
        return []
    return [finding("not-atomic", lost="the old file is lost, too" if old else "no training can go on from it")]


def file_mistakes(file: dict, expected: dict, tolerance: float = 1e-9) -> list[Finding]:
    """What is wrong with a file, as of `read_checkpoint`; see `content_mistakes`."""
    if not file["there"]:
        return [finding("nothing-written")]
    if file["error"] is not None:
        return [finding("not-loadable", error=short(file["error"]))]
    return content_mistakes(file["content"], expected, tolerance)


def content_mistakes(content: Any, expected: dict, tolerance: float = 1e-9) -> list[Finding]:
    """What is wrong with a content.

    expected: "model", and "optimizer" and "epoch" where they are asked for. None for a part of the model that may hold
    anything. tolerance: relative, of the model's numbers.
    """
    if not isinstance(content, dict):
        return [finding("not-a-dict", entries=" and ".join(f'"{name}"' for name in expected))]
    found = [finding(f"{name}-missing") for name in expected if content.get(name) is None]
    if content.get("model") is not None:
        found += model_mistakes(content["model"], expected["model"], tolerance)
    optimizer, epoch = (content.get(name) if name in expected else None for name in ("optimizer", "epoch"))
    if optimizer is not None and not same(optimizer, expected["optimizer"]):
        found.append(finding("wrong-optimizer"))
    if epoch is not None and not same(epoch, expected["epoch"]):
        key = "epoch-off-by-one" if same(epoch, expected["epoch"] + 1) else "wrong-epoch"
        found.append(finding(key, epoch=short(epoch), expected=expected["epoch"]))
    return found


def model_mistakes(model: Any, expected: dict, tolerance: float) -> list[Finding]:
    """What is wrong with the entry "model"; the arguments are as in `content_mistakes`."""
    if not isinstance(model, dict):
        return [finding("wrong-names", names="all of them")]
    if model.keys() != expected.keys():
        if left := [name for name in model if name.startswith("module.")]:
            return [finding("module-left", name=left[0])]
        for name in [name for name in expected if name not in model]:
            for became in (name.replace("module.", ""), name.lstrip("module.")):
                if became in model:
                    return [finding("names-damaged", name=name, became=became)]
        return [finding("wrong-names", names=", ".join(sorted(model.keys() ^ expected.keys())[:4]))]
    known = {name: values for name, values in expected.items() if values is not None}
    wrong = [name for name, values in known.items() if not same(model[name], values, tolerance)]
    return [finding("other-weights-saved", name=wrong[0])] if wrong else []


def same(one: Any, other: Any, tolerance: float = 1e-9) -> bool:
    """Whether two pieces of plain JSON are the same, numbers but for rounding. tolerance: relative."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key], tolerance) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(*pair, tolerance) for pair in zip(one, other, strict=True))
    if type(one) in (int, float) and type(other) in (int, float):
        return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance / 1000)
    return type(one) is type(other) and one == other


def short(value: Any) -> str:
    """The beginning of a text."""
    text = " ".join(str(value).split())
    return text if len(text) <= REACH else text[:REACH] + "..."
