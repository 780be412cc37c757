"""`sbatch run.sh` on a real Slurm, as an ordinary user: what it leaves, and what it says where something is wrong."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from batch_lab import NAME, REPOSITORY, Account, changed, fetched, make_course
from slurm_cluster import eventually, running_cluster, slurm

from autograde.labs.folder import Lab
from course.batch.record import code_of, students_cells

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start slurmd"),
    pytest.mark.skipif(not shutil.which("slurmctld"), reason="slurmctld is not installed"),
]


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that all users may enter, with a running cluster in its `slurm`."""
    with running_cluster() as place:
        yield place


@pytest.fixture(scope="module")
def lab(place: Path) -> Lab:
    """A small lab."""
    return make_course(place / "course")


@pytest.fixture
def student(place: Path, lab: Lab, request: pytest.FixtureRequest) -> Account:
    """A student who has solved it."""
    digest = hashlib.sha256(request.node.name.encode()).hexdigest()[:8]
    return fetched("nobody", lab, place / digest, place / "slurm" / "slurm.conf")


@pytest.mark.sample(1)
@pytest.mark.parametrize(("nodes", "ranks"), [(2, 4), (1, 1), (1, 2)])
def test_a_job_leaves_log_executed_notebook_and_record(student, nodes, ranks):
    before = student.notebook.read_bytes()
    job, status = student.batch(f"--nodes={nodes}", f"--ntasks={ranks}")
    log = (student.folder / f"{NAME}.out.{job}").read_text()
    made = student.record()
    assert student.notebook.read_bytes() == before, "the student's own notebook is left alone"
    assert (made["format"], made["lab"], made["state"]) == (1, NAME, "completed"), log
    assert made["job"]["id"] == job
    assert (len(made["job"]["nodes"]), made["job"]["ranks"]) == (nodes, ranks)
    assert made["job"]["user"] == student.name
    (run,) = made["runs"]
    assert run["ranks"] == ranks
    assert [epoch["loss"] for epoch in run["epochs"]] == pytest.approx([9, 5.76, 3.6864])
    assert run["throughput"] == pytest.approx(36 / 0.03)
    assert sorted({place["node"] for place in run["places"]}) == made["job"]["nodes"]
    assert f"{ranks} process" in log
    assert "epoch 2: loss 3.6864" in log
    notebook = nbformat.read(student.folder / f"{NAME}.out.{job}.ipynb", as_version=4)
    assert made["code"] == code_of(students_cells(notebook.cells))
    assert any(cell.get("outputs") for cell in notebook.cells)
    assert made["cells"] == {"run": 6, "failed": [], "not_run": []}
    assert status == 0


@pytest.mark.thorough
def test_more_ranks_than_there_are_leave_a_cell_out_and_the_job_completes(student):
    changed(student, "rate", "world.run(print, size=2)\nrate = lambda ranks: 0.1")
    _, status = student.batch("--ntasks=1")
    made = student.record()
    assert (made["state"], status) == ("completed", 0), student.logs()
    assert made["cells"]["not_run"][0] == "rate"
    assert "not run: NotEnoughRanks" in student.logs()


@pytest.mark.thorough
def test_an_unfinished_todo_does_not_lose_the_run(place, lab, student):
    blank = fetched("nobody", lab, student.folder / "blank", student.conf, solved=False)
    job, _ = blank.batch("--ntasks=2")
    assert blank.record()["state"] == "completed"
    assert blank.record()["runs"] == []
    assert "no training was put on record" in (blank.folder / f"{NAME}.out.{job}").read_text()


@pytest.mark.thorough
def test_a_cell_that_raises_is_named_and_the_others_run(student):
    changed(student, "rate", "1 / 0")
    _, status = student.batch("--ntasks=2")
    made = student.record()
    assert status == 1
    assert (made["state"], made["cells"]["failed"]) == ("failed", ["rate"])
    assert made["errors"] == ["ZeroDivisionError: division by zero"]
    assert made["cells"]["run"] == 6
    assert "failed: ZeroDivisionError" in student.logs()


@pytest.mark.thorough
def test_a_kernel_that_dies_is_told(student):
    changed(student, "rate", "import os\nos._exit(3)")
    student.batch("--ntasks=1")
    assert student.record()["state"] == "failed"
    assert "the kernel died" in student.logs()


