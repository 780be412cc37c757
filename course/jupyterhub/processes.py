"""Which processes live. Process 1 of many containers waits for nobody, so what died keeps its number there."""

from __future__ import annotations

from pathlib import Path

from jupyterhub.spawner import LocalProcessSpawner, SimpleLocalProcessSpawner


def command_line(pid: int | str) -> bytes:
    """The command line of a process; nothing if there is none, or if it died."""
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes()
    except OSError:
        return b""


class _Alive:
    """Takes a server that died for dead: JupyterHub asks whether its number exists, and would wait a minute for it."""

    async def _signal(self, sig: int) -> bool:
        return await super()._signal(sig) and bool(command_line(self.pid))


class AccountSpawner(_Alive, LocalProcessSpawner):
    """A server as a process of its user's account."""


class TrialSpawner(_Alive, SimpleLocalProcessSpawner):
    """A server as a process of the account that runs the hub, for trying out."""
