"""Checks of checkpoints: of calls that write them into a watched folder, and of calls that load files of all kinds.

Calls are those of `autograde.probes.checkpoint_calls`. One that saves has `places`, of each save what it is told, the
epoch first; `seed` and `optimizer` of what is saved; and each rank's number on its node, `local`. It shows `calls`, a
`Saved` each. One that loads has the `kind` of its file; `seed` and `optimizer` of what is in it; and `fresh`, the seed
of the model that it is given. It shows a `Loaded`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograde.contract.evidence import encoded
from autograde.contract.verdict import Finding, settle
from autograde.fixtures.stepped import after_steps
from autograde.probes.checkpoint_files import state_of
from autograde.rubric.breaks import first_finding, of_finding
from autograde.rubric.judge import Call, once
from autograde.rubric.judges.same import Difference, Same, on_ranks
from autograde.rubric.mistakes import Gives, Mistakes, changed
from autograde.rubric.run import Run
from autograde.rubric.words import Words, Wrong
from autograde.verdicts.checkpoints import short
from autograde.verdicts.loading import misfit_mistakes, no_file_mistakes, refused, state_mistakes
from autograde.verdicts.saving import saving_mistakes, unfinished_saving

WRITERS = ("every-rank-writes", "local-rank-0-writes", "wrong-rank-writes")
WHOLE = ("not-atomic", "file-gone-for-a-while")
BEHIND = ("left-behind", "leftovers-pile-up")
EARLY = ("returns-too-early",)
FILE = "0.pt"  # name of the file that a call loads

words = Words("""
others-removed: After a call, the folder lacks {names}, which your function did not write: which files may your code
remove?

local-rank-0-writes: {who} write the file: the local rank 0 of each node. Nodes share the folder, so they write over
each other.
""")


@once
def saving(call: Call) -> list[Finding]:
    """What is wrong with all files of a call."""
    found, about = [], call.arguments
    for number, place in enumerate(about["places"]):
        calls = [encoded(each.calls[number]) for each in call.seen]
        expected = state_of(*after_steps(about["seed"] + number, about["optimizer"]))
        found.append([*saving_mistakes(number, calls, about["local"], {**expected, "epoch": place[0]})])
    return settle(found)


def first_among(call: Call, *keys: str) -> Wrong | None:
    """Which of these is wrong first. Where nothing is written, nothing of it holds."""
    return next((of_finding(each) for each in saving(call) if each.key in (*keys, "nothing-written")), None)


def right_writer(call: Call) -> Wrong | None:
    """Rank 0 writes, and no other rank."""
    return first_among(call, *WRITERS)


def always_whole(call: Call) -> Wrong | None:
    """At any moment there is the old file or the new one, whole."""
    return first_among(call, *WHOLE)


def returns_after(call: Call) -> Wrong | None:
    """All ranks return after the new file is there."""
    return first_among(call, *EARLY)


def right_content(call: Call) -> Wrong | None:
    """What is in the files is what was saved."""
    others = (*WRITERS, *WHOLE, *BEHIND, *EARLY)
    return next((of_finding(each) for each in saving(call) if each.key not in others), None)


def folder_clean(call: Call) -> Wrong | None:
    """No file is left, and nobody else's is gone."""
    gone = sorted({name for own in call.seen for each in own.calls for name in each.gone})
    if gone:
        return words("others-removed", names=gone)
    return first_among(call, *BEHIND)


def saving_broke_off(run: Run) -> Wrong | None:
    """Rank 0 makes other calls than the rest, or ranks write one and the same file."""
    wrong = first_finding(unfinished_saving(run))
    leaders = [rank for rank, number in enumerate(run.broken["local"]) if number == 0]
    if wrong and wrong.key == "every-rank-writes" and len(leaders) > 1 and {*run.errors} <= {*leaders}:
        return words.on_ranks("local-rank-0-writes", leaders, run.report)
    return wrong


def loaded(call: Call) -> list[dict]:
    """What each rank showed, as plain data."""
    return [*map(encoded, call.seen)]


def accepted(call: Call) -> Wrong | None:
    """A good file is no error."""
    return first_finding(refused(loaded(call)))


def state_loaded(call: Call) -> Wrong | None:
    """Model and optimizer are those of the file."""
    return first_finding(state_mistakes(loaded(call), state_of(*after_steps(*in_file(call)))))


def in_file(call: Call) -> tuple[int, str]:
    """What the model and the optimizer in the file are made from."""
    return call.arguments["seed"], call.arguments["optimizer"]


def nothing_there(start: Any) -> Callable[[Call], Wrong | None]:
    """A judge of calls without a file: nothing changes, and `start` is returned."""

    def judge(call: Call) -> Wrong | None:
        before = state_of(*after_steps(call.arguments["fresh"], call.arguments["optimizer"], steps=0))
        return first_finding(no_file_mistakes(loaded(call), before, start))

    return judge


def misfit(call: Call, off: Difference | None = None) -> Wrong | None:
    """What is wrong where the file does not fit."""
    return first_finding(misfit_mistakes(call.arguments["kind"], FILE, loaded(call)))


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
