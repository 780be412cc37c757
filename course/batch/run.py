"""Runs a notebook in batch, as each lab's `run.sh` does:  python -P -m course.batch.run NOTEBOOK

A cell that raises does not end the run. The notebook itself stays unchanged. Next to it, the run writes

    LAB.out.JOB.ipynb    the executed notebook
    run.json             the record, see `course.batch.record`

also after SIGTERM, which Slurm sends some time before it kills. What the run prints is the job's log. Exit status: 0; 1
if a cell raised, not counting cells that need more ranks than there are; 2 if there is nothing to run; 143 after
SIGTERM.
"""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode

from course.batch.record import (
    FILE,
    FORMAT,
    REPORTS,
    Job,
    Record,
    Report,
    as_text,
    code_of,
    count_of,
    students_cells,
    summary,
)
from course.files import write_whole
from course.notebook_file import as_bytes
from course.processes.kernels import over_files
from course.processes.slurm_command import SlurmError, output
from course.processes.surroundings.job import standing
from course.world import RANKS

PACKAGES = ("torch", "horovod", "mpi4py", "numpy", "ipyparallel")
LACK_OF_RANKS = "NotEnoughRanks"  # the error of `course.world`
STOPPED = 128 + signal.SIGTERM


class BatchError(Exception):
    """There is nothing to run. The message says why, and what to do."""


def read_notebook(path: Path) -> NotebookNode:
    """The notebook at `path`. Raises BatchError."""
    try:
        return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    except FileNotFoundError:
        where = f"there is no {path.name} in {path.resolve().parent}"
        raise BatchError(f"{where}; go to the lab's folder, and `sbatch run.sh` there") from None
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        raise BatchError(
            f"{path.name} cannot be read as a notebook ({reason}); open it in JupyterLab, or fetch the lab anew"
        ) from error


def current_job() -> Job | None:
    """The Slurm job that this process runs in, if any. Raises BatchError if it has ended, or Slurm does not list its
    nodes."""
    job = os.environ.get("SLURM_JOB_ID")
    if job is None:
        return None
    try:
        if ended := standing().ended:
            raise BatchError(f"{ended} Submit the notebook: `sbatch run.sh`.")
        nodes = output("scontrol", "show", "hostnames").split()
    except SlurmError as error:
        raise BatchError(f"Slurm does not tell this job's nodes: {error}") from error
    return {
        "id": job,
        "user": pwd.getpwuid(os.getuid()).pw_name,
        "cluster": os.environ.get("SLURM_CLUSTER_NAME", ""),
        "nodes": nodes,
        "ranks": int(os.environ.get("SLURM_NTASKS", "1")),
        "restarts": int(os.environ.get("SLURM_RESTART_COUNT", "0")),
    }


def versions() -> dict[str, str]:
    """Versions of Python and of those PACKAGES that are installed."""
    found = {"python": sys.version.split()[0]}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


class Stopped(BaseException):
    """The run received SIGTERM."""


class Loop(asyncio.SelectorEventLoop):
    """Leaves SIGTERM to this program: nbclient would end the kernel on it, and then report that the kernel died."""

    def add_signal_handler(self, sig: int, callback: Callable, *args: Any) -> None:
        """Add a signal handler, except for SIGTERM."""
        if sig != signal.SIGTERM:
            super().add_signal_handler(sig, callback, *args)


