"""Findings for runs that did not finish on every rank."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from autograde.cells.cell_code import ALONE, lacks_name
from autograde.contract.result import Finding
from course.world.report import REFINED, OutcomeRecord

# States that need no report of what each rank did.
PLAIN = frozenset(REFINED.values())
# States after which the remaining cases are not tried.
STOPPING = PLAIN | {"hang", "too-slow", "rank-died"}

# The message for each state of a run; {detail} comes from the run.
MESSAGES = {
    "not-done": "`raise NotImplementedError()` is still in the cell: put your code in its place, and run the cell.",
    "no-such-name": "{detail}",
    "cell-fails": "The cell itself does not run: {detail}",
    "raised": "Your code raised an error: {detail}",
    "hang": "A deadlock: {detail}",
    "too-slow": "Not finished in time: {detail}",
    "too-much-output": "{detail}",
    "rank-died": "A rank died: {detail}",
    "bad-result": "{detail}",
}

# Errors that mean that a limit was reached: the finding's key, a pattern of the error's text, and advice.
RESOURCES = (
    ("output-limit", r"TooMuchOutput", "Print less: what a loop prints is printed in every round, by every rank."),
    (
        "file-limit",
        r"\[Errno (27|28)\]",
        "It wrote more to files than there is room for: the file, or the disk, is full.",
    ),
    (
        "memory-limit",
        r"MemoryError|can't allocate memory|Unable to allocate|Cannot allocate memory",
        "It asked for more memory than there is. How large do its arrays grow? Every rank holds its own.",
    ),
    (
        "process-limit",
        r"\[Errno 11\]|can't start new thread",
        "It started more processes or threads than there may be. The ranks are there already, others are not needed.",
    ),
)

# Ends of runs that say little of what caused them, and what does.
CAUSES = (
    (
        r"NotImplementedError(?!:)",
        "It comes from a base class, for a method that yours is to have (is one missing, or called otherwise?), or "
        "from a line that was left for later.",
    ),
    (
        r"UnpicklingError",
        "What came is no pickle. Either `Send` sent an array as it is in memory, and `recv` expects a pickle: capital "
        "letters belong together, and small ones. Or ranks are in different collective calls, and one of them got what "
        "another call sent: each rank has to make them all, in the same order.",
    ),
    (
        r"still compiles? in torch\.",
        "Compiling takes this long, tens of seconds on each rank at the first call, and not your computation, which is "
        "small here. A check looks at what comes out, not at how fast: leave out what compiles.",
    ),
    (
        r"MPI_ERR_TRUNCATE",
        "A message has more bytes than there is room for in the array into which it is received. How many numbers "
        "come, of which dtype? (`send` sends a pickle, which is longer.)",
    ),
    (r"'(float|int|float64|int64|float32|ndarray)' object has no attribute 'new'", "Horovod sends tensors only."),
    (
        r"object\.__init__\(\) takes exactly one argument",
        "The base class takes no arguments: torch's Sampler keeps nothing for you any more.",
    ),
)


def stops(evidence: Any) -> bool:
    """Whether this evidence shows a hang, a dead rank, an error while other ranks wait, or a cell that cannot run.

    After that, another case would only keep the student waiting for the same result.
    """
    if isinstance(evidence, dict) and "state" in evidence:  # an outcome; do not look into the student's data in it
        states = [rank.get("state") for rank in evidence.get("ranks", []) if isinstance(rank, dict)]
        return evidence["state"] in [*STOPPING] or (evidence["state"] == "raised" and "waiting" in states)
    values = evidence.values() if isinstance(evidence, dict) else evidence if isinstance(evidence, list) else ()
    return any(stops(value) for value in values)


def trouble(outcome: OutcomeRecord) -> Finding | None:
    """The finding for a run that did not finish on every rank; None if it did."""
    state, detail = outcome["state"], outcome["detail"]
    if state == "ok":
        return None
    finding = raised(detail, "" if state in PLAIN else outcome["report"], state)
    errors = [rank["error"] for rank in outcome["ranks"] if rank["error"]]
    missing = any(lacks_name(f"{error['type']}: {error.get('message', '')}") for error in errors)
    if missing and ALONE not in finding.message:
        finding = replace(finding, message=f"{finding.message} {ALONE}")
    return finding


def raised(text: str, report: str = "", state: str = "raised") -> Finding:
    """The finding for an error that the student's code raised; another one if the error means that a limit was reached.

    text: the error, including its type. report: what each rank did. state: of the run.
    """
    message = MESSAGES[state].format(detail=text)
    causes = [cause for pattern, cause in CAUSES if state != "not-done" and re.search(pattern, text)]
    message = " ".join([message, *causes, *([ALONE] if lacks_name(text) else [])])
    if state in (*PLAIN, "raised"):
        for key, pattern, advice in RESOURCES:
            if state == "too-much-output" or re.search(pattern, text):
                return Finding(key, f"{message} {advice}", report)
    return Finding(state, message, report)
