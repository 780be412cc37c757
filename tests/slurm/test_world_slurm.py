"""A world in a Slurm job that is asked for: waited for, cancelled at the end, and its own end told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from slurm_cluster import eventually, jobs, slurm
from student_cells import call, cell

import course.processes.launchers.slurm
from course.world import COMM, World, WorldError

pytestmark = pytest.mark.usefixtures("on_slurm")

SPIN = cell(
    """
    from pathlib import Path

    def f(comm, folder):
        Path(folder, f"rank-{comm.rank}").touch()
        while True:
            pass
    """
)
OWNER = """
from course.world import COMM, World
world = World(2, nodes=2, launcher="slurm", progress=False)
print("ready", flush=True)
def busy(comm):
    while True:
        comm.barrier()
world.attempt(busy, COMM, deadline=300)
"""


def once_they_spin(folder: Path, act: Callable[[], object]) -> None:
    """Do this in a thread, when two ranks are in SPIN, which has this folder as argument."""

    def wait() -> None:
        if eventually(lambda: len([*folder.glob("rank-*")]) == 2):
            act()

    threading.Thread(target=wait, daemon=True).start()


def ranks() -> list[int]:
    """Process ids of ranks and fork servers that run on the cluster's nodes, which are this machine."""
    programs = {"course.processes.rank", "course.processes.rank_server"}
    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        environment = process.info["environ"] or {}
        if programs & {*(process.info["cmdline"] or [])} and "SLURM_STEP_ID" in environment:
            found += [process.pid] * (environment["SLURM_CONF"] == os.environ["SLURM_CONF"])
    return found


def test_the_job_is_cancelled_when_the_world_stops(capsys):
    with World(2, nodes=2, launcher="slurm") as world:
        (job,) = jobs()
        assert job.startswith("lockstep-")
        assert world.run(call, cell("import os\ndef f():\n    return os.environ['SLURMD_NODENAME']")) == [
            "node1",
            "node2",
        ]
    assert eventually(lambda: not jobs() and not ranks())
    assert "2 ranks ready: Slurm job" in capsys.readouterr().out


@pytest.mark.thorough
@pytest.mark.parametrize("when", ["waiting", "running"])
def test_the_job_is_cancelled_when_its_owner_is_killed(when):
    if when == "waiting":
        slurm("scontrol", "update", "nodename=node[1-2]", "state=drain", "reason=test")
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        if when == "running":
            assert owner.stdout.readline() == "ready\n"
        assert eventually(jobs)
        os.killpg(owner.pid, signal.SIGKILL)
        owner.wait()
        assert eventually(lambda: not jobs() and not ranks())
    finally:
        if when == "waiting":
            slurm("scontrol", "update", "nodename=node[1-2]", "state=resume")


@pytest.mark.thorough
def test_a_job_that_must_wait_says_why_and_can_be_interrupted(monkeypatch):
    said = []

    def interrupt() -> None:
        if eventually(lambda: any("PENDING" in news for news in said)):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(course.processes.launchers.slurm.tqdm, "write", lambda news, file: said.append(news))
    slurm("scontrol", "update", "nodename=node2", "state=drain", "reason=test")
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            World(2, nodes=2, launcher="slurm")
        assert eventually(lambda: not jobs())
    finally:
        slurm("scontrol", "update", "nodename=node2", "state=resume")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("end", "told"),
    [
        (["scancel", "{job}"], "was cancelled"),
        (["scontrol", "update", "JobId={job}", "EndTime=now+1"], "reached its time limit"),
        (["scontrol", "update", "nodename=node2", "state=down", "reason=test"], "lost a node"),
    ],
)
def test_the_end_of_a_job_is_told_and_the_world_asks_for_another(end, told, tmp_path):
    with World(2, nodes=2, launcher="slurm", progress=False) as world:
        (job,) = slurm("squeue", "--noheader", "--format=%A").split()
        once_they_spin(tmp_path, lambda: slurm(*(part.format(job=job) for part in end)))
        outcome = world.attempt(call, SPIN, COMM, str(tmp_path), deadline=240)
        assert outcome.state == "rank-died"
        assert outcome.detail == f"ranks 0 and 1 died: Slurm job {job} {told}."
        assert not jobs(), "another job is asked for only when there is something to run"
        assert world.run(call, cell("def f():\n    return 1")) == [1, 1]


