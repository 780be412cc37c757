"""`lockstep grade --background`: the run is a process of its own, and goes on when terminal and browser are closed.

It is the same command with `--detached`. Until it has the class's lock, it speaks to who started it; then into its log.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from autograde.classroom.errors import StepFailed
from autograde.classroom.runs.progress import Progress, log_path, read

BACKGROUND, DETACHED = "--background", "--detached"  # options of `lockstep grade`
BEGUN = "begun"  # the last line to who started it


def start(root: Path, lab: str) -> str:
    """Grade `lab` in the background, as this command says otherwise. Returns what to say.

    Where this lab is being graded already, nothing is started. Raises StepFailed where the class is locked otherwise.
    """
    if (run := read(root, lab)) and run.running:
        return already(lab, run)
    arguments = [DETACHED if each == BACKGROUND else each for each in sys.argv[1:]]
    command = [sys.executable, *["-P"] * sys.flags.safe_path, "-m", "autograde", *arguments]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    said = process.stdout.read().decode(errors="replace").splitlines()
    if said[-1:] != [BEGUN]:
        if (run := read(root, lab)) and run.running:  # somebody else has started it in this very moment
            return already(lab, run)
        raise StepFailed((said or ["no reason is given"])[-1].removeprefix("Error: "))
    return "\n".join([*said[:-1], f"{lab} is being graded; what it says goes to {log_path(root, lab)}"])


def already(lab: str, run: Progress) -> str:
    """What to say of a run that is on."""
    return f"{lab} is being graded already: {run}"


def speak_into_log(root: Path, lab: str) -> None:
    """Have what this process says in a log from now on, and let it be ended as by Ctrl-C. Raises OSError."""
    path = log_path(root, lab)
    path.parent.mkdir(parents=True, exist_ok=True)
    for number in (signal.SIGINT, signal.SIGTERM):  # a hub that is stopped as a service ends all that it started
        signal.signal(number, signal.default_int_handler)
    print(BEGUN)
    with open(path, "wb") as log:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            os.dup2(log.fileno(), stream.fileno())
            stream.reconfigure(line_buffering=True)


def stop(root: Path, lab: str) -> str:
    """End the grading of `lab` as Ctrl-C does, whoever started it. Returns what to say, at once."""
    run = read(root, lab)
    if run is None or not run.running or not run.process:
        return f"{lab} is not being graded"
    with suppress(ProcessLookupError):
        os.kill(run.process, signal.SIGINT)
    return f"{lab}: the grading ends; what is graded is kept"
