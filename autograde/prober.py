"""Runs the probes of one submission, apart from the grader. Nothing that it says is believed without a verdict.

    python -m autograde.prober CHANNEL

It starts in a folder that holds `job.json` (`todo`, `source` and `cases` for each TODO) and the lab's `checks.py`. It
writes one JSON object a line to the file descriptor CHANNEL, which the ranks do not have; what student code prints goes
elsewhere:

    {"world": "ready"}
    {"todo": "mse_gradient", "state": "begun"}
    {"todo": "mse_gradient", "state": "done", "evidence": [...]}
    {"todo": "mse_gradient", "state": "failed", "reason": "..."}      our side failed, not the student's code

It ends when its standard input does, that is, when the grader is gone.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sys
import threading
from pathlib import Path
from typing import TextIO

from autograde.check import gather
from autograde.labs import load_checks, load_ranks
from autograde.subject import Subject


def main() -> None:
    """Do the job in this folder."""
    channel = os.fdopen(int(sys.argv[1]), "w", encoding="utf-8")
    os.set_inheritable(channel.fileno(), False)
    ending = threading.Thread(target=end_with_the_grader, daemon=True)
    ending.start()
    job = json.loads(Path("job.json").read_text(encoding="utf-8"))
    Path("job.json").unlink()
    path = Path("checks.py").resolve()
    checks = {check.todo: check for check in load_checks(path)}
    from course.world import World

    with World(load_ranks(path), progress=False) as world:
        say(channel, world="ready")
        for item in job:
            todo = item["todo"]
            say(channel, todo=todo, state="begun")
            try:
                evidence = gather(checks[todo], world, Subject(todo, item["source"]), item["cases"])
            except Exception as error:
                say(channel, todo=todo, state="failed", reason=f"{type(error).__name__}: {error}")
            else:
                say(channel, todo=todo, state="done", evidence=evidence)
    if select.select([sys.stdin], [], [], 0)[0]:  # the grader went as the job ended: nobody else tidies up
        ending.join()


def say(channel: TextIO, **message: object) -> None:
    """Send one message."""
    channel.write(json.dumps(message) + "\n")
    channel.flush()


def end_with_the_grader() -> None:
    """Wait for the end of standard input; then tidy up and end this session. The world's reaper ends the ranks."""
    sys.stdin.buffer.read()
    shutil.rmtree(Path.cwd(), ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
