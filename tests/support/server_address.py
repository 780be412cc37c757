"""The address of a Jupyter server that a test has started."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from pathlib import Path

from small_clone import wait_for


def address_of(server: subprocess.Popen, runtime: Path, log: Path) -> str:
    """The server's address, as soon as it answers: it writes its address to `runtime` before it listens there. No other
    server has this folder. The file's name has a process number, which is not that of `server` where this is a sandbox.

    Raises AssertionError, with the end of `log`, if the server ends before that.
    """

    def address() -> str:
        (about,) = runtime.glob("jpserver-*.json")
        return json.loads(about.read_text())["url"]

    def answers() -> bool:
        assert server.poll() is None, log.read_text()[-5000:]
        try:
            urllib.request.urlopen(address() + "api").close()
        except (OSError, ValueError):  # no file, a part of one, or nobody listens yet
            return False
        return True

    wait_for(answers, log=log)
    return address()
