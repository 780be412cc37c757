"""What the student's function answers to one task, and what it does besides."""

from __future__ import annotations

import os
from collections.abc import Callable

from autograde.contract.call_probe import CallRank
from autograde.contract.calls import type_in_words
from autograde.contract.evidence import Evidence, judged_in_places

from .decoys import decoyed

NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@judged_in_places(kinds="as far as there are values")
class Answer(Evidence):
    """To one task. values: by name, as texts; kinds: their types. kind: of the whole, in words; empty for a dict.
    error: that it raised instead. changed, written: whether the argument, or `os.environ`, is not what it was. program:
    that it called."""

    values: dict[str, str]
    kinds: dict[str, str]
    kind: str
    error: str
    changed: bool
    written: bool
    program: str


def answer(function: Callable, rank: CallRank, task: dict[str, str], names: list[str]) -> Answer:
    """What it answers to one task. names: of the step's nodes."""
    given, called, returned, error = dict(task), [], None, ""
    with decoyed(called, names):
        before = dict(os.environ)
        try:
            returned = function(given)
        except Exception as raised:
            error = rank.in_words(raised)[:300]
        written = dict(os.environ) != before
    known = returned if isinstance(returned, dict) else {}
    values = {name: str(known[name])[:100] for name in NAMES if name in known}
    kinds = {name: type(known[name]).__name__ for name in values}
    kind, program = "" if isinstance(returned, dict) else type_in_words(returned), called[0] if called else ""
    return Answer(values, kinds, kind, error, given != task, written, program)
