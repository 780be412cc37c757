"""What torchrun and a real srun start, and the variables that they give to ranks, beside what lab 08 makes of them."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import cloudpickle
import pytest
from lab_packages import check_module

from autograde.cells.subject import Subject
from autograde.labs.folder import find_lab, solution_cells
from course.batch.launched import by_srun, by_torchrun
from course.batch.srun_tasks import tasks_of

ROOT = Path(__file__).resolve().parents[2]
LAB = "08_ddp_cnn"
TELL = "import json, os; print(json.dumps(dict(os.environ)))"
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


def translate(environ: dict[str, str]) -> dict[str, str]:
    """What lab 08's own answer makes of the variables of a task."""
    source = solution_cells(find_lab(ROOT, LAB).source)["process_group_from_slurm"]
    return Subject("process_group_from_slurm", source).load()(environ)


def on_cluster(*command: str) -> list[str]:
    """Lines that a command prints, which asks Slurm for nodes."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def tasks(*options: str) -> list[dict[str, str]]:
    """The environments of a step's tasks, by rank."""
    with tempfile.TemporaryDirectory() as folder:
        on_cluster(*options, f"--output={folder}/%t", sys.executable, "-c", TELL)
        return [json.loads(path.read_text()) for path in sorted(Path(folder).iterdir())]


def same(real: list[dict[str, str]], ours: list[dict[str, str]]) -> None:
    """Asserts that a real step has the variables that ours has."""
    assert len(real) == len(ours)
    for there, here in zip(real, ours, strict=True):
        assert {name: there.get(name) for name in here} == here


@pytest.mark.sample(1)
@pytest.mark.usefixtures("on_slurm")
@pytest.mark.parametrize("cyclic", [False, True], ids=["in blocks", "in turns"])
def test_a_real_step_has_the_variables_that_the_lab_reads(cyclic):
    distribution = "--distribution=" + ("cyclic" if cyclic else "block")
    real = tasks("srun", "--nodes=2", "--ntasks=3", "--mpi=none", distribution)
    job = int(real[0]["SLURM_JOB_ID"])
    ours = tasks_of("node[1-2]", [2, 1], cyclic=cyclic, job=job, names=["node1", "node2"])
    same(real, ours)
    assert [translate(environ) for environ in real] == [translate(environ) for environ in ours]
    assert {translate(environ)["MASTER_ADDR"] for environ in real} == {"node1"}


@pytest.mark.thorough
@pytest.mark.usefixtures("on_slurm")
def test_a_step_on_part_of_a_job_has_its_own_nodes_and_tasks():
    step = ("srun", "--nodes=1", "--ntasks=1", "--relative=1", "--mpi=none")
    real = tasks("salloc", "--quiet", "--nodes=2", "--ntasks=3", *step, "--distribution=block")
    whole = {"job_nodelist": "node[1-2]", "job_nodes": 2}
    same(real, tasks_of("node2", [1], job=int(real[0]["SLURM_JOB_ID"]), names=["node2"], **whole))
    group = translate(real[0])
    assert (group["RANK"], group["WORLD_SIZE"], group["LOCAL_WORLD_SIZE"]) == ("0", "1", "1")
    assert group["MASTER_ADDR"] == "node2"


@pytest.mark.thorough
@pytest.mark.usefixtures("on_slurm")
def test_lists_of_nodes_are_read_as_scontrol_reads_them():
    draw_list = check_module(LAB, "node_lists").draw_list
    for form in range(5):
        for count in range(1, 5):
            text, names = draw_list(random.Random(10 * form + count), form, count)
            assert on_cluster("scontrol", "show", "hostnames", text) == names
            assert translate(tasks_of(text, [1] * count)[0])["MASTER_ADDR"] == names[0]


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


@pytest.mark.thorough
@pytest.mark.parametrize("launcher", [by_torchrun, by_srun])
def test_without_slurm_ranks_are_started_and_tell_what_went_wrong(launcher, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    options = {"ranks": 2} | ({"process_group": translate} if launcher is by_srun else {})
    assert launcher(told, "", **options).results == [[0, 2, "0"], [1, 2, "1"]]
    assert launcher(told, "wrong", **options).first == "failed: ValueError: no such thing"
    if launcher is by_torchrun:
        assert launcher(told, "gone", **options).first == "failed: rank 0 ended without a word"
    else:
        with pytest.raises(NotImplementedError):
            launcher(told, "not done", **options)
    assert [*tmp_path.iterdir()] == []
