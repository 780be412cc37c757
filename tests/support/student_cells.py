"""A student's cell in a test: its source text, run on the ranks as a check runs it."""

from __future__ import annotations

import time
from textwrap import dedent
from typing import Any

from autograde.cells.subject import Subject
from course.watch.events import DamagedLog, read_log


def cell(source: str, todo: str = "f") -> Subject:
    """The subject for a cell with this source; line 1 is the first line that is not blank."""
    return Subject(todo, dedent(source).lstrip("\n"))


def call(subject: Subject, *args: Any) -> Any:
    """Run the cell on a rank and call what it defines."""
    return subject.load()(*args)


def await_others(op: str) -> None:
    """For a cell: return on this rank when all others of a watched run are inside a call of this name."""
    from course.world.subworld import shell

    here = shell().lockstep_subworld
    others = [member for rank, member in enumerate(here.plan.ranks) if rank != here.comm.rank]
    while not all(is_in(op, here.plan.log.format(rank=member)) for member in others):
        time.sleep(0.01)


def is_in(op: str, log: str) -> bool:
    """Whether the rank with this log is inside a call of this name."""
    try:
        last = read_log(log)[-1:]
    except DamagedLog:  # it is being written
        return False
    return [(event["op"], event["state"]) for event in last] == [(op, "called")]
