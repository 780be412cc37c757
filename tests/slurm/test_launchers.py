"""What torchrun and a real srun start, and the variables that they give to ranks."""

from __future__ import annotations

import json
import os
import signal
import sys
from functools import partial
from pathlib import Path

import cloudpickle
import pytest
import torch
from srun_steps import on_cluster, same, tasks

from course.batch.launched import by_srun, by_torchrun
from course.batch.requeued import own_job
from course.batch.srun_tasks import tasks_of
from course.ports import free_port

OF_SRUN = """
import json, os
import torch.distributed as dist
from course.batch.launched import by_srun
def place(factor):
    return [factor * dist.get_rank(), dist.get_world_size(), os.environ["SLURM_NODEID"]]
def group(environ):
    own = {"RANK": environ["SLURM_PROCID"], "WORLD_SIZE": environ["SLURM_NTASKS"], "LOCAL_WORLD_SIZE": "1"}
    return own | {"LOCAL_RANK": "0", "MASTER_ADDR": "node1", "MASTER_PORT": "23456"}  # no network knows it
launch = by_srun(place, 10, process_group=group, ranks=2)
print(json.dumps([launch.launcher, launch.results, by_srun(place, 1, process_group=group, ranks=999).error]))
"""


@pytest.mark.sample(1)
@pytest.mark.usefixtures("on_slurm")
@pytest.mark.parametrize("cyclic", [False, True], ids=["in blocks", "in turns"])
def test_a_real_step_has_the_variables_that_ours_have(cyclic):
    distribution = "--distribution=" + ("cyclic" if cyclic else "block")
    real = tasks("srun", "--nodes=2", "--ntasks=3", "--mpi=none", distribution)
    job = int(real[0]["SLURM_JOB_ID"])
    same(real, tasks_of("node[1-2]", [2, 1], cyclic=cyclic, job=job, names=["node1", "node2"]))


@pytest.mark.thorough
@pytest.mark.usefixtures("on_slurm")
def test_a_step_on_part_of_a_job_has_its_own_nodes_and_tasks():
    step = ("srun", "--nodes=1", "--ntasks=1", "--relative=1", "--mpi=none")
    real = tasks("salloc", "--quiet", "--nodes=2", "--ntasks=3", *step, "--distribution=block")
    whole = {"job_nodelist": "node[1-2]", "job_nodes": 2}
    same(real, tasks_of("node2", [1], job=int(real[0]["SLURM_JOB_ID"]), names=["node2"], **whole))


@pytest.mark.thorough
@pytest.mark.usefixtures("on_slurm")
def test_srun_starts_ranks_of_a_job_on_its_nodes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (line,) = on_cluster("salloc", "--quiet", "--nodes=2", "--ntasks=2", sys.executable, "-c", OF_SRUN)
    launcher, results, error = json.loads(line)
    assert (launcher, results) == ("srun", [[0, 2, "0"], [10, 2, "1"]])
    assert error.startswith("srun: error: Unable to create step for job")
    assert [*tmp_path.iterdir()] == []


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as the functions of a notebook


def told(what: str) -> list:
    """On a rank: its place, or an error of the kind that is asked for."""
    import torch.distributed as dist

    if what == "not done":
        raise NotImplementedError
    if what == "wrong" and dist.get_rank() == 1:
        raise ValueError("no such thing")
    if what == "gone":
        os._exit(3)
    return [dist.get_rank(), dist.get_world_size(), os.environ["LOCAL_RANK"]]


def on_one_node(port: int, environ: dict[str, str]) -> dict[str, str]:
    """On a rank: what a process group needs, of a task's variables."""
    ranks = {"RANK": environ["SLURM_PROCID"], "LOCAL_RANK": environ["SLURM_LOCALID"]}
    sizes = dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE"), environ["SLURM_NTASKS"])
    return ranks | sizes | {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}


@pytest.mark.thorough
@pytest.mark.parametrize("launcher", [by_torchrun, by_srun])
def test_without_slurm_ranks_are_started_and_tell_what_went_wrong(launcher, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    options = {"ranks": 2} | ({"process_group": partial(on_one_node, free_port())} if launcher is by_srun else {})
    assert launcher(told, "", **options).results == [[0, 2, "0"], [1, 2, "1"]]
    assert launcher(told, "wrong", **options).first == "failed: ValueError: no such thing"
    if launcher is by_torchrun:
        assert launcher(told, "gone", **options).first == "failed: rank 0 ended without a word"
    else:
        with pytest.raises(NotImplementedError):
            launcher(told, "not done", **options)
    assert [*tmp_path.iterdir()] == []


def restarted(folder: str) -> int:
    """Runs on a rank of torchrun: the last one kills itself in the first attempt; gives the attempt's number."""
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    Path(folder, f"{attempt}-{os.environ['RANK']}").touch()
    torch.distributed.all_reduce(torch.zeros(1))
    if attempt == 0 and os.environ["RANK"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    torch.distributed.all_reduce(torch.zeros(1))
    return attempt


@pytest.mark.thorough
def test_torchrun_starts_all_ranks_again_after_one_was_killed(tmp_path):
    launch = by_torchrun(restarted, str(tmp_path), ranks=2, restarts=1)
    assert (launch.results, launch.error) == ([1, 1], "")
    assert {path.name for path in tmp_path.iterdir()} == {"0-0", "0-1", "1-0", "1-1"}


def test_in_an_array_a_job_names_its_own_element():
    assert own_job({"SLURM_JOB_ID": "12"}) == "12"
    assert own_job({"SLURM_JOB_ID": "13", "SLURM_ARRAY_JOB_ID": "12", "SLURM_ARRAY_TASK_ID": "3"}) == "12_3"
