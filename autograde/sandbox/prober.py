"""Runs the probes of one submission, apart from the grader, which trusts nothing that comes from here.

The prober is a fork of the fork server, in a sandbox. It starts a world of ranks before it gets a submission, and then
answers questions on a socket, one JSON object per line:

    question  a `Question`: one case; the others are not here
    answers   {"ready": true}                once, when the ranks are up
              {"evidence": ..., "seconds": how long the probe ran}
              {"broken": "..."}              the ranks could not be replaced
              {"failed": "..."}              the probe itself failed, not the student's code

It ends when the socket is closed.
"""

from __future__ import annotations

import gc
import json
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO, TypedDict

from autograde.cells.subject import Subject
from autograde.contract.check import plain
from autograde.contract.lab_package import LabPackage
from course.world import World, WorldError


class Question(TypedDict):
    """One case of a TODO. source, notebook: of the `Subject`."""

    todo: str
    source: str
    case: dict
    notebook: dict[str, str]


def probe_all(channel: socket.socket, ranks: int, checks: dict[str, str]) -> None:
    """Answer the questions on `channel`. ranks: of the world. checks: files by path, from `beside_students`."""
    probes = LabPackage.of(checks, "").probes()
    with World(ranks, progress=False, warm=True) as world, channel.makefile("r") as lines, channel.makefile("w") as out:
        say(out, ready=True)
        last = None
        for line in lines:
            question: Question = json.loads(line)
            if last not in (None, question["todo"]):
                keep(world)
            last = question["todo"]
            subject = Subject(question["todo"], question["source"], question["notebook"])
            say(out, **answer(probes[question["todo"]], world, subject, question["case"]))


def keep(world: World) -> None:
    """Have the ranks keep what a TODO left behind: else it could be collected, and its `__del__` run, in the time of
    the next TODO."""
    with suppress(WorldError):
        world.attempt(gc.freeze, watch=False)


def answer(probe: Callable, world: World, subject: Subject, case: dict) -> dict:
    """The answer to a question about one case."""
    began = time.monotonic()
    try:
        evidence = plain(probe(world, subject, case))
    except WorldError as error:
        return {"broken": str(error)}
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    return {"evidence": evidence, "seconds": time.monotonic() - began}


def say(out: TextIO, **message: object) -> None:
    """Send one message."""
    out.write(json.dumps(message) + "\n")
    out.flush()
