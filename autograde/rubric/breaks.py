"""The words for a run that broke off: a deadlock, an error, a rank that died."""

from __future__ import annotations

import re
from collections.abc import Iterable

from autograde.contract.trouble import trouble
from autograde.contract.verdict import Diagnosis, Finding, settle
from autograde.rubric.run import Run
from autograde.rubric.words import Ranks, Words, Wrong
from autograde.verdicts import collectives, point_to_point

words = Words("""
pickle-for-buffer: An error on {who}, in `recv`, which expects a packed Python object: another rank sent the array as it
is, by `Send`. Both ends of a message need calls with the same first letter, small or capital. ({detail})
""")


class Errors:
    """What errors that the student's code raises mean in one TODO.

    text: words, see `Words`; fields are `who`, the ranks with the error, `error`, its type and message, `size`, and the
    arguments of the call. patterns: by key, with ``_`` for ``-``, a regular expression of the error. Raises ValueError
    if one of the two is missing.
    """

    def __init__(self, text: str = "", **patterns: str) -> None:
        self.words = Words(text)
        self.patterns = {name.replace("_", "-"): re.compile(each) for name, each in patterns.items()}
        if unlike := {*self.words.messages} ^ {*self.patterns}:
            raise ValueError(f"errors have words and a pattern each; these have one only: {', '.join(sorted(unlike))}")

    def __call__(self, run: Run) -> Wrong | None:
        """The meaning of the first error that is known."""
        for key, pattern in self.patterns.items():
            ranks = [rank for rank, error in run.errors.items() if pattern.search(error)]
            if ranks:
                about = {"size": len(run.ranks), **run.broken, "who": Ranks(ranks), "error": run.errors[ranks[0]]}
                return self.words(key, run.report, **about)
        return None


def of_finding(found: Finding) -> Wrong:
    """A finding of `autograde.verdicts`, without its price."""
    return Wrong(found.key, found.message, {}, found.report)


# What is said because something was not seen: a call that is not recorded may be it.
ABSENT = frozenset(
    {
        *("no-reduction", "unseen-communication", "idle-ranks", "not-waited-for", "not-the-sum"),
        *("same-on-every-rank", "not-own-part", "not-what-came-out", "result-dropped", "result-stays"),
    }
)


def first_finding(found: Iterable[Finding | Diagnosis], *, absent: bool = False) -> Wrong | None:
    """The first of some findings of `autograde.verdicts`, if there is one. absent: see `Wrong`; those of `ABSENT` are
    so by themselves."""
    wrong = next(map(of_finding, settle([found])), None)
    return wrong and Wrong(wrong.key, wrong.message, {}, wrong.report, absent=absent or wrong.key in ABSENT)


def why_it_broke_off(run: Run) -> Wrong:
    """What a run that did not come to its end means: who works in the wrong group, which collective was left out, who
    waits for whom, else the error or the report as it is."""
    known = next((of_finding(each) for each in causes(run)), None) or pickle_for_buffer(run)
    return known or of_finding(trouble(run.outcome, 0.0)[0])


def pickle_for_buffer(run: Run) -> Wrong | None:
    """An error of pickle's, on a rank that receives as a packed object what is none."""
    ranks = [rank for rank, error in run.errors.items() if error.startswith("UnpicklingError: ")]
    return words.on_ranks("pickle-for-buffer", ranks, run.report, detail=run.errors[ranks[0]] if ranks else "")


def causes(run: Run) -> Iterable[Finding]:
    """Known causes, the most certain first."""
    yield from collectives.wrong_group(len(run.ranks), collectives.group_sizes(run.events), run.report)
    if run.full:
        return
    events = run.of_call(run.reached)
    if run.state in ("raised", "hang", "rank-died"):
        yield from collectives.unequal_sizes(events, run.report)
    if run.state == "hang":
        yield from collectives.deadlock(events, run.report)
    yield from point_to_point.stuck(run)
