"""Variables of another Slurm job: of the JupyterLab in which a job was submitted, or of a job that has ended."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from labs_under_test import LABS
from slurm_cluster import completed, eventually, slurm
from student_cells import call, cell

from course.batch.run import BatchError, current_job
from course.processes.launchers.slurm import SHARED
from course.processes.surroundings import job
from course.processes.surroundings.environment import JOB, taken
from course.world import COMM, World

pytestmark = pytest.mark.usefixtures("on_slurm")
REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPTS = [path for lab in LABS for path in sorted(lab.folder.glob("*.sh"))]  # labs' own jobs, beside run.sh
SUM = cell("def f(comm):\n    return comm.allreduce(1)")

# What is left of a JupyterLab's own job and step in what is submitted from its terminal.
OF_ANOTHER = {
    "SLURM_MEM_PER_NODE": "2000",
    "SLURM_NTASKS_PER_NODE": "1",
    "SLURM_CPUS_PER_TASK": "64",
    "SRUN_CPUS_PER_TASK": "64",
    "SLURM_CPU_BIND": "quiet,mask_cpu:0x1",
    "SLURM_GPUS_PER_TASK": "1",
    "SLURM_GPUS": "4",
    "SLURM_TRES_PER_TASK": "gres:gpu:1",
    "SLURM_HINT": "nomultithread",
    "SLURM_THREADS_PER_CORE": "2",
    "SLURM_TIMELIMIT": "99999",
    "SLURM_EXCLUSIVE": "1",
    "SLURM_STEP_ID": "4",
    "SLURM_PROCID": "3",
    "SLURM_WORKING_DIR": "/no/such/folder",
    "SLURM_REMOTE_CWD": "/no/such/folder",
    "SLURM_EXPORT_ENV": "NONE",
    "SLURM_JOBID": "99999",
    "TMPDIR": "/scratch/of-another-job",
}
WORLD = """
from course.world import COMM, World

with World(2, progress=False) as world:
    print(world.run(lambda comm: comm.allreduce(comm.rank + 1), COMM), world, flush=True)
"""
BY_SRUN = """
from course.batch.launched import by_srun
from course.ports import free_port

PORT = str(free_port())

def number():
    import os
    return int(os.environ["SLURM_PROCID"])

def group(environ):
    place = {"RANK": environ["SLURM_PROCID"], "WORLD_SIZE": environ["SLURM_NTASKS"], "LOCAL_RANK": "0"}
    return place | {"LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": PORT}

