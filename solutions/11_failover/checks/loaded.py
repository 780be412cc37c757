"""Verdicts on what ranks have after `load_checkpoint` in lab 11."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from functools import partial

from autograde.contract.findings import Findings
from autograde.contract.verdict import Diagnosis, Finding
from autograde.verdicts.checkpoints import same, short
from autograde.verdicts.diagnosis import diagnose
from autograde.verdicts.loading import finding as of_loading
from autograde.verdicts.loading import refused, state_mistakes
from course.world.report import name_ranks

from .common import generator_after, next_number
from .saved_random import later

finding = Findings("""
fewer-ranks-refused 1.5
{size} ranks cannot load the file of {writers}: {error} What should a rank do whose number the file does not have?

not-the-files-place 1.5
From a file with epoch {epoch} and consumed {consumed} the function returns {value}.

gpus-file-refused 1.5
A file of ranks with GPUs has the states of these, too, and the function cannot load it on the CPU: {error} Which states
have a generator to go to?

random-not-restored 1.5
After the call, every rank has the random numbers that it had before. Dropout would not go on where it was.

rank-0s-random 1.5
After the call, every rank has the random numbers of rank 0. They would all drop the same units.

random-moved-on 1.5
After the call, the random numbers are some draws later than in the file. What draws after you have put them back?

newcomers-get-others 1
The file has no random numbers for {who}, and yet the rank's are not what they were. It should keep its own.

wrong-random 1.5
After the call, the random numbers of {who} are not those that the file has under its number.
""")


def moved_without_a_file(calls: Sequence[dict], own: Sequence) -> Iterator[Finding]:
    """A finding if random numbers are others where there was no file. own: luck of each rank."""
    for call, luck in zip(calls, own, strict=False):
        if call["error"] is None and call["drawn"] != drawn_after(luck):
            yield of_loading("changed-without-a-file", what="the random numbers")


def loading_mistakes(
    calls: Sequence[dict], expected: dict, place: Sequence[int], saved: Sequence, own: Sequence, gpus: bool
) -> Iterator[Finding | Diagnosis]:
    """What is wrong where a good file was there.

    expected, place, saved: model and optimizer, place and luck in it. own: luck before. gpus: whether it has states of
    GPUs, too.
    """
    size, writers = len(calls), len(saved)
    if found := refused(calls):
        error = short(next(call["error"] for call in calls if call["error"] is not None))
        if gpus:
            found = [finding("gpus-file-refused", error=error)]
        elif writers < size and found[0].key == "good-file-refused":
            found = [finding("fewer-ranks-refused", error=error, writers=writers, size=size)]
        yield from found
        return
    yield from state_mistakes(calls, expected)
    for call in calls:
        if not same(call["value"], [*place]):
            yield finding("not-the-files-place", epoch=place[0], consumed=place[1], value=short(call["value"]))
    yield from random_mistakes([call["drawn"] for call in calls], saved, own)


def random_mistakes(drawn: Sequence[float], saved: Sequence, own: Sequence) -> Iterator[Finding | Diagnosis]:
    """What is wrong with the numbers that come next on each rank. saved: luck in the file; own: before the call."""
    size, known = len(drawn), min(len(drawn), len(saved))
    before = [drawn_after(luck) for luck in own[:size]]
    expected = [drawn_after(luck) for luck in saved[:known]]
    newcomers = [rank for rank in range(known, size) if drawn[rank] != before[rank]]
    wrong = [rank for rank in range(known) if drawn[rank] != expected[rank]]
    actual, first = [*drawn[:known]], [drawn_after(saved[0])] * known
    candidates = {"random-not-restored": before[:known], "rank-0s-random": first}
    if all(value in later(luck) for value, luck in zip(actual, saved, strict=False)):
        candidates["random-moved-on"] = actual
    about = partial(finding, who=name_ranks(wrong) if wrong else "")
    yield diagnose("random", actual, expected, candidates, about, "wrong-random", operator.eq)
    if newcomers and not wrong:
        yield finding("newcomers-get-others", who=name_ranks(newcomers))


def drawn_after(luck: Sequence[int]) -> float:
    """The number that comes next after this luck, see `generator_after`."""
    return next_number(generator_after(luck))