@pytest.mark.thorough
def test_the_end_of_a_job_is_told_also_of_a_rank_that_was_seen_to_be_killed_before():
    ends = cell(
        "import os, signal, subprocess\n"
        "def f(comm):\n"
        "    if comm.rank == 0:\n"
        "        subprocess.Popen(['sh', '-c', 'sleep 0.05; exec scancel $SLURM_JOB_ID'], start_new_session=True)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    while True:\n"
        "        pass"
    )
    with World(2, nodes=2, launcher="slurm", progress=False) as world:
        (job,) = slurm("squeue", "--noheader", "--format=%A").split()
        outcome = world.attempt(call, ends, COMM, deadline=60)
        assert outcome.state == "rank-died"
        assert outcome.detail == f"ranks 0 and 1 died: Slurm job {job} was cancelled."


@pytest.mark.thorough
def test_the_end_of_a_step_is_told_and_the_world_goes_on():
    aborts = cell("def f(comm):\n    if comm.rank:\n        comm.Abort(3)\n    comm.barrier()")
    with World(2, nodes=2, launcher="slurm", progress=False) as world:
        outcome = world.attempt(call, aborts, COMM)
        assert outcome.state == "rank-died"
        assert outcome.detail.endswith(" died: Slurm ended their step, as it does when a rank calls MPI_Abort.")
        assert world.run(call, cell("def f():\n    return 1")) == [1, 1]


@pytest.mark.thorough
def test_a_fork_server_that_dies_takes_its_ranks_along_and_others_start_without_it(tmp_path):
    def started_by_srun(world: World) -> list[bool]:
        """Whether each rank's process was started without a fork server."""
        return ["course.processes.rank" in psutil.Process(pid).cmdline() for pid in world.pids]

    with World(2, nodes=2, launcher="slurm", progress=False) as world:
        assert started_by_srun(world) == [False, False]
        server = psutil.Process(world.pids[1]).parent().parent()
        once_they_spin(tmp_path, server.kill)
        outcome = world.attempt(call, SPIN, COMM, str(tmp_path), deadline=240)
        assert outcome.state == "rank-died"
        assert outcome.detail.startswith("rank 1 died: killed by SIGKILL")
        assert world.run(call, cell("def f(comm):\n    return comm.allreduce(1)"), COMM) == [2, 2]
        assert started_by_srun(world) == [False, True]


@pytest.mark.thorough
def test_a_drained_node_ends_its_ranks_no_sooner_than_they_are_done():
    with World(2, nodes=2, launcher="slurm", progress=False) as world:
        slurm("scontrol", "update", "nodename=node2", "state=drain", "reason=test")
        try:
            assert world.run(call, cell("def f(comm):\n    return comm.allreduce(1)"), COMM) == [2, 2]
        finally:
            slurm("scontrol", "update", "nodename=node2", "state=resume")


def test_what_slurm_refuses_is_told(monkeypatch):
    monkeypatch.setenv("SALLOC_PARTITION", "nowhere")
    with pytest.raises(WorldError, match=r"There is no job for 2 ranks\. Slurm says: .*invalid partition"):
        World(2, launcher="slurm", progress=False)


def test_without_slurm_conf_that_is_told(monkeypatch):
    monkeypatch.delenv("SLURM_CONF")
    with pytest.raises(WorldError, match=r"there is no slurm\.conf\. Set SLURM_CONF"):
        World(2, launcher="slurm", progress=False)


def test_without_slurm_that_is_told(monkeypatch):
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable))
    with pytest.raises(WorldError, match="There is no salloc here"):
        World(2, launcher="slurm", progress=False)


def test_a_folder_that_cannot_be_written_is_named(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LOCKSTEP_SHARED", str(tmp_path / "file"))
    with pytest.raises(WorldError, match=f"in {tmp_path}/file: .*LOCKSTEP_SHARED"):
        World(2, launcher="slurm", progress=False)
