"""How a rank's process stands: noted in the ranks' folder where the rank runs, and read by the world's owner."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from typing import NotRequired, TypedDict

from course.files import write_whole


class Status(TypedDict):
    """What is recorded of a rank's process.

    pid: its id. step: its Slurm job step. state: "started" or "ended". memory: how often memory had run out when it
    started, see `machine.out_of_memory`. code: exit status, or minus the signal's number. ran_out: what to say if it
    was killed as no memory was left.
    """

    pid: int
    state: str
    step: NotRequired[str | None]
    memory: NotRequired[dict[str, int]]
    code: NotRequired[int]
    ran_out: NotRequired[str]


def read_status(folder: str, rank: int) -> dict:
    """What was noted of a rank's process. Raises FileNotFoundError."""
    with open(f"{folder}/rank-{rank}.json") as file:
        return json.load(file)


def write_status(folder: str, rank: int, status: Status) -> None:
    """Note the state of a rank's process."""
    write_whole(f"{folder}/rank-{rank}.json", json.dumps(status).encode())


def write_end(folder: str, rank: int, pid: int, status: int) -> None:
    """Note how a rank's process ended, whose group this one is in, too. status: as os.waitpid gives it."""
    end: Status = {"pid": pid, "state": "ended", "code": os.waitstatus_to_exitcode(status)}
    with suppress(FileNotFoundError):  # it had not started, or the world replaced it, and does not ask any more
        if end["code"] == -signal.SIGKILL:
            from course.processes.surroundings.machine import ran_out  # only now: others need not wait for it

            end["ran_out"] = ran_out(read_status(folder, rank).get("memory", {}))
    with suppress(FileNotFoundError):
        write_status(folder, rank, end)