print(by_srun(number, process_group=group, ranks=2), flush=True)
"""


def ended_job() -> str:
    """Number of a job that has ended."""
    return completed("--output=/dev/null", "--wrap=true")


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        (WORLD, "[3, 3] World of 2 ranks: Slurm job"),
        pytest.param(
            BY_SRUN, "Launch(launcher='srun', results=[0, 1], error='')", marks=pytest.mark.thorough, id="by_srun"
        ),
    ],
)
def test_a_job_that_is_submitted_in_another_job_has_ranks(tmp_path, code, printed):
    program, output = tmp_path / "job.py", tmp_path / "job.out"
    program.write_text(code)
    options = ["--ntasks=2", "--mem-per-cpu=100", f"--output={output}", f"--chdir={tmp_path}"]
    wrapped = f"--wrap={sys.executable} -P {program}"
    environment = os.environ | OF_ANOTHER | {"PYTHONPATH": str(REPOSITORY), SHARED: os.environ[SHARED]}
    completed(*options, wrapped, log=output, env=environment)
    assert printed in output.read_text()


def test_a_step_gets_into_each_component_of_a_heterogeneous_job(monkeypatch):
    output = slurm("sbatch", "--parsable", "--output=/dev/null", "-n1", ":", "-n1", "--wrap=sleep 600")
    number = output.strip()
    try:
        assert eventually(lambda: job.find(number).state == "RUNNING")
        for component, node in enumerate(["node1", "node2"]):
            monkeypatch.setenv(job.NAME, str(int(number) + component))
            found = job.standing().job
            assert found.place == (f"--jobid={number}", f"--het-group={component}")
            environment = taken(os.environ, JOB, found.step(1))
            step = ["srun", *found.place, "--mpi=none", "--ntasks=1", "printenv", "SLURMD_NODENAME"]
            assert subprocess.check_output(step, env=environment, text=True, timeout=240).strip() == node
    finally:
        slurm("scancel", number)


@pytest.mark.thorough
@pytest.mark.parametrize("within", ["", "srun --het-group=1 --mpi=none -n1"])
def test_a_world_in_a_heterogeneous_job_has_its_ranks_where_the_notebook_is(tmp_path, within):
    program, output = tmp_path / "job.py", tmp_path / "job.out"
    program.write_text(WORLD)
    wrapped = f"--wrap={within} {sys.executable} -P {program}"
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "SBATCH_OUTPUT": str(output)}
    size = ["--nodes=1", "--ntasks=2"]
    completed(*size, ":", *size, wrapped, log=output, env=environment, cwd=tmp_path)
    assert "[3, 3] World of 2 ranks: Slurm job" in output.read_text()


def test_a_job_that_has_ended_is_told(monkeypatch):
    number = ended_job()
    monkeypatch.setenv(job.NAME, number)
    standing = job.standing()
    assert standing.job is None
    assert standing.ended == f"Slurm job {number}, which {job.NAME} names here, has ended (COMPLETED)."
    with pytest.raises(BatchError, match=rf"Slurm job {number}, .* has ended .* `sbatch run\.sh`"):
        current_job()


@pytest.mark.thorough
def test_a_job_that_has_ended_leads_to_ranks_here_and_a_sentence(monkeypatch, capsys):
    number = ended_job()
    for name, value in {**OF_ANOTHER, job.NAME: number}.items():
        monkeypatch.setenv(name, value)
    with World(2) as world:
        assert world.run(call, SUM, COMM) == [2, 2]
    assert f"Slurm job {number}," in (said := capsys.readouterr().out)
    assert "has ended (COMPLETED). The ranks are on this machine." in said


@pytest.mark.parametrize("path", SCRIPTS, ids=[f"{path.parent.name}-{path.name}" for path in SCRIPTS])
def test_the_scripts_of_labs_leave_the_options_of_another_job_out(tmp_path, path):
    (unset,) = re.findall(r"^unset (?:.*\\\n)*.*$", path.read_text(), re.MULTILINE)
    output = tmp_path / "job.out"
    program = tmp_path / "job.sh"
    program.write_text(f"#!/bin/bash\nset -euo pipefail\n{unset}\n{unset}\nsrun --mpi=none --kill-on-bad-exit=1 pwd\n")
    options = ["--ntasks=2", "--mem-per-cpu=100", f"--output={output}", f"--chdir={tmp_path}"]
    completed(*options, str(program), log=output, env=os.environ | OF_ANOTHER)
    said = [line for line in output.read_text().splitlines() if not re.match(r"slurmstepd-node\d: .* TMPDIR ", line)]
    assert said == [str(tmp_path)] * 2, "beside what Slurm says of a TMPDIR that is not there"


@pytest.mark.parametrize(
    ("number", "said"),
    [("99999", "has forgotten it"), ("", ""), ("twelve", "is no job's number")],
)
def test_numbers_that_lead_to_no_job_are_told(monkeypatch, number, said):
    monkeypatch.setenv(job.NAME, number)
    standing = job.standing()
    assert standing.job is None
    assert said in standing.ended


def test_a_number_that_another_person_has_by_now_is_told(monkeypatch):
    output = slurm(
        "sbatch", "--parsable", "--uid=nobody", "--gid=nogroup", "--chdir=/", "--output=/dev/null", "--wrap=sleep 600"
    )
    number = output.strip()
    try:
        monkeypatch.setenv(job.NAME, number)
        assert "is another person's by now" in job.standing().ended
    finally:
        slurm("scancel", number)


def test_the_last_element_of_an_array_is_not_taken_for_the_others():
    number = slurm("sbatch", "--parsable", "--array=0-2", "--output=/dev/null", "--wrap=sleep 600").strip()
    try:
        assert eventually(lambda: job.find(number).state == "RUNNING")
        found = job.find(number)
        assert (found.nodes, found.cpus, found.owner) == (1, 1, os.getuid())
        others = re.findall(r"^JobId=(\d+)", slurm("scontrol", "--oneliner", "show", "job", number), re.MULTILINE)
        assert len(others) == 3
        assert {job.find(each).number for each in others} == {*others}
    finally:
        slurm("scancel", number)
