"""Chooses what starts the ranks of a world: mpiexec on this machine, or srun in a Slurm job."""

from __future__ import annotations

from course.processes.launchers import slurm
from course.processes.launchers.local import Local


def host(size: int, launcher: str | None, nodes: int | None, warm: bool, progress: bool) -> Local | slurm.Slurm:
    """Where the ranks of a world will be. The arguments are those of `World`.

    A job that has ended is not waited for: then the ranks are on this machine, and a sentence says so. Raises
    ValueError for a launcher that there is not, or nodes that cannot be; WorldError if Slurm does not answer.
    """
    if launcher not in (None, "mpiexec", "slurm"):
        raise ValueError(f'launcher is None, "mpiexec" or "slurm", not {launcher!r}')
    own = slurm.jobs.Standing() if launcher == "mpiexec" or warm else slurm.standing()
    launcher = launcher or ("slurm" if own.job else "mpiexec")
    if nodes is not None and (launcher == "mpiexec" or not 1 <= nodes <= size):
        raise ValueError(f"{size} ranks cannot be on {nodes} nodes, started by {launcher}.")
    if own.ended and progress:
        place = "in a new job" if launcher == "slurm" else "on this machine"
        print(f"{own.ended} The ranks are {place}.")
    return slurm.Slurm(size, own.job, nodes) if launcher == "slurm" else Local(size, warm)
