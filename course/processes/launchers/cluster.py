"""How the processes of a world are started: ipyparallel's controller, and the ranks by mpiexec."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable

from ipyparallel import Cluster
from ipyparallel.cluster.launcher import LocalControllerLauncher, MPIEngineSetLauncher

from course.processes import handover
from course.processes.launchers.mpi import python


def new_cluster(size: int, folder: str, controller_ip: str, ports: Iterable[int], warm: bool) -> Cluster:
    """ipyparallel's controller and engines, none of them started. folder: for their files, and for what ipyparallel
    says, which would fill the notebook: whoever ends the cluster closes the handler of its log.

    controller_ip: where it listens; empty: on this machine only. ports: those that it takes. warm: whether it is to be
    a fork of this process.
    """
    if warm:
        from course.processes.launchers.forked_controller import ForkedController as controller
    else:
        controller = LocalControllerLauncher
    log = logging.Logger("lockstep.world", logging.INFO)
    # In mode "w" a file that was closed stays closed: ipyparallel goes on to tell of the end after it.
    log.addHandler(logging.FileHandler(f"{folder}/cluster.log", mode="w"))
    os.mkdir(f"{folder}/profile")
    return Cluster(
        controller=controller,
        engines=RankLauncher,
        n=size,
        profile_dir=f"{folder}/profile",
        load_profile=False,
        cluster_file="",
        controller_ip=controller_ip,
        # An engine counts as registered with its first heartbeat, so the default period of 3 s is time lost at each
        # start; a busy machine may well miss many.
        controller_args=[
            "--HeartMonitor.period=200",
            "--HeartMonitor.max_heartmonitor_misses=300",
            "--Hub.registration_timeout=60000",
            f"--IPController.ports={','.join(map(str, ports))}",
        ],
        shutdown_atexit=False,
        log=log,
    )


class RankLauncher(MPIEngineSetLauncher):
    """Starts the ranks: mpiexec, and under it one program per rank, whose place an ipyparallel engine takes."""

    @property
    def program(self) -> list[str]:
        """The command that mpiexec starts on each rank."""
        if handover.FORK_SERVER in self.environment:
            return [*python(), "-S", "-E", "-P", handover.__file__, "--mpi"]
        return [*python(), "-P", "-m", "course.processes.rank", "--mpi"]
