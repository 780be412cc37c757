"""Verdicts on calls of `load_checkpoint`: without a file, with a good one, and with one that does not fit.

A call, of each rank, has `value` and `error`, what it returned or raised, and the state of `model` and `optimizer`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.checkpoints import same, short
from autograde.verdicts.diagnosis import diagnose
from course.world.report import name_ranks

finding = Findings("""
no-file-is-an-error 1
Without a file the function raises {error}. Every training begins without one.

starts-elsewhere 1
Without a file the function returns {value}. Where does a training begin?

changed-without-a-file 1
There is no file, and yet the call changes {what}.

good-file-refused 3
The function refuses a file such as `save_checkpoint` writes: {error}

no-map-location 1
A file that a rank with a GPU wrote cannot be loaded on the CPU: {error}

weights-not-loaded 2
After the call, {who} does not have the file's model: {name!r} differs.

rank-0-only 2
After the call only rank 0 has the file's model, and {who} does not. DistributedDataParallel sends rank 0's weights to
the others when it wraps a model, not later.

optimizer-not-loaded 1.5
After the call, the optimizer on {who} does not have the file's state. Its momentum is part of the training.

strict-false 1.5
The function accepts the file of another model, {how}, and nobody notices.

broken-file-ignored 1.5
The function accepts half a file, and returns {value}. Training would start from the beginning and overwrite the
file.

missing-entry-ignored 1
The function accepts a file without the entry {name!r}, and returns {value}.

some-ranks-refuse 1
For a file that does not fit, {who} returned as if all was well, while {others} raised an error.

error-names-no-file 0.5
The error for a file that does not fit does not say which file it is: {error}
""")

PARTS = ("model", "optimizer")
OTHER_MODELS = {
    "missing": "in which some weights of this one are missing: those keep their random values",
    "unexpected": "which has more weights than this one: those are lost",
    "renamed": "with other names: none of its weights gets into this one",
}


def no_file_mistakes(calls: Sequence[dict], before: dict, start: Any) -> Iterator[Finding]:
    """What is wrong where there was no file. before: state of model and optimizer. start: what is to be returned."""
    for call in calls:
        if call["error"] is not None:
            yield finding("no-file-is-an-error", error=short(call["error"]))
        elif not same(call["value"], start):
            yield finding("starts-elsewhere", value=short(call["value"]))
        elif changed := [name for name in PARTS if not same(call[name], before[name])]:
            yield finding("changed-without-a-file", what=f"the {changed[0]}")


def refused(calls: Sequence[dict]) -> list[Finding]:
    """A finding if some rank refuses a good file."""
    if errors := [call["error"] for call in calls if call["error"] is not None]:
        on_gpu = re.search("map_location|CUDA|cuda", errors[0])
        return [finding("no-map-location" if on_gpu else "good-file-refused", error=short(errors[0]))]
    return []


def state_mistakes(calls: Sequence[dict], expected: dict) -> Iterator[Finding | Diagnosis]:
    """What is wrong with model and optimizer where no rank refused a good file. expected: their state in it."""
    others = [*range(1, len(calls))]
    without, old = ([rank for rank, call in enumerate(calls) if not same(call[part], expected[part])] for part in PARTS)
    model = calls[without[0]]["model"] if without else {}
    differ = [name for name, values in expected["model"].items() if not same(model.get(name), values)]
    who = name_ranks(without) if without else ""
    about = partial(finding, who=who, name=(differ or ["a name"])[0])
    yield diagnose("model", without, [], {"rank-0-only": others}, about, "weights-not-loaded", operator.eq)
    if old and not (old == without == others):
        yield finding("optimizer-not-loaded", who=name_ranks(old))


def misfit_mistakes(kind: str, name: str, calls: Sequence[dict]) -> Iterator[Finding]:
    """What is wrong where the file `name` does not fit. kind: as of `autograde.probes.checkpoint_calls`."""
    silent = [rank for rank, call in enumerate(calls) if call["error"] is None]
    if not silent:
        if unnamed := [call["error"] for call in calls if name not in call["error"]]:
            yield finding("error-names-no-file", error=short(unnamed[0]))
    elif len(silent) < len(calls):
        others = [rank for rank, call in enumerate(calls) if call["error"] is not None]
        yield finding("some-ranks-refuse", who=name_ranks(silent), others=name_ranks(others))
    elif kind in OTHER_MODELS:
        yield finding("strict-false", how=OTHER_MODELS[kind])
    elif kind == "half":
        yield finding("broken-file-ignored", value=short(calls[0]["value"]))
    else:
        lacking = kind.removeprefix("without-")
        yield finding("missing-entry-ignored", name=lacking, value=short(calls[0]["value"]))
