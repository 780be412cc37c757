"""The processes of a world: ipyparallel's controller, the ranks, and the reaper that outlives the world's owner."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from course.ports import reserved_ports
from course.processes import handover, rank, reaper
from course.processes.launchers import mpi
from course.processes.launchers.cluster import new_cluster
from course.processes.launchers.local import Local
from course.processes.launchers.mpi import WorldError
from course.processes.launchers.slurm import Slurm
from course.processes.progress import counted, ranks_bar
from course.processes.px import point_at
from course.processes.ranks.stacks import new_stacks
from course.processes.ranks.status import read_status
from course.processes.surroundings import folder as current
from course.processes.surroundings import machine
from course.processes.surroundings.environment import without
from course.processes.surroundings.hindrances import not_started, reason, several_worlds
from course.processes.surroundings.limits import raise_open_files

START_LIMIT = 120.0  # seconds for controller and ranks to come up, on a slow machine
PORTS = 18  # that a controller listens on
PATIENCE = 3.0  # seconds that ranks may take to answer after a `%px` cell


class RankProcesses:
    """Starts, replaces and ends the processes of `size` ranks.

    host: where they are. folder: where they keep logs and connection files.
    """

    def __init__(self, size: int, progress: bool, host: Local | Slurm) -> None:
        self.size = size
        self.host = host
        self.progress = progress
        self.folder = ""
        self.engines: list[int] = []
        self._generation = 0
        self._engine_set = ""
        self.perhaps_busy = False  # with a cell that `%px` sent, which may never come to its end
        self._in_notebook = False
        self._ending: weakref.finalize | None = None
        self.ready()

    @property
    def running(self) -> bool:
        """Whether the world was started and not stopped since."""
        return self._ending is not None and self._ending.alive

    def ready(self) -> None:
        """Return when all ranks are up; start what is missing."""
        ready = ""
        if not self.running:
            with ranks_bar("Starting", self.size, self.progress) as bar, self._explained():
                self._start()
                self._connect(bar)
            ready = counted(self.size)
        elif not self.engines or self.dead(range(self.size)) or (self.perhaps_busy and not self._answer()):
            with ranks_bar("Replacing", self.size, self.progress) as bar, self._explained():
                if self.engines:
                    self.replace()
                elif self._launcher_ended():
                    self._launch()
                self._connect(bar)
            ready = counted(self.size, "new ")
        if ready and self.progress:
            print(f"{ready} ready: {self.host.description}.")
        self.perhaps_busy = False

    def _answer(self) -> bool:
        """Whether all ranks answer at once."""
        end = time.monotonic() + PATIENCE
        answers = [self.client[engine].apply_async(rank.world_rank) for engine in self.engines]
        if all(answer.wait(max(0.0, end - time.monotonic())) for answer in answers):
            return True
        print(f"A cell with %px has kept ranks busy for {PATIENCE:g} s and more; they are replaced.")
        return False

    def send(self, member: int, function: Callable, *args: Any) -> Any:
        """Start ``function(*args)`` on a rank; gives ipyparallel's AsyncResult."""
        return self.client[self.engines[member]].apply_async(function, *args)

    def pids(self) -> list[int]:
        """Process ids of the ranks."""
        return [status["pid"] for member in range(self.size) if (status := self._status(member))]

    def dead(self, members: Any) -> bool:
        """Whether one of these ranks has ended, or all of them."""
        return self._all_ended() or any(self.exit_code(member) is not None for member in members)

    def loss(self) -> str | None:
        """Why all ranks are gone, if they are."""
        return self.host.loss() if self._all_ended() else None

    def end_of_host(self) -> str | None:
        """How the host of the ranks ended, which may have killed them; None: it is there."""
        return self.host.end()

    def exit_code(self, member: int) -> int | None:
        """Exit status of a rank's process, or minus the signal's number; None while it lives."""
        return self._status(member).get("code")

    def ran_out(self, member: int) -> str:
        """What to say of a rank that was killed as no memory was left; empty if it was not."""
        return self._status(member).get("ran_out", "")

    def stacks(self, members: list[int]) -> dict[int, str]:
        """Where ranks stand now: faulthandler's text, empty for one that gives none in time. Ranks that are gone are
        left out."""
        paths = {member: Path(self._path(member, "stack")) for member in members if self._alive(member)}

        def ask(there: Iterable[int]) -> set[int]:
            return self.host.dump_stacks({member: self._status(member) for member in there})

        return new_stacks(paths, ask, self._alive, self._all_ended, self.host.patience) if paths else {}

    def _alive(self, member: int) -> bool:
        return bool(self._status(member)) and self.exit_code(member) is None

    def replace(self) -> None:
        """Kill the ranks and start new ones in the background; `ready` waits for them.

        If there is no place for new ones, and one has to be waited for, then `ready` starts them.
        """
        self.host.kill(self.mark, [self._status(member) for member in range(self.size)])
        shutil.rmtree(f"{self.folder}/ranks-{self._generation}", ignore_errors=True)
        self.engines = []
        if not self.host.gone:
            self._launch()

    def stop(self) -> None:
        """End all processes and remove the folders."""
        if self._ending is not None:
            self._ending()
        self.engines = []

    def _path(self, member: int, suffix: str) -> str:
        return f"{self.folder}/ranks-{self._generation}/rank-{member}.{suffix}"

    def _status(self, member: int) -> dict:
        try:
            return read_status(f"{self.folder}/ranks-{self._generation}", member)
        except FileNotFoundError:
            return {}

    def _start(self) -> None:
        """Start reaper, controller and ranks."""
        raise_open_files()
        self._memory = machine.out_of_memory()
        self.mark = uuid.uuid4().hex
        self.folder = self.host.make_folder()
        told = [self.mark, *self.host.reaper_arguments(self.mark), self.folder]
        watchdog = subprocess.Popen(
            [sys.executable, "-S", "-E", reaper.__file__, *told],
            stdin=subprocess.PIPE,
            start_new_session=True,  # Jupyter kills the kernel's process group
            cwd="/",
        )
        closing = ExitStack()
        # A controller chooses ports before it listens: where many worlds start at once, two would choose the same.
        ports = closing.enter_context(reserved_ports(PORTS))
        self.cluster = new_cluster(self.size, self.folder, self.host.controller_ip, ports, self.host.warm)
        self.client: Any = None
        closing.callback(self.host.close)
        closing.callback(watchdog.wait)
        closing.callback(watchdog.stdin.close)
        closing.callback(self.cluster.log.handlers[0].close)
        self._closing = closing
        self._ending = weakref.finalize(self, closing.close)
        self._launch()

    def _environment(self, kind: str) -> dict[str, str]:
        """Environment of the world's processes of a kind, "controller" or "ranks-N", which their mark tells apart."""
        generation = f"{self.folder}/ranks-{self._generation}"
        return {
            **self.host.environment(self.folder, generation),
            reaper.MARK: f"{self.mark}-{kind}",
            handover.FOLDER: generation,
            "PYTHONPATH": os.pathsep.join(current.search_path()),
        }

    def _launch(self) -> None:
        """Start the ranks (and the controller, the first time) without waiting for them."""
        self._generation += 1
        self.engines = []
        os.mkdir(f"{self.folder}/ranks-{self._generation}")
        config = self.cluster.config
        if self.cluster.controller is None:
            config.LocalControllerLauncher.environment = self._environment("controller") | {current.SAFE_PATH: "1"}
            self.cluster.start_controller_sync()
        self._former = self._registered()
        kind = f"ranks-{self._generation:06}"  # of one length: no mark begins with another
        self.host.open(self.mark, self.folder, self._environment(kind), self.progress)
        environment = self._environment(kind)
        program, arguments = self.host.command(self.mark)
        config.RankLauncher.environment = environment
        config.RankLauncher.mpi_cmd = without(self.host.left_out().keys() - environment.keys(), program)
        config.RankLauncher.mpi_args = arguments
        config.RankLauncher.engine_args = [
            "--IPEngine.enable_nanny=False",
            "--IPEngine.timeout=60",
            f"--profile-dir={self.folder}/profile",
        ]
        self._engine_set = self.cluster.start_engines_sync(self.size)

    def _registered(self) -> set[tuple[int, str]]:
        """Number and identity of each engine that the controller knows: numbers are given again, identities never."""
        return set(self.client._engines.items()) if self.client and self.client.ids else set()

    def _connect(self, bar: Any) -> None:
        """Wait until all ranks are registered, and note which engine is which rank."""
        if self.client is None:
            self.client = self.cluster.connect_client_sync()
            # Messages to processes that are gone would keep this one from ending.
            self._closing.callback(self.client.close, linger=0)
        began = time.monotonic()
        while len(new := self._registered() - self._former) < self.size:
            bar.update(sum(bool(self._status(member)) for member in range(self.size)) - bar.n)
            if self._failed() or time.monotonic() - began > START_LIMIT:
                raise self._not_started()
            time.sleep(0.02)
        self.engines = self._in_rank_order({engine for engine, _ in new})
        self._in_notebook = point_at(self.client[self.engines], weakref.ref(self), self._in_notebook)

    def _in_rank_order(self, engines: set[int]) -> list[int]:
        """The engines, by the rank that each says it is.

        What an engine prints is lost until its output channel is open, which can be later than the others; `%%px` would
        then wait for it for ever. So each engine is asked until an answer came with its (empty) output.
        """
        ranks: dict[int, rank.Place] = {}
        end = time.monotonic() + START_LIMIT
        while len(ranks) < len(engines):
            if time.monotonic() > end or self._failed():
                raise self._not_started()
            answers = {engine: self.client[engine].apply_async(rank.place_in_world) for engine in engines - set(ranks)}
            for engine, answer in answers.items():
                if answer.wait_for_output(0.5):
                    ranks[engine] = answer.get()
        if any(place["size"] != self.size for place in ranks.values()):
            self.stop()
            mend = self.host.other_launcher
            raise WorldError(several_worlds(self.size, ranks[min(ranks)], self.host.launcher(), mend))
        return sorted(ranks, key=lambda engine: ranks[engine]["rank"])

    def _launcher_ended(self) -> bool:
        """Whether mpiexec or srun has ended."""
        started = self.cluster.engines.get(self._engine_set)
        return started is not None and not started.process.is_running()  # its state is told only when asked for

    def _all_ended(self) -> bool:
        """Whether no rank can be there, as what started them has ended."""
        return self.host.ranks_end_with_launcher and self._launcher_ended()

    def _failed(self) -> bool:
        """Whether what starts ranks, or one of them, ended, so that nothing more is to be waited for."""
        return self.host.failed or self._launcher_ended() or self.dead(range(self.size))

    def _not_started(self) -> WorldError:
        """End everything; the error that says what was said."""
        output = self.cluster.engines[self._engine_set].get_output() + self.host.diagnosis
        self.stop()
        return WorldError(not_started(self.size, f"by {self.host.launcher()}", self._memory, output[-2000:]))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Whatever else keeps the ranks from starting (no room for a file or a process, a controller that ended) is
        told like that: with what is known to be in the way."""
        try:
            yield
        except (WorldError, mpi.MissingMPI):
            raise
        except (OSError, RuntimeError, TimeoutError, ImportError) as error:
            said = not_started(self.size, reason(error), self._memory, self._controller_output())
            self.stop()
            raise WorldError(said) from error

    def _controller_output(self) -> str:
        """The end of what the controller printed, if there is one that wrote it anywhere."""
        with suppress(OSError, AttributeError):
            return self.cluster.controller.get_output()[-2000:]
        return ""
