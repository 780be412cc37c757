"""Runs `./lockstep`'s commands for pages, and takes what they said: the reason for a failure is their last line."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class CommandOutput:
    """What a command said. why: it failed, in one line; empty if it did not. more: what it warned of. late: whether it
    was ended because it took too long."""

    lines: list[str]
    why: str = ""
    more: tuple[str, ...] = ()
    late: bool = False


async def lockstep(*command: str, patience: float | None = None, **settings: Any) -> CommandOutput:
    """Run a command of `./lockstep`, and end it after `patience` seconds. settings: of `subprocess`."""
    pipe = subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "autograde", *command, stdout=pipe, stderr=pipe, **settings
        )
        try:
            said, complaint = await asyncio.wait_for(process.communicate(), patience)
        finally:
            with suppress(ProcessLookupError):
                process.kill()
    except TimeoutError:
        return CommandOutput([], f"it took more than {patience:.0f} seconds", late=True)
    except OSError as error:
        return CommandOutput([], str(error))
    lines, more = ([*filter(None, text.decode(errors="replace").splitlines())] for text in (said, complaint))
    if process.returncode:
        return CommandOutput(lines, (more or lines or ["no reason is given"])[-1].removeprefix("Error: "))
    return CommandOutput(lines, "", tuple(more))
