"""Runs Slurm's own commands, which may be missing, or wait for a controller that is down.

Imports nothing but the standard library, because the reaper runs with that alone.
"""

from __future__ import annotations

import os
import re
import subprocess

PATIENCE = 60.0  # seconds; Slurm's commands retry by themselves while the controller is busy


class SlurmError(Exception):
    """Slurm could not be asked, or refused. One line, with its complaint."""


def called(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command, and return even if it fails. Raises SlurmError if it is missing or late.

    environment: added to ours. The command runs in its own session: Ctrl-C must not end an sbatch half-way.
    """
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    except FileNotFoundError:
        raise SlurmError(f"there is no {command[0]} on this machine, so it is not part of a Slurm cluster") from None
    except subprocess.TimeoutExpired:
        raise SlurmError(
            f"{command[0]} did not answer within {PATIENCE:g} s: is slurmctld up? `scontrol ping` tells"
        ) from None


def output(*command: str, **environment: str) -> str:
    """What a command prints. Raises SlurmError, also if the command fails."""
    done = called(*command, **environment)
    if done.returncode:
        raise SlurmError(complaint(done.stderr or done.stdout, command[0]))
    return done.stdout


def address_of(nodelist: str) -> str:
    """Where Slurm reaches the first of some nodes: a node's name need not be one that the network knows.

    Raises SlurmError.
    """
    name = output("scontrol", "show", "hostnames", nodelist).split()[0]
    found = re.search(r"\bNodeAddr=(\S+)", output("scontrol", "show", "node", name, "--oneliner"))
    return found[1] if found else name


def complaint(text: str, program: str) -> str:
    """The complaint of a program that failed, in one line, with the next step if it is known. text: its output."""
    if "configuration source" in text:
        return "Slurm is not set up here: there is no slurm.conf. Set SLURM_CONF to that of your cluster."
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    worst = [line for mark in ("fatal:", "error:") for line in lines if mark in line]
    return f"{program} says: {(worst or lines or ['nothing'])[0][:300]}"
