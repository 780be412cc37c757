"""Ranks on the nodes of a Slurm job: the one that this process is part of, or one that is asked for and cancelled.

`srun` starts them, as a step of the job; in another step, it starts a fork server on each node, which forks them. What
ranks and their world tell each other goes through a folder that all nodes see. Slurm's own variables hold for what is
not said here: SALLOC_PARTITION, SALLOC_ACCOUNT, SALLOC_TIMELIMIT for a job that is asked for, SLURM_MPI_TYPE for how
ranks find each other (pmix, if it is not set).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from tqdm import tqdm

from course.homes.look import cannot_write
from course.processes import rank, reaper, slurm_command
from course.processes.launchers import mpi
from course.processes.launchers.mpi import WorldError
from course.processes.surroundings import job as jobs
from course.processes.surroundings.environment import JOB, left_out, taken

SHARED = "LOCKSTEP_SHARED"  # names a folder that all nodes see, where that is not the home
SERVERS = "fork-server"
# A fork server must not be held to a task's share of its node, as its forks are not: the step gets all of the job.
PER_TASK = {"SRUN_CPUS_PER_TASK", "SLURM_GPUS_PER_TASK"}
POLL = 1.0  # seconds between two questions to Slurm while a job waits
ENDING = 20.0  # seconds that Slurm may take to tell how a job ended, once its ranks are gone

LATER = 1.0  # seconds that a job's end may be seen after that of its ranks

# What Slurm calls the end of a job, and what that means.
ENDS = {
    "CANCELLED": "was cancelled",
    "COMPLETED": "has ended",
    "DEADLINE": "did not end by its deadline",
    "FAILED": "failed",
    "NODE_FAIL": "lost a node",
    "OUT_OF_MEMORY": "took more memory than it may",
    "PREEMPTED": "was preempted: others go first in its partition",
    "REVOKED": "was revoked",
    "SUSPENDED": "is suspended",
    "TIMEOUT": "reached its time limit",
}


def standing() -> jobs.Standing:
    """The job that this process was started in, if it can start ranks. Raises WorldError if Slurm does not answer."""
    try:
        return jobs.standing()
    except slurm_command.SlurmError as error:
        here = 'World(4, launcher="mpiexec") starts ranks on this machine all the same.'
        raise WorldError(f"{jobs.NAME} names job {os.environ[jobs.NAME]}, and {error}. {here}") from None


def find(job: str) -> jobs.Job:
    """A job. Raises WorldError, also for one that Slurm does not know."""
    try:
        return jobs.find(job)
    except slurm_command.SlurmError as error:
        raise WorldError(str(error)) from None


class Slurm:
    """Where the ranks of a world live, if that is a Slurm job.

    size: number of ranks. own: the job that this process is part of; None: one is asked for. nodes: of that; None:
    Slurm decides.
    """

    controller_ip = "*"  # ranks on other nodes connect to it
    ranks_end_with_launcher = True  # ranks end with their srun
    warm = False  # nothing on the nodes has imported what ranks use
    patience = 5.0  # seconds for a rank to write down where it stands

    def __init__(self, size: int, own: jobs.Job | None, nodes: int | None = None) -> None:
        self.size = size
        self.nodes = nodes
        self._own = own.number if own else None
        self._job = self._own
        self._known = own
        self._servers: subprocess.Popen | None = None

    @property
    def description(self) -> str:
        """What the ranks run on, in a few words."""
        if self._job is None:
            return "a Slurm job"
        nodes = self._facts().nodes
        return f"Slurm job {self._job}, {nodes} node{'s' if nodes != 1 else ''}"

    def make_folder(self) -> str:
        """A new folder for what ranks and their world tell each other, on a file system that all nodes see."""
        shared = Path(os.environ.get(SHARED) or Path.home() / ".lockstep" / "worlds")
        try:
            shared.mkdir(parents=True, exist_ok=True)
            if error := cannot_write(shared):
                raise error
            return tempfile.mkdtemp(prefix="world-", dir=shared)
        except OSError as error:
            raise WorldError(
                f"There is no place for a world's files in {shared}: {error.strerror}. "
                f"Set {SHARED} to a folder that all nodes see and you may write to."
            ) from error

    def environment(self, folder: str, generation: str) -> dict[str, str]:
        """What a world adds to the environment of ranks, beside their mark. generation: the folder of those that are
        started next."""
        nodes = self._facts().nodes if self._own else self.nodes or 1
        cpus = max(1, self._facts().cpus // nodes) if self._own else None
        servers = {rank.NODE_SERVERS: f"{folder}/{SERVERS}"} if self._servers and self._servers.poll() is None else {}
        return {**mpi.mpi_environment(-(-self.size // nodes), cpus=cpus), **servers}

    def open(self, mark: str, folder: str, environment: dict[str, str], progress: bool) -> None:
        """Make ready to start ranks: ask for a job and wait for it, if there is none. Raises WorldError.

        Fork servers are started once in each job: where one has died, ranks do without.
        """
        if self._own is None and (self._job is None or self.gone):
            self._job = allocate(self.size, self.nodes, name(mark), Path(folder), sys.stdout if progress else None)
            self._servers = None
        if self._servers is None:
            self._servers = self._start_servers(mark, Path(folder), environment)

    def close(self) -> None:
        """Forget what `open` made; the reaper ends it."""
        self._job = self._own
        if self._servers is not None:
            with suppress(subprocess.TimeoutExpired):
                self._servers.wait(ENDING)
            self._servers = None

    def _start_servers(self, mark: str, folder: Path, environment: dict[str, str]) -> subprocess.Popen:
        """Start a fork server on each node that gets ranks. environment: of the ranks."""
        for old in folder.glob(f"{SERVERS}-*"):  # of a job that has ended
            old.unlink()
        own = {key: value for key, value in self._taken().items() if key not in PER_TASK}
        # Room for the marks of ranks, which are forks of it; see `reaper.mark_this_process`.
        its_mark = f"{mark}-servers".ljust(len(environment[reaper.MARK]), "-")
        options = ["--ntasks-per-node=1", f"--ntasks={self._used()}", "--cpu-bind=none", "--mpi=none"]
        program = [*mpi.python(), "-P", "-m", "course.processes.rank_server", "--node", f"{folder}/{SERVERS}"]
        with (folder / f"{SERVERS}.log").open("a") as output:
            return subprocess.Popen(
                ["srun", *self._step(mark), *options, *program],
                env={**own, **environment, reaper.MARK: its_mark},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _used(self) -> int:
        """On how many nodes there are ranks: on all nodes of the job that can have one each. Raises WorldError."""
        return min(self._facts().nodes, self.size)

    def _step(self, mark: str) -> list[str]:
        """What srun is told of each step. What our own step was given is no limit."""
        options = [*self._facts().place, f"--job-name={name(mark)}", "--overlap", "--overcommit", "--export=ALL"]
        return [*options, f"--nodes={self._used()}", "--input=none", "--kill-on-bad-exit=0"]

    def command(self, mark: str) -> tuple[str, list[str]]:
        """The program that starts `size` times another one, and its arguments beside ``-n``."""
        return "srun", [*self._step(mark), *([] if "SLURM_MPI_TYPE" in os.environ else ["--mpi=pmix"])]

    def launcher(self) -> str:
        """What starts the ranks, in words."""
        return f"srun --mpi={os.environ.get('SLURM_MPI_TYPE', 'pmix')}"

    other_launcher = (
        "`srun --mpi=list` lists how srun can tell ranks of each other; SLURM_MPI_TYPE in slurm/site.sh chooses one "
        "that your MPI knows."
    )

    def reaper_arguments(self, mark: str) -> list[str]:
        """What a reaper is told beside mark and folders."""
        return [] if self._own else [f"--cancel={name(mark)}"]

    def kill(self, mark: str, places: list[dict]) -> None:
        """Kill all ranks. places: what each rank noted of itself.

        Those that Slurm does not reach end when they see that their folder is gone.
        """
        self._signal("KILL", places)
        reaper.kill_marked(f"{mark}-ranks")

    def dump_stacks(self, places: dict[int, dict]) -> set[int]:
        """Have ranks write down where they stand. places: what each noted of itself. Returns those that may answer."""
        self._signal("USR1", [*places.values()])
        return {*places}

    @property
    def gone(self) -> bool:
        """Whether new ranks need a new place, which has to be waited for."""
        return self._own is None and self._end() is not None

    @property
    def failed(self) -> bool:
        """Whether no rank can be started any more."""
        return self._job is None

    @property
    def diagnosis(self) -> str:
        """What is to be known if ranks do not start."""
        return self._end() or ""

    def end(self) -> str | None:
        """How the job ended, whose ranks were killed; None: it runs, so somebody else has killed them."""
        until = time.monotonic() + LATER
        while (end := self._end()) is None and time.monotonic() < until:
            time.sleep(0.1)
        return end

    def loss(self) -> str:
        """Why all ranks are gone."""
        return self._end() or "Slurm ended their step, as it does when a rank calls MPI_Abort"

    def _facts(self) -> jobs.Job:
        """What Slurm has given the job. Raises WorldError."""
        if self._known is None or self._known.number != self._job:
            self._known = find(self._job)
        return self._known

    def left_out(self) -> dict[str, str]:
        """The variables of this process that ranks do not get, each with the reason."""
        return left_out(os.environ, JOB, self._facts().step(self.size))

    def _taken(self) -> dict[str, str]:
        return taken(os.environ, JOB, self._facts().step(self.size))

    def _end(self) -> str | None:
        """How the job ended; None: it runs, or there is none."""
        if self._job is None:
            return None
        end = time.monotonic() + ENDING
        try:
            while (state := find(self._job).state) == "COMPLETING" and time.monotonic() < end:
                time.sleep(0.1)
        except WorldError as error:
            return f"Slurm job {self._job} is gone. {error}"
        return f"Slurm job {self._job} {ENDS[state]}" if state in ENDS else None

    def _signal(self, signal: str, places: list[dict]) -> None:
        for step in sorted({place["step"] for place in places if place.get("step")}):
            command = ["scancel", "--quiet", f"--signal={signal}", f"{self._job}.{step}"]
            subprocess.run(command, capture_output=True, timeout=60)


def name(mark: str) -> str:
    """What the world with this mark calls its job."""
    return f"lockstep-{mark[:12]}"


def allocate(size: int, nodes: int | None, job_name: str, folder: Path, told: TextIO | None) -> str:
    """Ask Slurm for a job with `size` tasks, and wait until it runs; what it waits for is told. Returns its number.

    An interrupted wait takes the request back. Raises WorldError with Slurm's reason if there will be no such job.
    """
    command = ["salloc", "--no-shell", f"--ntasks={size}", f"--job-name={job_name}", f"--chdir={folder}"]
    command += [f"--nodes={nodes}"] if nodes else []
    log = folder / "salloc.log"
    try:
        with log.open("w") as output:
            environment = taken(os.environ, JOB)  # not what another job has left there
            asking = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment)
    except FileNotFoundError:
        raise WorldError("There is no salloc here: this machine knows of no Slurm cluster.") from None
    said = ""
    try:
        while asking.poll() is None:
            try:
                asking.wait(POLL)
            except subprocess.TimeoutExpired:
                job = number(log.read_text())
                found = find(job) if job else None
                news = f"Slurm job {job}: {found.state} {found.reason}" if found else "Asking Slurm for a job ..."
                if told and news != said:
                    tqdm.write(news, file=told)  # above the progress bar of a world
                    said = news
    except BaseException:
        asking.terminate()
        asking.wait()
        raise
    job = number(log.read_text())
    if asking.returncode or not job:
        raise WorldError(f"There is no job for {size} ranks. {slurm_command.complaint(log.read_text(), 'Slurm')}")
    return job


def number(said: str) -> str | None:
    """The job's number in what salloc said."""
    found = re.search(r"job allocation (\d+)", said)
    return found.group(1) if found else None
