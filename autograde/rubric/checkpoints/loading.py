"""Judges of calls that load checkpoints, with no file, with a good one, and with one that does not fit.

A call has the `kind` of its file, see `autograde.probes.checkpoint_calls.write_checkpoint`; `seed` and `optimizer` of
what is in it; and `fresh`, the seed of the model that it is given. It shows a `Loaded`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from autograde.probes.checkpoint_calls import FILE
from autograde.rubric.checkpoints.contents import same, short, state_before, state_in_file
from autograde.rubric.judge import Call
from autograde.rubric.mistakes import Gives, Mistakes, changed
from autograde.rubric.values.same import Difference, Same, on_ranks
from autograde.rubric.words import Ranks, Words, Wrong

words = Words("""
no-file-is-an-error: Without a file the function raises {error}. Every training begins without one.

starts-elsewhere: Without a file the function returns {value}. Where does a training begin?

changed-without-a-file: There is no file, and yet the call changes {what}.

good-file-refused: The function refuses a file such as `save_checkpoint` writes: {error}

no-map-location: A file that a rank with a GPU wrote cannot be loaded on the CPU: {error}

weights-not-loaded: After the call, {who:does|do} not have the file's model: {name!r} differs.

rank-0-only: After the call only rank 0 has the file's model, and {who:does|do} not. DistributedDataParallel sends rank
0's weights to the others when it wraps a model, not later.

optimizer-not-loaded: After the call, the optimizer on {who} does not have the file's state. Its momentum is part of the
training.

strict-false: The function accepts the file of another model, {how}, and nobody notices.

missing-entry-ignored: The function accepts a file without the entry {name!r}, and returns {value}.

some-ranks-refuse: For a file that does not fit, {who} returned as if all was well, while {others} raised an error.

error-names-no-file: The error for a file that does not fit does not say which file it is: {error}
""")

OTHER_MODELS = {
    "missing": "in which some weights of this one are missing: those keep their random values",
    "unexpected": "which has more weights than this one: those are lost",
    "renamed": "with other names: none of its weights gets into this one",
}


def errors_of(call: Call) -> list[str]:
    """The errors of the ranks that raised one."""
    return [error for error in call.of("error") if error is not None]


def differing(call: Call, part: str, expected: dict) -> list[int]:
    """The ranks whose state of a part, "model" or "optimizer", is another one. expected: the state of both."""
    return [rank for rank, each in enumerate(call.of(part)) if not same(each, expected[part])]


def nothing_there(start: Any) -> Callable[[Call], Wrong | None]:
    """A judge of calls without a file: nothing changes, and `start` is returned."""

    def judge(call: Call) -> Wrong | None:
        if errors := errors_of(call):
            return words("no-file-is-an-error", error=short(errors[0]))
        if others := [value for value in call.of("value") if not same(value, start)]:
            return words("starts-elsewhere", value=short(others[0]))
        moved = [part for part in ("model", "optimizer") if differing(call, part, state_before(call))]
        return words("changed-without-a-file", what=f"the {moved[0]}") if moved else None

    return judge


def accepted(call: Call) -> Wrong | None:
    """A good file is no error."""
    if not (errors := errors_of(call)):
        return None
    on_gpu = re.search("map_location|CUDA|cuda", errors[0])
    return words("no-map-location" if on_gpu else "good-file-refused", error=short(errors[0]))


def state_loaded(call: Call) -> Wrong | None:
    """Model and optimizer are those of the file."""
    expected, others = state_in_file(call), [*range(1, call.size)]
    without, old = (differing(call, part, expected) for part in ("model", "optimizer"))
    if without == others and others:
        return words.on_ranks("rank-0-only", without)
    if without:
        model = call.seen[without[0]].model
        differ = [name for name, values in expected["model"].items() if not same(model.get(name), values)]
        return words.on_ranks("weights-not-loaded", without, name=(differ or ["a name"])[0])
    return words.on_ranks("optimizer-not-loaded", old)


def misfit(call: Call, off: Difference | None = None) -> Wrong | None:
    """What is wrong where the file does not fit."""
    kind, errors = call.arguments["kind"], call.of("error")
    silent = [rank for rank, error in enumerate(errors) if error is None]
    if not silent:
        unnamed = [error for error in errors if FILE not in error]
        return words("error-names-no-file", error=short(unnamed[0])) if unnamed else None
    if len(silent) < call.size:
        others = Ranks(rank for rank in range(call.size) if rank not in silent)
        return words.on_ranks("some-ranks-refuse", silent, others=others)
    if kind in OTHER_MODELS:
        return words("strict-false", how=OTHER_MODELS[kind])
    if kind == "half":
        return REFUSED_WRONGLY.words("broken-file-ignored", value=short(call.seen[0].value))
    return words("missing-entry-ignored", name=kind.removeprefix("without-"), value=short(call.seen[0].value))


# Judge of calls with a file that does not fit: an error on every rank.
REFUSED = Same(
    lambda call: [error is not None for error in call.of("error")],
    lambda call: [True] * call.size,
    on_ranks("that it is refused"),
    otherwise=misfit,
)
# Mistakes of those who take any file.
REFUSED_WRONGLY = Mistakes(
    """
    broken-file-ignored: The function accepts any file, half a one, too, and returns {value}. Training would start from
    the beginning and overwrite the file.
    """,
    changed(broken_file_ignored=lambda call: Gives(False, value=short(call.seen[0].value))),
)