class Batch:
    """One batch run of a notebook, with its log and its record.

    path: of the notebook. folder: for temporary files. launcher: what starts the ranks; None: what `World` uses.
    """

    def __init__(self, path: Path, folder: Path, launcher: str | None = None) -> None:
        self.path = path
        self.lab = path.stem
        self.notebook = read_notebook(path)
        self.job = current_job()
        self.launcher = launcher or ("srun" if self.job else "mpiexec")
        self.client: NotebookClient | None = None
        self.folder = folder
        self.reports = folder / "reports.jsonl"
        self.executed = path.with_name(f"{self.lab}.out.{self.job['id'] if self.job else 'local'}.ipynb")
        self.code = code_of(students_cells(self.notebook.cells))
        self.total = sum(cell.cell_type == "code" for cell in self.notebook.cells)
        self.began = time.time()
        self.run = 0
        self.failed: dict[str, str] = {}
        self.not_run: list[str] = []
        self._reports_shown = 0
        self._cell_began = 0.0

    def execute(self) -> int:
        """Run all cells, and write executed notebook and record. Returns the exit status. Raises OSError."""
        where = f"job {self.job['id']}, {size_of(self.job)}" if self.job else "no Slurm job"
        say(f"{self.lab}: {where}")
        # Not in the home: locking files may be slow there, and IPython would run its start-up files.
        folders = {"IPYTHONDIR": str(self.folder), "JUPYTER_RUNTIME_DIR": str(self.folder)}
        self.client = NotebookClient(
            self.notebook,
            timeout=None,
            kernel_name="python3",
            config=over_files(self.folder),
            allow_errors=True,
            resources={"metadata": {"path": str(self.path.resolve().parent)}},
            on_cell_execute=self.cell_begins,
            on_cell_executed=self.cell_ended,
        )
        os.environ.update(folders | {REPORTS: str(self.reports)})
        os.environ.update({RANKS: str(self.job["ranks"])} if self.job else {})
        signal.signal(signal.SIGTERM, self.stop)
        try:
            with asyncio.Runner(loop_factory=Loop) as runner:
                runner.run(self.client.async_execute())
        except Stopped:
            return STOPPED
        except DeadKernelError as error:
            self.failed["kernel"] = f"the kernel died, and the cells after it were not run: {error}"
            say(self.failed["kernel"])
        self.write("failed" if self.failed else "completed")
        return 1 if self.failed else 0

    def stop(self, *_: Any) -> None:
        """End the run on SIGTERM. Writes the record first, as little time may be left. Raises Stopped."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        say("stopped by SIGTERM: by you, or at the time limit; `sbatch --time` asks for more")
        self.write("stopped")
        if self.client is not None:
            self.client.shutdown_kernel = "immediate"
        raise Stopped

    def cell_begins(self, **_: Any) -> None:
        """Note when a cell begins."""
        self._cell_began = time.monotonic()

    def cell_ended(self, cell: NotebookNode, cell_index: int, execute_reply: dict) -> None:
        """Log a cell that has ended, and what it has put on record."""
        self.run += 1
        name, content = cell.get("id", str(cell_index + 1)), execute_reply["content"]
        say(f"[{self.run:3}/{self.total}] {time.monotonic() - self._cell_began:6.1f} s  {name}")
        if content["status"] == "error":
            line = f"{content['ename']}: {content['evalue']}".strip().splitlines()[0][:500]
            if content["ename"] == LACK_OF_RANKS:
                self.not_run.append(name)
                say(f"  not run: {line}")
            else:
                self.failed[name] = line
                say(f"  failed: {line}")
        for report in self.reported()[self._reports_shown :]:
            self._reports_shown += 1
            for line in summary(report):
                say(line)

    def reported(self) -> list[Report]:
        """What the notebook has put on record so far."""
        return [json.loads(line) for line in self.reports.read_text().splitlines()] if self.reports.exists() else []

    def write(self, state: str) -> None:
        """Write record and executed notebook as they are now. Raises OSError."""
        ended = time.time()
        record: Record = {
            "format": FORMAT,
            "lab": self.lab,
            "state": state,
            "job": self.job,
            "launcher": self.launcher,
            "began": self.began,
            "ended": ended,
            "seconds": ended - self.began,
            "versions": versions(),
            "code": self.code,
            "cells": {"run": self.run, "failed": list(self.failed), "not_run": self.not_run},
            "errors": list(self.failed.values()),
            "runs": self.reported(),
        }
        write_whole(self.path.with_name(FILE), as_text(record).encode())
        files = [FILE]
        if self.client is not None:
            write_whole(self.executed, as_bytes(self.notebook))
            files.append(self.executed.name)
        if not record["runs"]:
            say("no training was put on record")
        cells = f"{count_of(self.run, 'cell')} of {self.total} in " if self.client is not None else ""
        say(f"{state}: {cells}{ended - self.began:.0f} s; see {' and '.join(files)}")


def size_of(job: Job) -> str:
    """How large a job is, in words."""
    nodes = job["nodes"]
    return f"{count_of(len(nodes), 'node')} ({', '.join(nodes)}), {count_of(job['ranks'], 'process')}"


def say(text: str) -> None:
    """Write to the job's log at once."""
    print(text, flush=True)


def exit_status(run: Callable[[], int]) -> int:
    """What `run` returns; 2, with a line in the job's log, if it could not begin or could not write."""
    try:
        return run()
    except BatchError as error:
        say(f"not run: {error}")
    except OSError as error:
        say(f"not written: {error}; is the disk full, or the folder another's?")
    return 2


def main(arguments: list[str]) -> int:
    """Run the notebook that the arguments name. Returns the exit status."""
    if len(arguments) != 1:
        raise SystemExit("usage: python -m course.batch.run NOTEBOOK")
    with tempfile.TemporaryDirectory(prefix="lockstep-batch-") as folder:
        return exit_status(lambda: Batch(Path(arguments[0]), Path(folder)).execute())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
