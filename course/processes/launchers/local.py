"""Ranks on this machine, started by mpiexec, forked by a fork server, and addressed by process id."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from course.processes import rank, rank_server, reaper
from course.processes.handover import FORK_SERVER
from course.processes.launchers import mpi
from course.processes.launchers.mpi import WorldError
from course.processes.ranks.status import Status
from course.processes.surroundings import room
from course.processes.surroundings.environment import MACHINE, left_out, taken
from course.processes.surroundings.limits import MORE_PROCESSES, few_processes, share_of_memory
from course.processes.surroundings.machine import cores


class Local:
    """This machine as the host of a world's ranks.

    size: number of ranks. warm: whether this process has imported what ranks use (`rank.import_libraries`), so that
    they can be forks of it.
    """

    controller_ip = ""  # ipyparallel's default, which is this machine alone
    ranks_end_with_launcher = False  # ranks are children of the fork server, and survive mpiexec
    patience = 1.0  # seconds for a rank to dump its stack

    def __init__(self, size: int, warm: bool) -> None:
        self.size = size
        self.warm = warm
        self._server: rank_server.RankServer | None = None
        self._share: int | None = None

    @property
    def description(self) -> str:
        """What the ranks run on, in a few words."""
        threads = max(1, cores() // self.size)
        return f"{mpi.devices(self.size)}, {threads} thread{'s' if threads > 1 else ''} each"

    def make_folder(self) -> str:
        """Make a folder through which ranks and their world communicate, in memory if possible. Raises WorldError.

        Before any process is started it is known how much memory each rank gets, and that there may be that many.
        """
        mpi.mpiexec()
        if few := few_processes(self.size):
            raise WorldError(f"The MPI ranks did not start. {few} {MORE_PROCESSES}")
        self._share = share_of_memory(self.size)  # not once more for ranks that take the place of some that used theirs
        try:
            return room.make_folder(self.size)
        except room.NoRoom as error:
            raise WorldError(str(error)) from None

    def launcher(self) -> str:
        """What starts the ranks, in words."""
        return mpi.described(mpi.mpiexec())

    other_launcher = (
        "Start JupyterLab where PATH and LD_LIBRARY_PATH name one MPI only (`module purge`, `unset LD_LIBRARY_PATH`), "
        "or set Lockstep up for the MPI that is there: `./lockstep setup`."
    )

    def left_out(self) -> dict[str, str]:
        """The variables of this process that ranks do not get, each with the reason."""
        return left_out(os.environ, MACHINE)

    def environment(self, folder: str, generation: str) -> dict[str, str]:
        """What a world adds to the environment of ranks, without their mark. generation: the folder of those that are
        started next."""
        return {
            **mpi.mpi_environment(self.size, folder),
            **({} if self._share is None else {rank.MEMORY: str(self._share)}),
            FORK_SERVER: f"{folder}/fork-server",
            "TMPDIR": generation,
        }

    def open(self, mark: str, folder: str, environment: dict[str, str], progress: bool) -> None:
        """Prepare to start ranks."""
        if self._server is None:
            environment = taken(os.environ, MACHINE) | environment
            self._server = rank_server.RankServer(folder, environment, fork=self.warm)

    def close(self) -> None:
        """Forget what `open` made; the reaper ends it."""
        self._server = None

    def command(self, mark: str) -> tuple[str, list[str]]:
        """The program that starts another one `size` times, and its arguments other than ``-n``."""
        return mpi.mpiexec(), []

    def reaper_arguments(self, mark: str) -> list[str]:
        """Arguments of the reaper other than mark and folders."""
        return []

    def kill(self, mark: str, statuses: list[Status]) -> None:
        """Kill all ranks. statuses: what each has recorded of itself."""
        reaper.kill_marked(f"{mark}-ranks", spared=self._server.pid)

    def dump_stacks(self, statuses: dict[int, Status]) -> set[int]:
        """Have ranks dump their stacks. Returns the ranks that may answer. statuses: by rank."""
        asked = set()
        for member, status in statuses.items():
            with suppress(ProcessLookupError):  # the process that records its end died with it
                os.kill(status["pid"], signal.SIGUSR1)
                asked.add(member)
        return asked

    @property
    def gone(self) -> bool:
        """Whether this host is gone, so that new ranks must wait for another one."""
        return False

    def end(self) -> None:
        """How this host ended: it does not, as long as anybody asks."""

    @property
    def failed(self) -> bool:
        """Whether no more ranks can be started."""
        return self._server is None or self._server.ended

    @property
    def diagnosis(self) -> str:
        """What the user should know if ranks do not start."""
        return self._server.output if self._server else ""
