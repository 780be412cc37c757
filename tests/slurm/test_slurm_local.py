"""slurm/local/cluster: a real Slurm of two nodes. Needs root, and the packages that it names when one is missing."""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "slurm/local/cluster"
PROGRAMS = ["munged", "slurmctld", "slurmd", "sinfo"]

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start slurmd"),
    pytest.mark.skipif(not all(map(shutil.which, PROGRAMS)), reason=f"not all installed: {', '.join(PROGRAMS)}"),
]


def cluster(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs slurm/local/cluster, whatever comes of it."""
    command = [sys.executable, PROGRAM, *map(str, arguments)]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=240)


def client(folder: Path, *command: str, uid: int = 0) -> str:
    """What one of Slurm's programs prints, as that user; it must succeed."""
    # Open MPI wants a home.
    environment = {"PATH": os.environ["PATH"], "HOME": "/", "SLURM_CONF": f"{folder}/slurm.conf"}
    who = {"user": uid, "group": uid, "extra_groups": []}
    run = subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, timeout=240, **who)
    assert run.returncode == 0, f"{command}: {run.stderr}"
    return run.stdout


def processes(part: str) -> list[str]:
    """The command lines of all processes that have `part` in it, or in their working directory. Zombies have none."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # It has ended, or is a thread of the kernel.
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if part in line or part in os.readlink(entry / "cwd"):
                found.append(line)
    return found


def eventually(condition: Callable[[], object], seconds: float = 120) -> None:
    """Waits until `condition()` holds, and fails if it does not."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """An empty folder that all users may enter, which pytest's own are not. All clusters in it are ended afterwards."""
    place = Path(tempfile.mkdtemp(prefix="slurm-"))
    place.chmod(0o755)
    yield place
    for conf in place.rglob("slurm.conf"):
        cluster("stop", conf.parent)
    shutil.rmtree(place)
    assert processes(str(place)) == []


@pytest.fixture(scope="module")
def one(place: Path) -> Path:
    """A running cluster."""
    run = cluster("start", place / "one")
    assert run.returncode == 0, run.stderr
    assert run.stdout == f"export SLURM_CONF={place}/one/slurm.conf\n"
    return place / "one"


@pytest.fixture
def two(place: Path) -> Iterator[Path]:
    """A second one, beside it, which the test may ruin."""
    folder = place / "two"
    run = cluster("start", folder, "--cpus", 4)
    assert run.returncode == 0, run.stderr
    yield folder
    if folder.exists():
        assert cluster("clean", folder).returncode == 0


@pytest.fixture
def user() -> Iterator[int]:
    """The user id of an ordinary account, which goes with the test."""
    name = f"slurm-test-{os.getpid()}"
    subprocess.run(["useradd", "--no-create-home", "--user-group", name], check=True)
    account = pwd.getpwnam(name)
    yield account.pw_uid
    subprocess.run(["userdel", name], check=True)


def test_tasks_run_on_both_nodes(one: Path) -> None:
    lines = client(one, "srun", "-N2", "-n4", "--ntasks-per-node=2", "sh", "-c", "echo $SLURMD_NODENAME").split()
    assert sorted(lines) == ["node1", "node1", "node2", "node2"]


def test_nodes_have_the_processors_that_were_asked_for(one: Path) -> None:
    assert client(one, "sinfo", "-hNpmain", "-o%N %c").splitlines() == ["node1 8", "node2 8"]


def test_jobs_of_an_ordinary_user_run_as_that_user(one: Path, user: int) -> None:
    assert client(one, "srun", "-N2", "-n2", "id", "-u", uid=user).split() == [str(user)] * 2
    number = client(one, "sbatch", "--wait", "--parsable", "-N2", "-o/dev/null", "--wrap=srun true", uid=user).strip()
    assert f"UserId={pwd.getpwuid(user).pw_name}({user})" in client(one, "scontrol", "show", "job", number, uid=user)


def test_an_ordinary_user_ends_no_jobs_of_others(one: Path, user: int) -> None:
    number = client(one, "sbatch", "--parsable", "-o/dev/null", "--wrap=sleep 600").strip()
    with pytest.raises(AssertionError, match="Access/permission denied"):
        client(one, "scancel", number, uid=user)
    client(one, "scancel", number)


def test_ended_jobs_are_accounted_for(one: Path, user: int) -> None:
    number = client(one, "sbatch", "--parsable", "-Jfails", "-o/dev/null", "--wrap=exit 3").strip()
    eventually(lambda: f"JobId={number} " in (one / "jobcomp.log").read_text())
    line = client(one, "sacct", "-cnP", f"-j{number}", "-oJobID,JobName,Partition,NNodes,State", uid=user)
    assert line.split() == [f"{number}|fails|main|1|FAILED"]
    job = client(one, "scontrol", "show", "job", number, uid=user)
    assert "JobState=FAILED" in job and "ExitCode=3:0" in job


