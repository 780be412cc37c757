"""Asks programs of this machine, which may hang, or not be there."""

from __future__ import annotations

import contextlib
import subprocess
from dataclasses import dataclass

import psutil


@dataclass(frozen=True)
class Answer:
    """The output of a command. problem: why it failed, in one line; empty if it did not. errors: all that it printed
    of them."""

    output: str = ""
    problem: str = ""
    errors: str = ""


def ask(command: list[str], deadline: float, environment: dict[str, str] | None = None) -> Answer:
    """Run `command` for at most `deadline` seconds; after that, kill it and all that it has started.

    environment: all that it gets; None: this one.
    """
    try:
        process = psutil.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=environment,
        )
    except OSError as error:
        return Answer(problem=f"{command[0]}: {error.strerror}")
    try:
        output, errors = process.communicate(timeout=deadline)
    except subprocess.TimeoutExpired:
        family = [process, *process.children(recursive=True)]
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        process.communicate()
        return Answer(problem=f"no answer in {deadline:g} s")
    if process.returncode:
        problem = last_line(errors) or last_line(output) or f"ended with status {process.returncode}"
        return Answer(output, problem, errors)
    return Answer(output)


def last_line(text: str) -> str:
    """The last line that is not blank or a rule, cut to the width of the table."""
    lines = [line.strip(" -*\t") for line in text.splitlines() if line.strip(" -*\t")]
    return lines[-1][:120] if lines else ""
