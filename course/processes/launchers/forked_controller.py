"""ipyparallel's controller as a fork of a process that has imported it, as ranks can be: see `rank_server`."""

from __future__ import annotations

import asyncio
import os
import sys

import psutil
from ipyparallel.cluster.launcher import LocalControllerLauncher
from ipyparallel.controller.app import main

from course.processes import fork_server, reaper


class ForkedController(LocalControllerLauncher):
    """Forks this process, which was started `reaper.UNMARKED`. Importing the controller takes a second, a fork none."""

    def start(self) -> None:
        """Start the controller."""
        environment = self.get_env()
        self.pid = os.fork()
        if self.pid == 0:
            fork_server.run(self._become_controller, environment, [])
        self.process = psutil.Process(self.pid)
        self.notify_start(self.pid)
        self._start_waiting()

    def _become_controller(self, environment: dict[str, str], _: list[int]) -> None:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        output = os.open(self.output_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.closerange(3, 2**16)  # what the ancestor has open is none of the controller's business
        reaper.mark_this_process(environment[reaper.MARK])
        os.environ.update(environment)
        fork_server.fresh_randomness()
        asyncio.set_event_loop(asyncio.new_event_loop())  # the ancestor's runs there
        sys.argv = ["ipcontroller"]
        # Its parts as threads, not as processes: each would count the memory of the ancestor once more.
        main([*self.cluster_args, *self.controller_args, "--IPController.use_threads=True"])