def test_the_short_partition_ends_a_job_after_a_minute(one: Path) -> None:
    assert re.search(r"MaxTime=00:01:00", client(one, "scontrol", "show", "partition", "short"))
    assert re.search(r"Default=YES.* MaxTime=UNLIMITED", client(one, "scontrol", "show", "partition", "main"), re.S)


def test_four_ranks_of_mpi_talk_to_each_other_over_both_nodes(one: Path) -> None:
    # Three ranks on the first node: more than two fail where a node does not find itself in what PMIx knows.
    code = "from mpi4py import MPI; c = MPI.COMM_WORLD; print(c.size, c.allreduce(c.rank))"
    lines = client(one, "srun", "--mpi=pmix", "-N2", "-n4", "-mplane=3", sys.executable, "-c", code).splitlines()
    assert lines == ["4 6"] * 4


def test_nodes_share_no_memory_under_open_mpi_4(one: Path) -> None:
    lines = client(one, "srun", "-N2", "-n2", "sh", "-c", "echo $OMPI_MCA_btl_vader_backing_directory").split()
    assert sorted(lines) == [f"{one}/node1.tmp", f"{one}/node2.tmp"]


def test_starting_it_twice_is_refused_and_leaves_it_alone(one: Path) -> None:
    run = cluster("start", one)
    assert run.returncode == 1
    assert run.stderr.startswith(f"cluster: a cluster runs in {one}") and run.stderr.count("\n") == 1
    assert cluster("status", one).returncode == 0


def test_two_clusters_do_not_disturb_each_other(one: Path, two: Path) -> None:
    client(one, "sbatch", "-Jmine", "-o/dev/null", "--wrap=sleep 600")
    eventually(lambda: client(one, "squeue", "-h", "-o%T", "-nmine").split() == ["RUNNING"])
    assert client(two, "squeue", "-h") == ""
    assert client(two, "srun", "-N2", "-n8", "hostname").count("\n") == 8
    ports = [set(re.findall(r"Port=(\d+)", (folder / "slurm.conf").read_text())) for folder in [one, two]]
    assert len(ports[0] | ports[1]) == 6
    assert cluster("clean", two).returncode == 0
    assert client(one, "squeue", "-h", "-o%T", "-nmine").split() == ["RUNNING"]
    client(one, "scancel", "-nmine")


def test_a_credential_of_one_cluster_is_worth_nothing_in_another(one: Path, two: Path) -> None:
    conf = (one / "slurm.conf").read_text()
    (two / "mixed.conf").write_text(conf.replace(f"socket={one}", f"socket={two}"))
    for file, accepted in {one / "slurm.conf": True, two / "mixed.conf": False}.items():
        environment = {"PATH": os.environ["PATH"], "SLURM_CONF": str(file)}
        assert (subprocess.run(["sinfo"], env=environment, capture_output=True).returncode == 0) == accepted


def test_stop_ends_daemons_and_jobs_and_clean_removes_the_folder(two: Path) -> None:
    (two / "stubborn.sh").write_text("#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 0.2; done\n")
    client(two, "sbatch", "-N2", "-n2", "-o/dev/null", f"--wrap=srun sh {two}/stubborn.sh")
    client(two, "sbatch", "-N2", "-n8", "--exclusive", "-o/dev/null", "--wrap=:")  # has to wait
    eventually(lambda: processes(f"sh {two}/stubborn.sh").count(f"/usr/bin/sh {two}/stubborn.sh ") == 2)
    assert len(processes(f"-f {two}/slurm.conf")) == 3
    assert cluster("stop", two).returncode == 0
    assert processes(str(two)) == []
    assert cluster("stop", two).returncode == 0
    assert cluster("start", two).returncode == 0
    assert client(two, "squeue", "-h") == ""
    assert cluster("clean", two).returncode == 0
    assert not two.exists()


def test_stop_ends_a_cluster_whose_daemons_were_killed(two: Path) -> None:
    client(two, "sbatch", "-N2", "-o/dev/null", f"--wrap=srun sh -c 'sleep 600; : {two}/task'")
    eventually(lambda: len(processes(f"sh -c sleep 600; : {two}/task")) >= 2)
    eventually(lambda: any(b"wrap" in file.read_bytes() for file in two.glob("state/job_state")))
    for name in ["slurmctld", "node2", "munged"]:
        os.kill(int((two / f"{name}.pid").read_text()), signal.SIGKILL)
    run = cluster("status", two)
    assert run.returncode == 1 and "slurmctld does not run" in run.stdout and "not all of it runs" in run.stderr
    assert cluster("stop", two).returncode == 0
    assert processes(str(two)) == []
    assert cluster("start", two).returncode == 0


