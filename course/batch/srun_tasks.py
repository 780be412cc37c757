"""The environments of the tasks of a step, as Slurm's `srun` sets them, without Slurm.

Names and values are those of Slurm 22.05: variables with STEP in their names are of the step, JOB ones of the job. Of
those with neither, SLURM_NODELIST is of the job, and the numbers are of the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby


def tasks_of(
    nodelist: str,
    tasks: Sequence[int],
    *,
    cyclic: bool = False,
    job: int = 4711,
    job_nodelist: str | None = None,
    job_nodes: int | None = None,
    wish: int | None = None,
    names: Sequence[str] = (),
    step: int = 0,
) -> list[dict[str, str]]:
    """The variables of each task of one step, by rank.

    nodelist: the step's nodes, as Slurm shortens them. tasks: how many there are on each. cyclic: placed in turns, not
    in blocks. job: its number. job_nodelist, job_nodes: the nodes of the whole job, and how many, where it is larger.
    wish: what `--ntasks-per-node` asked for. names: of the step's nodes, one by one. step: its number
    among the job's steps.
    """
    places = places_of(tasks, cyclic)
    common = {
        "SLURM_JOB_ID": str(job),
        "SLURM_JOBID": str(job),
        "SLURM_STEP_ID": str(step),
        "SLURM_STEPID": str(step),
        "SLURM_NTASKS": str(sum(tasks)),
        "SLURM_NPROCS": str(sum(tasks)),
        "SLURM_STEP_NUM_TASKS": str(sum(tasks)),
        "SLURM_NNODES": str(len(tasks)),
        "SLURM_STEP_NUM_NODES": str(len(tasks)),
        "SLURM_JOB_NUM_NODES": str(job_nodes or len(tasks)),
        "SLURM_STEP_TASKS_PER_NODE": shortened(tasks),
        "SLURM_TASKS_PER_NODE": shortened(tasks),
        "SLURM_STEP_NODELIST": nodelist,
        "SLURM_NODELIST": job_nodelist or nodelist,
        "SLURM_JOB_NODELIST": job_nodelist or nodelist,
        "SLURM_DISTRIBUTION": "cyclic" if cyclic else "block",
    }
    if wish is not None:
        common["SLURM_NTASKS_PER_NODE"] = str(wish)
    return [
        {
            **common,
            "SLURM_PROCID": str(rank),
            "SLURM_LOCALID": str(local),
            "SLURM_NODEID": str(node),
            "SLURM_GTIDS": ",".join(str(other) for other, (place, _) in enumerate(places) if place == node),
            **({"SLURMD_NODENAME": names[node]} if names else {}),
        }
        for rank, (node, local) in enumerate(places)
    ]


def places_of(tasks: Sequence[int], cyclic: bool = False) -> list[tuple[int, int]]:
    """Node and local rank of each rank. tasks: how many ranks there are on each node."""
    if not cyclic:
        return [(node, local) for node, count in enumerate(tasks) for local in range(count)]
    return [(node, local) for local in range(max(tasks)) for node, count in enumerate(tasks) if local < count]


def shortened(tasks: Sequence[int]) -> str:
    """Numbers of tasks by node, as Slurm writes them: ``3,1(x2)``."""
    runs = [(count, len([*same])) for count, same in groupby(tasks)]
    return ",".join(f"{count}(x{times})" if times > 1 else str(count) for count, times in runs)
