"""`process_group_from_slurm` beside the variables that a real srun gives to tasks, and lists that scontrol reads."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from srun_steps import on_cluster, tasks

from autograde.cells.subject import Subject
from autograde.labs.folder import solution_cells
from course.batch.srun_tasks import tasks_of

from ..checks.node_lists import draw_list

pytestmark = pytest.mark.usefixtures("on_slurm")


def translate(environ: dict[str, str]) -> dict[str, str]:
    """What the lab's own answer makes of the variables of a task."""
    source = solution_cells(Path(__file__).parents[1] / "lab.py")["process_group_from_slurm"]
    return Subject("process_group_from_slurm", source).load()(environ)


@pytest.mark.sample(1)
@pytest.mark.parametrize("cyclic", [False, True], ids=["in blocks", "in turns"])
def test_a_real_step_gives_the_process_group_that_the_check_expects(cyclic):
    distribution = "--distribution=" + ("cyclic" if cyclic else "block")
    real = tasks("srun", "--nodes=2", "--ntasks=3", "--mpi=none", distribution)
    job = int(real[0]["SLURM_JOB_ID"])
    ours = tasks_of("node[1-2]", [2, 1], cyclic=cyclic, job=job, names=["node1", "node2"])
    assert [translate(environ) for environ in real] == [translate(environ) for environ in ours]
    assert {translate(environ)["MASTER_ADDR"] for environ in real} == {"node1"}


@pytest.mark.thorough
def test_a_step_on_part_of_a_job_is_a_process_group_of_its_own():
    step = ("srun", "--nodes=1", "--ntasks=1", "--relative=1", "--mpi=none")
    real = tasks("salloc", "--quiet", "--nodes=2", "--ntasks=3", *step, "--distribution=block")
    group = translate(real[0])
    assert (group["RANK"], group["WORLD_SIZE"], group["LOCAL_WORLD_SIZE"]) == ("0", "1", "1")
    assert group["MASTER_ADDR"] == "node2"


@pytest.mark.thorough
def test_lists_of_nodes_are_read_as_scontrol_reads_them():
    for form in range(5):
        for count in range(1, 5):
            text, names = draw_list(random.Random(10 * form + count), form, count)
            assert on_cluster("scontrol", "show", "hostnames", text) == names
            assert translate(tasks_of(text, [1] * count)[0])["MASTER_ADDR"] == names[0]
