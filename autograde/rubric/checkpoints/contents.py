"""What is in a checkpoint, beside what should be."""

from __future__ import annotations

import math
from typing import Any

from autograde.fixtures.stepped import after_steps
from autograde.probes.checkpoint_calls import File
from autograde.probes.checkpoint_files import state_of
from autograde.rubric.judge import Call
from autograde.rubric.training.eager import eager
from autograde.rubric.words import Words, Wrong

words = Words("""
nothing-written: All ranks have returned, and the file is not there, or is still the old one. Does your code write to
`path`, and does it finish?

not-loadable: torch.load cannot load the file with weights_only=True: {error}

not-a-dict: The file does not hold a dictionary with {entries}.

model-missing: The file has no entry "model", so the weights are lost.

optimizer-missing: The file has no entry "optimizer". After a resume the momentum would start from zero, and the
training would take another path.

epoch-missing: The file has no entry "epoch", so a resumed training cannot know where to go on.

module-left: Names in "model" begin with "module.", as in {name!r}. That prefix belongs to the wrapper,
DistributedDataParallel; a model that is not wrapped cannot load it.

names-damaged: In "model", {name!r} has become {became!r}. Only the prefix at the beginning of a name has to go.

wrong-names: The names in "model" are not those of the model: {names} differ.

other-weights-saved: {name!r} in "model" is not what it is in the model.

wrong-optimizer: The entry "optimizer" is not the optimizer's whole state dict: momentum or options are missing.

epoch-off-by-one: The entry "epoch" is {epoch} after epoch {expected}. It should be the number of the last finished
epoch, counted from 0.

wrong-epoch: The entry "epoch" is {epoch} after epoch {expected}. It should be the number of the last finished epoch,
counted from 0.
""")

REACH = 200  # characters of an error or a value that a message quotes


def state_after(seed: int, optimizer: str, **how: int) -> dict:
    """The state dicts of a model and its optimizer, as plain data. how: see `after_steps`."""
    return state_of(*after_steps(seed, optimizer, **how, as_class=eager))


def state_in_file(call: Call) -> dict:
    """What the file holds that a call loads."""
    return state_after(call.arguments["seed"], call.arguments["optimizer"])


def state_before(call: Call) -> dict:
    """What the model and the optimizer are into which a call loads."""
    return state_after(call.arguments["fresh"], call.arguments["optimizer"], steps=0)


def wrong_file(file: File | None, expected: dict) -> Wrong | None:
    """What is wrong with a file. expected: its entries "model", "optimizer" and "epoch"."""
    if file is None or not file.there:
        return words("nothing-written")
    if file.error is not None:
        return words("not-loadable", error=short(file.error))
    content = file.content
    if not isinstance(content, dict):
        return words("not-a-dict", entries=" and ".join(f'"{name}"' for name in expected))
    if missing := [name for name in expected if content.get(name) is None]:
        return words(f"{missing[0]}-missing")
    if wrong := wrong_model(content["model"], expected["model"]):
        return wrong
    if not same(content["optimizer"], expected["optimizer"]):
        return words("wrong-optimizer")
    epoch, due = content["epoch"], expected["epoch"]
    if same(epoch, due):
        return None
    return words("epoch-off-by-one" if same(epoch, due + 1) else "wrong-epoch", epoch=short(epoch), expected=due)


def wrong_model(model: Any, expected: dict) -> Wrong | None:
    """What is wrong with the entry "model"."""
    if not isinstance(model, dict):
        return words("wrong-names", names="all of them")
    if model.keys() != expected.keys():
        if left := [name for name in model if name.startswith("module.")]:
            return words("module-left", name=left[0])
        for name in [name for name in expected if name not in model]:
            for became in (name.replace("module.", ""), name.lstrip("module.")):
                if became in model:
                    return words("names-damaged", name=name, became=became)
        return words("wrong-names", names=", ".join(sorted(model.keys() ^ expected.keys())[:4]))
    wrong = [name for name, values in expected.items() if not same(model[name], values)]
    return words("other-weights-saved", name=wrong[0]) if wrong else None


def same(one: Any, other: Any, tolerance: float = 1e-9) -> bool:
    """Whether two pieces of plain data are the same, numbers but for rounding. tolerance: relative."""
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
