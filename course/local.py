"""Ranks on this machine: mpiexec starts them, a nursery forks them, and they are known by their process ids."""

from __future__ import annotations

import os
import signal
import tempfile
from contextlib import suppress

from course import launch, nursery, rank, reaper

MEMORY = "/dev/shm"


class Local:
    """Where the ranks of a world live, if that is here.

    size: number of ranks. warm: whether this process has imported what ranks use (`rank.import_libraries`), so that
    they can be forks of it.
    """

    controller_ip = ""  # ipyparallel's own choice, which is this machine alone
    binds = False  # ranks are the nursery's: they go on without mpiexec
    patience = 1.0  # seconds for a rank to write down where it stands

    def __init__(self, size: int, warm: bool) -> None:
        self.size = size
        self.warm = warm
        self._nursery: nursery.Nursery | None = None

    @property
    def description(self) -> str:
        """What the ranks run on, in a few words."""
        threads = max(1, launch.cores() // self.size)
        return f"{launch.devices(self.size)}, {threads} thread{'s' if threads > 1 else ''} each"

    def make_folder(self) -> str:
        """A new folder for what ranks and their world tell each other: in memory where the machine has that."""
        launch.mpiexec()
        return tempfile.mkdtemp(prefix="lockstep-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None)

    def environment(self, folder: str, generation: str) -> dict[str, str]:
        """The environment of ranks, beside their mark. generation: the folder of those that are started next."""
        return {
            **launch.mpi_environment(self.size, folder),
            rank.NURSERY: f"{folder}/nursery",
            "TMPDIR": generation,
        }

    def open(self, mark: str, folder: str, environment: dict[str, str], progress: bool) -> None:
        """Make ready to start ranks."""
        if self._nursery is None:
            self._nursery = nursery.Nursery(folder, environment, fork=self.warm)

    def close(self) -> None:
        """Forget what `open` made; the reaper ends it."""
        self._nursery = None

    def command(self, mark: str) -> tuple[str, list[str]]:
        """The program that starts `size` times another one, and its arguments beside ``-n``."""
        return launch.mpiexec(), []

    def reaper_arguments(self, mark: str) -> list[str]:
        """What a reaper is told beside mark and folders."""
        return []

    def kill(self, mark: str, places: list[dict]) -> None:
        """Kill all ranks. places: what each rank noted of itself."""
        reaper.kill_marked(f"{mark}-ranks", spared=self._nursery.pid)

    def ask_where(self, places: dict[int, dict]) -> set[int]:
        """Have ranks write down where they stand. places: what each noted of itself. Returns those that may answer."""
        asked = set()
        for member, place in places.items():
            with suppress(ProcessLookupError):  # whoever notes its end is gone with it
                os.kill(place["pid"], signal.SIGUSR1)
                asked.add(member)
        return asked

    @property
    def gone(self) -> bool:
        """Whether new ranks need a new place, which has to be waited for."""
        return False

    @property
    def failed(self) -> bool:
        """Whether no rank can be started any more."""
        return self._nursery is None or self._nursery.ended

    @property
    def said(self) -> str:
        """What is to be known if ranks do not start."""
        return self._nursery.said if self._nursery else ""
