"""Runs a function on ranks that torchrun or srun starts, each in a Python of its own, beside the notebook's world.

    by_torchrun(function, *args, ranks=2)                     what it returned, by rank: plain JSON
    by_srun(function, *args, process_group=of, ranks=2)       likewise; without Slurm, processes with srun's variables

process_group(environ): gives RANK, WORLD_SIZE and so on, from the variables of one of srun's tasks.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.batch.srun_tasks import tasks_of
from course.calls.sent_call import packed, unpacked
from course.ports import free_port
from course.processes.slurm_command import SlurmError, address_of
from course.processes.surroundings.environment import JOB, MACHINE, taken
from course.processes.surroundings.folder import SAFE_PATH, folder_last
from course.processes.surroundings.job import Job, standing

PATIENCE = 120.0  # seconds that all ranks may take, their start included
SCRIPT = [sys.executable, "-P", "-m", "course.batch.launched"]
REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Launch:
    """What became of it. launcher: what started the ranks, in words. results: by rank; empty if it failed. error: why,
    in a line."""

    launcher: str
    results: list[Any]
    error: str = ""

    @property
    def first(self) -> Any:
        """What rank 0 returned; a text that says why there is nothing."""
        return self.results[0] if self.results else f"failed: {self.error}"


def by_torchrun(function: Callable, *args: Any, ranks: int, restarts: int = 0) -> Launch:
    """``function(*args)`` on so many ranks of torchrun, on this node, in a process group of gloo.

    restarts: how often torchrun may start all ranks anew, after one of them has failed.
    """
    with tempfile.TemporaryDirectory(prefix=".launched-", dir=".") as folder:
        rendezvous = ["--master-addr=localhost", f"--master-port={free_port()}"]
        variables = {}
        if restarts:  # the agent's own store would give new ranks the dead ones' addresses: pytorch/pytorch#135712
            rendezvous = ["--rdzv-backend=c10d", f"--rdzv-endpoint=localhost:{free_port()}"]
            rendezvous += [f"--rdzv-id={os.getpid()}", f"--max-restarts={restarts}"]
            variables = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
        torchrun = ["-m", "torch.distributed.run", f"--nproc-per-node={ranks}", *rendezvous]
        command = [sys.executable, "-P", *torchrun, "-m", SCRIPT[-1], *handed_over(folder, None, function, args)]
        return ended("torchrun", [start(command, on_this_machine(variables), folder)], folder, ranks)


def by_srun(function: Callable, *args: Any, process_group: Callable, ranks: int) -> Launch:
    """``function(*args)`` on so many ranks of srun, or of processes that have its variables."""
    with tempfile.TemporaryDirectory(prefix=".launched-", dir=".") as folder:
        command = [*SCRIPT, *handed_over(folder, process_group, function, args)]
        if (job := own_job()) is not None:
            srun = ["srun", *job.place, "--mpi=none", "--overlap", "--kill-on-bad-exit=1"]
            environment = taken(os.environ, JOB, job.step(ranks))
            step = start([*srun, f"--ntasks={ranks}", *command], environment, folder)
            return ended("srun", [step], folder, ranks)
        tasks = tasks_of("localhost", [ranks], job=os.getpid())
        processes = [start(command, on_this_machine(task), folder) for task in tasks]
        return ended("processes with srun's variables", processes, folder, ranks)


def own_job() -> Job | None:
    """The job that this process is part of, if Slurm has it and can start ranks in it."""
    with suppress(SlurmError):
        return standing().job
    return None


def on_this_machine(variables: dict[str, str]) -> dict[str, str]:
    """The environment of ranks here, with these variables in place of those of other launchers."""
    return taken(os.environ, MACHINE) | variables


def handed_over(folder: str, process_group: Callable | None, function: Callable, args: Sequence[Any]) -> list[str]:
    """Writes the call into `folder`; gives the script's arguments."""
    path = Path(folder).resolve()
    (path / "call").write_bytes(packed(function, (process_group, *args)))
    return [str(path)]


def start(command: Sequence[str], environment: dict[str, str], folder: str) -> subprocess.Popen:
    """Start a process in a session of its own. folder: where what it says goes."""
    path = os.pathsep.join(filter(None, [str(REPOSITORY), environment.get("PYTHONPATH")]))
    environ = {"OMP_NUM_THREADS": "1", **environment, "PYTHONPATH": path, SAFE_PATH: "1"}
    quiet = dict.fromkeys(("stdin", "stdout"), subprocess.DEVNULL)
    with (Path(folder) / "said").open("a") as said:
        return subprocess.Popen(command, env=environ, start_new_session=True, stderr=said, **quiet)


def ended(launcher: str, processes: Sequence[subprocess.Popen], folder: str, ranks: int) -> Launch:
    """Wait for the processes, and end what is left of them. Raises NotImplementedError if a rank does."""
    late = ""
    try:
        for process in processes:
            process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        late = f"not finished within {PATIENCE:g} s"
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                process.communicate()
    files = sorted(Path(folder).glob("rank-*"), key=lambda path: int(path.name[5:]))
    answers = [json.loads(path.read_text()) for path in files]
    failed = sorted((answer for answer in answers if answer["error"]), key=lambda answer: answer["when"])
    errors = [answer["error"] for answer in failed]  # the first one's come first: others lose their connections to it
    if any(error.startswith("NotImplementedError") for error in errors):
        # As the line does that a TODO is released with: by this line a notebook tells what is not started.
        raise NotImplementedError()
    if errors or len(answers) < ranks:
        return Launch(launcher, [], errors[0] if errors else late or last_words(Path(folder), ranks))
    return Launch(launcher, [answer["result"] for answer in answers])


def last_words(folder: Path, ranks: int) -> str:
    """Why no rank told an error: what the launcher says, or the first rank that is missing."""
    said = [line for line in (folder / "said").read_text(errors="replace").splitlines() if line.startswith("srun:")]
    missing = next((rank for rank in range(ranks) if not (folder / f"rank-{rank}").exists()), 0)
    return said[-1] if said else f"rank {missing} ended without a word"


def main(folder: Path) -> None:
    """One rank: joins the process group, and calls the function."""
    folder_last()
    rank = os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0"))
    answer: dict[str, Any] = {"result": None, "error": "", "when": 0.0}
    try:
        with unpacked((folder / "call").read_bytes()) as (function, (process_group, *args)):
            if process_group is not None:
                os.environ.update(process_group(dict(os.environ)))
                os.environ["MASTER_ADDR"] = reachable(os.environ.get("MASTER_ADDR", ""))
            answer["result"] = in_group(function, args)
    except Exception as error:
        answer |= {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300], "when": time.time()}
    written = folder / f"part-{rank}"
    written.write_text(json.dumps(answer))
    written.rename(folder / f"rank-{rank}")
    if answer["error"]:
        sys.exit(1)


def reachable(node: str) -> str:
    """A node's name; where the network does not know it, the address at which Slurm reaches the node."""
    try:
        socket.getaddrinfo(node, None)
    except (OSError, UnicodeError):
        with suppress(SlurmError):
            return address_of(node)
    return node


def in_group(function: Callable, args: Sequence[Any]) -> Any:
    """What the function returns in a process group: of GPUs where each rank of this node can have its own, else of
    gloo."""
    import torch
    import torch.distributed as dist

    on_gpu = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    if on_gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if on_gpu else "gloo")
    result = function(*args)
    dist.destroy_process_group()  # not after an error: others would tell of their lost connections before it is told
    return result


if __name__ == "__main__":
    main(Path(sys.argv[1]))
