"""Tells whether processes live. In many containers, process 1 reaps no zombies, so a dead process keeps its id."""

from __future__ import annotations

from pathlib import Path

from jupyterhub.spawner import LocalProcessSpawner, SimpleLocalProcessSpawner


def command_line(pid: int | str) -> bytes:
    """The command line of a process; empty if it has ended, even as a zombie."""
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes()
    except OSError:
        return b""


class _ZombiesAreDead:
    """Counts a zombie as dead. JupyterHub asks only whether a server's process id exists, and would wait a minute."""

    async def _signal(self, sig: int) -> bool:
        return await super()._signal(sig) and bool(command_line(self.pid))


class AccountSpawner(_ZombiesAreDead, LocalProcessSpawner):
    """Starts each server as its user's account."""


class TrialSpawner(_ZombiesAreDead, SimpleLocalProcessSpawner):
    """Starts each server as the account that runs the hub, for trying out."""