def test_stop_does_not_signal_a_process_that_got_the_number_of_a_daemon(two: Path) -> None:
    with subprocess.Popen(["sleep", "600"]) as bystander:
        try:
            os.kill(int((two / "node1.pid").read_text()), signal.SIGKILL)
            (two / "node1.pid").write_text(f"{bystander.pid}\n")
            assert cluster("stop", two).returncode == 0
            assert bystander.poll() is None
        finally:
            bystander.kill()


def refused(run: subprocess.CompletedProcess[str], *parts: str) -> None:
    """Checks that a command failed with one line that has all the parts."""
    assert run.returncode == 1 and run.stdout == ""
    assert run.stderr.startswith("cluster: ") and run.stderr.count("\n") == 1
    assert [part for part in parts if part not in run.stderr] == [], run.stderr


def test_bad_folders_are_refused_in_one_line(place: Path) -> None:
    (place / "other").mkdir()
    (place / "other/file").write_text("precious")
    refused(cluster("start", place / "other"), "holds something else")
    refused(cluster("clean", place / "other"), "holds no cluster")
    refused(cluster("stop", place / "nowhere"), "holds no cluster")
    refused(cluster("start", place / "a b"), "name another folder")
    refused(cluster("start", place / ("x" * 60)), "characters too long")
    assert (place / "other/file").read_text() == "precious"
    assert cluster("start", place / "new", "--nodes", 0).returncode == 2
    assert {path.name for path in place.iterdir()} <= {"one", "other"}


def test_an_ordinary_user_is_told_to_be_root(place: Path, user: int) -> None:
    # A copy, and the system's Python, as that user may not reach the repository.
    for name in ["cluster", "slurm.conf", "task_prolog"]:
        shutil.copy(PROGRAM.with_name(name), place)
    command = ["/usr/bin/python3", place / "cluster", "start", place / "new"]
    run = subprocess.run(command, user=user, group=user, extra_groups=[], cwd="/", capture_output=True, text=True)
    for name in ["cluster", "slurm.conf", "task_prolog"]:
        (place / name).unlink()
    refused(run, "needs root")


@pytest.fixture
def programs(place: Path) -> Iterator[Path]:
    """A folder to use as PATH, with links to the daemons, which a test may replace."""
    folder = place / "programs"
    folder.mkdir()
    for name in [*PROGRAMS, "squeue", "scancel"]:
        (folder / name).symlink_to(shutil.which(name) or "")
    yield folder
    shutil.rmtree(folder)


def test_missing_packages_are_named(place: Path, programs: Path) -> None:
    (programs / "munged").unlink()
    (programs / "slurmd").unlink()
    run = cluster("start", place / "new", PATH=str(programs))
    refused(run, "apt-get install --no-install-recommends munge slurmd")
    assert not (place / "new").exists()


def test_a_daemon_that_dies_at_the_start_is_quoted_and_the_others_end(place: Path, programs: Path) -> None:
    (programs / "slurmd").unlink()
    (programs / "slurmd").write_text("#!/bin/sh\necho no room on device >&2\nexit 7\n")
    (programs / "slurmd").chmod(0o755)
    run = cluster("start", place / "new", PATH=str(programs))
    refused(run, "node1 ended with status 7", "no room on device")
    assert processes(str(place / "new")) == []
    assert cluster("clean", place / "new").returncode == 0


def test_a_folder_that_users_may_not_enter_is_refused(place: Path) -> None:
    (place / "closed").mkdir(mode=0o700)
    refused(cluster("start", place / "closed/new"), "munged ended", "execute permissions for all", f'"{place}/closed"')
    shutil.rmtree(place / "closed")


def test_an_interrupted_start_leaves_nothing_behind(place: Path, programs: Path) -> None:
    (programs / "sinfo").unlink()
    (programs / "sinfo").write_text("#!/bin/sh\n")  # so that it waits for nodes until it is interrupted
    (programs / "sinfo").chmod(0o755)
    command, environment = [sys.executable, PROGRAM, "start", place / "new"], {**os.environ, "PATH": str(programs)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as run:
        eventually(lambda: (place / "new/node1.pid").exists())
        run.terminate()
        assert run.stdout and run.stdout.read() == b""
    assert run.returncode == 128 + signal.SIGTERM
    assert processes(str(place / "new")) == []
    assert cluster("clean", place / "new").returncode == 0
