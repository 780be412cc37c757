"""What a student's `process_group_from_slurm` answers, to many tasks of many steps: runs beside it."""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from autograde.contract.subject import describe
from course.batch.srun_tasks import tasks_of

NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
IN_A_ROW = 500  # jobs whose ports are compared

# What `os.environ` holds meanwhile: who reads it gets these.
DECOYED = {"SLURM_PROCID": "71", "SLURM_LOCALID": "72", "SLURM_NTASKS": "73", "SLURM_NODEID": "0", "SLURM_JOB_ID": "74"}
DECOYED |= {"SLURM_STEP_TASKS_PER_NODE": "75(x9)", "SLURM_STEP_NODELIST": "decoy76", "SLURM_JOB_NODELIST": "decoy76"}
DECOYED |= {"SLURM_STEP_ID": "77", "RANK": "78", "WORLD_SIZE": "79", "LOCAL_RANK": "80", "LOCAL_WORLD_SIZE": "81"}
DECOYED |= {"MASTER_ADDR": "decoy82", "MASTER_PORT": "8383"}


def ask_all(subject: Any, case: dict) -> dict:
    """In another Python: the answers there."""
    answers = answers_to(subject.load(), case)
    del answers["stepless"]
    return answers


def answers_to(function: Callable, case: dict) -> dict:
    """The function's answers to each task of the case's steps, ports of jobs in a row, and what comes without a
    step."""
    with decoyed() as programs:
        steps = []
        for step in case["steps"]:
            programs.names = step["names"]
            steps.append([answer(function, task, programs.called) for task in tasks_of(**step)])
        programs.names = ["login"]
        ports = [[port_of(function, first + number) for number in range(IN_A_ROW)] for first in case["jobs"]]
        batch = {name: value for name, value in tasks_of(**case["steps"][0])[0].items() if "STEP" not in name}
        try:
            function(batch)
            stepless = ""
        except Exception as error:
            stepless = type(error).__name__
    return {"steps": steps, "ports": ports, "stepless": stepless}


class Ended:
    """In place of a process of `subprocess` that has printed these lines and ended."""

    returncode = 0

    def __init__(self, command: Any, lines: list[str], as_text: bool) -> None:
        self.args = command
        text = "".join(f"{line}\n" for line in lines)
        self.stdout = io.StringIO(text) if as_text else io.BytesIO(text.encode())

    def __enter__(self) -> Ended:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def communicate(self, *given: Any, **options: Any) -> tuple[str | bytes, None]:
        """What it printed."""
        return self.stdout.read(), None

    def wait(self, timeout: float | None = None) -> int:
        """That all went well."""
        return 0

    poll = wait


class Programs:
    """What is called is noted, and answered as by ``scontrol show hostnames``: what else an answer lacks is seen, too.

    called: the programs. names: of the step's nodes.
    """

    def __init__(self) -> None:
        self.called: list[str] = []
        self.names = ["login"]

    def start(self, command: Any, *args: Any, **options: Any) -> Ended:
        """In place of `subprocess.Popen`."""
        self.called.append(str(command if isinstance(command, str) else command[0]))
        return Ended(command, self.names, any(options.get(name) for name in ("text", "universal_newlines", "encoding")))

    def system(self, command: Any) -> int:
        """In place of `os.system`."""
        return self.start(command).returncode


@contextmanager
def decoyed() -> Iterator[Programs]:
    """In this block `os.environ` holds other values, and programs are noted in place of being called."""
    programs = Programs()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    with (
        mock.patch.dict(os.environ, {**kept, **DECOYED}, clear=True),
        mock.patch.object(subprocess, "Popen", programs.start),
        mock.patch.object(os, "system", programs.system),
    ):
        yield programs


def answer(function: Callable, task: dict[str, str], programs: list[str]) -> dict:
    """What it answers to one task. programs: that it calls are appended."""
    given, before = dict(task), dict(os.environ)
    programs.clear()
    returned: Any = None
    error = ""
    try:
        returned = function(given)
    except Exception as raised:
        error = describe(raised, "<cell process_group_from_slurm>")[:300]
    known = returned if isinstance(returned, dict) else {}
    written = dict(os.environ) != before
    os.environ.clear()
    os.environ.update(before)
    return {
        "values": {name: str(known[name])[:100] if name in known else None for name in NAMES},
        "kinds": {name: type(known[name]).__name__ if name in known else "" for name in NAMES},
        "kind": type(returned).__name__,
        "error": error,
        "changed": given != task,
        "written": written,
        "program": programs[0] if programs else "",
    }


def port_of(function: Callable, job: int) -> str | None:
    """The port of a job; None where there is none."""
    try:
        return str(function(tasks_of("login", [1], job=job, wish=1, names=["login"])[0])["MASTER_PORT"])[:20]
    except Exception:
        return None
