"""Runs the probes of one submission, apart from the grader. Nothing that it says is believed without a verdict.

It is a fork of the zygote, in a sandbox. It starts a world of ranks before it knows any submission, and then answers
questions on a socket, one JSON object a line:

    asked    {"todo": "mse_gradient", "source": "def ...", "case": {...}, "notebook": {}}
                                            one case; there are no others here. notebook: for `Subject`
    answers  {"ready": true}                once, when the ranks are up
             {"evidence": ...}
             {"broken": "..."}              the ranks could not be replaced
             {"failed": "..."}              the probe itself failed, not the student's code

It ends when the socket is closed.
"""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from typing import TextIO

from autograde.check import Check, plain
from autograde.labs import load_checks
from autograde.subject import Subject
from course.world import World, WorldError


def probe_all(channel: socket.socket, ranks: int, checks: str) -> None:
    """Answer what is asked on `channel`. ranks: of the world. checks: the text of a checks.py, cut down to probes."""
    path = Path("checks.py").resolve()
    path.write_text(checks, encoding="utf-8")
    known = {check.todo: check for check in load_checks(path, probes_only=True)}
    with World(ranks, progress=False, warm=True) as world, channel.makefile("r") as lines, channel.makefile("w") as out:
        say(out, ready=True)
        for line in lines:
            asked = json.loads(line)
            subject = Subject(asked["todo"], asked["source"], asked.get("notebook", {}))
            say(out, **answer(known[asked["todo"]], world, subject, asked["case"]))


def answer(check: Check, world: World, subject: Subject, case: dict) -> dict:
    """What is to be said of one case. "seconds": how long the probe ran."""
    began = time.monotonic()
    try:
        evidence = plain(check.probe(world, subject, case))
    except WorldError as error:
        return {"broken": str(error)}
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    return {"evidence": evidence, "seconds": time.monotonic() - began}


def say(out: TextIO, **message: object) -> None:
    """Send one message."""
    out.write(json.dumps(message) + "\n")
    out.flush()
