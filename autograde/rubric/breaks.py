"""The words for a run that broke off: a deadlock, an error, a rank that died."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace

from autograde.contract.trouble import trouble
from autograde.rubric.communication.calls import wrong_group
from autograde.rubric.run import Run
from autograde.rubric.words import Ranks, Words, Wrong
from course.watch.differences import differences
from course.watch.differences.conditions import ASK

BROUGHT = frozenset({"size-differs", "dtype-differs", "operator-differs", "root-differs"})  # what ends in an error


class Errors:
    """What errors that the student's code raises mean in one TODO.

    text: words, see `Words`; fields are `who`, the ranks with the error, `error`, its type and message, `size`, and the
    arguments of the call. patterns: by key, with ``_`` for ``-``, a regular expression of the error. on: in which runs;
    None: in all. Raises ValueError if one of the two is missing.
    """

    def __init__(self, text: str = "", on: Callable[[Run], bool] | None = None, **patterns: str) -> None:
        self.words, self.on = Words(text), on
        self.patterns = {name.replace("_", "-"): re.compile(each) for name, each in patterns.items()}
        if unlike := {*self.words.messages} ^ {*self.patterns}:
            raise ValueError(f"errors have words and a pattern each; these have one only: {', '.join(sorted(unlike))}")

    def __call__(self, run: Run) -> Wrong | None:
        """The meaning of the first error that is known."""
        if self.on is not None and not self.on(run):
            return None
        for key, pattern in self.patterns.items():
            ranks = [rank for rank, error in run.errors.items() if pattern.search(error)]
            if ranks:
                about = {"size": len(run.ranks), **run.broken, "who": Ranks(ranks), "error": run.errors[ranks[0]]}
                return self.words(key, run.report, **about)
        return None


OF_CALLS = Errors(
    """
    no-such-rank: An error on {who} of {size}: MPI knows no rank of the number it was given. The first rank has nobody
    before it, and the last one nobody behind it. Which ranks have nobody at the other end?

    pickle-for-buffer: An error on {who}, in `recv`, which expects a packed Python object: another rank sent the array
    as it is, by `Send`. Both ends of a message need calls with the same first letter, small or capital. ({error})
    """,
    no_such_rank="MPI_ERR_RANK",
    pickle_for_buffer="^UnpicklingError: ",
)
OF_LENGTHS = Errors(
    """
    buffer-too-short: An error on {who}: a message has more bytes than the array has room for into which it is received.
    How many entries does the sender send, and of which dtype?
    """,
    buffer_too_short="MPI_ERR_TRUNCATE",
)


def why_it_broke_off(run: Run) -> Wrong:
    """What a run that did not come to its end means: who works in the wrong group, what differs between the ranks, else
    the error or the report as it is."""
    if known := wrong_group(run.events, run.report) or OF_CALLS(run) or differing(run) or OF_LENGTHS(run):
        return known
    other = trouble(run.outcome)
    return Wrong(other.key, other.message, report=other.report)


def differing(run: Run) -> Wrong | None:
    """What differs between the ranks in the call in which they stand, see `course.watch.differences`: why they wait; of
    an error or a death, what they brought to a call."""
    if run.full:
        return None
    ranks = []
    for record, log, through in zip(run.ranks, run.of_call(run.reached), run.came_through, strict=True):
        state = "returned" if through else record["state"]
        ranks.append(SimpleNamespace(events=log, state=state, full=False, unseen=record["unseen"], cells=()))
    known = [each for each in differences(ranks) if run.state == "hang" or each.key in BROUGHT]
    # A call of theirs that failed may have met what they brought to the ones before, which came through.
    failed = run.state == "rank-died" or any(event["failed"] for rank in ranks for event in rank.events)
    found = [each for each in known if not each.passed] or (known if failed and run.state != "hang" else [])
    if not found:
        return None
    begins, text, report = "A deadlock. " if run.state == "hang" else "", found[0].text, run.report.partition("\n\n")
    # The ranks have the cell's text, so their report also names the lines that decide who makes a call.
    known = text.removesuffix(ASK)
    text = next((line for line in report[2].splitlines() if line.startswith(known)), text)
    return Wrong(found[0].key, f"{begins}{text}", {}, report[0])