@pytest.mark.thorough
@pytest.mark.parametrize("by", ["scancel", "the time limit"])
def test_a_job_that_is_stopped_leaves_its_record(student, by):
    changed(student, "rate", "time.sleep(3000)")
    job = student.submit("--ntasks=1", "--time=60", "--signal=B:TERM@50")
    log = student.folder / f"{NAME}.out.{job}"
    assert eventually(lambda: log.exists() and "start-2" in log.read_text())
    if by == "scancel":
        student.run("scancel", job)
    else:  # Slurm looks at the limits of jobs every half a minute.
        environment = os.environ | {"SLURM_CONF": str(student.conf)}
        subprocess.run(["scontrol", "update", f"JobId={job}", "EndTime=now+49"], env=environment, check=True)
    assert eventually((student.folder / "run.json").exists), log.read_text()
    assert student.record()["state"] == "stopped", log.read_text()
    assert "stopped by SIGTERM" in log.read_text()
    assert (student.folder / f"{NAME}.out.{job}.ipynb").exists()


def test_without_slurm_it_says_what_to_do(student):
    done = student.run("bash", "run.sh")
    assert done.returncode == 2
    assert "sbatch run.sh" in done.stderr


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda student: student.notebook.unlink(), "there is no 91_descent.ipynb"),
        (lambda student: student.notebook.write_text('{"cells": ['), "cannot be read as a notebook"),
        (lambda student: student.notebook.write_text(""), "cannot be read as a notebook"),
    ],
    ids=["missing", "damaged", "empty"],
)
def test_a_notebook_that_is_missing_or_damaged_is_named(student, spoil, said):
    spoil(student)
    assert student.batch()[1] == 2
    assert said in student.logs()
    assert not (student.folder / "run.json").exists()


def test_where_lockstep_is_not_found_it_says_how_to_name_it(student):
    assert student.batch(home=None)[1] == 2
    assert "export LOCKSTEP_HOME=" in student.logs()


def test_two_folders_up_is_the_clone_whose_site_sh_may_name_a_container(place, lab):
    clone = place / "clone"
    for name in ("course/batch/run.py", "slurm/site.sh"):
        (clone / name).parent.mkdir(parents=True)
        (clone / name).write_text("export LOCKSTEP_PYTHON='echo in a container:'\n")
    student = fetched("nobody", lab, clone / "labs" / NAME, place / "slurm" / "slurm.conf")
    assert student.batch(home=None)[1] == 0, student.logs()
    assert f"in a container: -P -m course.batch.run {NAME}.ipynb" in student.logs()


@pytest.mark.thorough
def test_torchrun_starts_the_ranks_where_that_is_asked_for(student, place, monkeypatch):
    job, status = student.batch("--nodes=2", "--ntasks=4", "--export=ALL,LAUNCHER=torchrun")
    assert status == 0, student.logs()
    made = student.record()
    (run,) = made["runs"]
    assert (made["launcher"], made["job"]["id"], made["state"], run["ranks"]) == ("torchrun", job, "completed", 4)
    assert [place["node"] for place in run["places"]] == ["node1", "node1", "node2", "node2"]
    assert [epoch["loss"] for epoch in run["epochs"]] == [6, 3, 2]
    assert "epoch 2: loss 2.0000" in student.logs()
    assert [path.name for path in student.folder.glob(".torchrun-*")] == []
    monkeypatch.setenv("SLURM_CONF", str(place / "slurm" / "slurm.conf"))
    known = re.findall(r"^JobId=(\d+)", slurm("scontrol", "--oneliner", "show", "jobs"), re.MULTILINE)
    assert max(map(int, known)) == int(job), "srun asked for another job, instead of a step of this one"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("options", "launcher", "said"),
    [
        (["--nodes=2", "--ntasks=3"], "torchrun", "sbatch --ntasks 4"),
        ([], "mpirun", "LAUNCHER is srun or torchrun, not mpirun"),
    ],
)
def test_a_launcher_that_cannot_do_it_is_told(student, options, launcher, said):
    assert student.batch(*options, f"--export=ALL,LAUNCHER={launcher}")[1] == 2
    assert said in student.logs()


@pytest.mark.thorough
def test_a_training_that_fails_under_torchrun_is_a_failed_run(student):
    changed(student, "rate", "from nowhere import nothing")
    assert student.batch("--ntasks=1", "--export=ALL,LAUNCHER=torchrun")[1] == 1
    assert student.record()["state"] == "failed"
    assert "No module named 'nowhere'" in student.logs()


def test_each_sbatch_line_says_what_it_is_for():
    lines = (REPOSITORY / "slurm" / "run.sh").read_text().splitlines()
    options = [number for number, line in enumerate(lines) if line.startswith("#SBATCH")]
    assert len(options) >= 6
    assert all(lines[number - 1].startswith("# ") for number in options)


@pytest.mark.thorough
def test_without_a_job_the_notebook_runs_all_the_same(student, tmp_path):
    shutil.copytree(student.folder, tmp_path / "lab")
    done = subprocess.run(
        [sys.executable, "-m", "course.batch.run", f"{NAME}.ipynb"],
        cwd=tmp_path / "lab",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "lab" / "run.json").read_text())["job"] is None
    assert (tmp_path / "lab" / f"{NAME}.out.local.ipynb").exists()
