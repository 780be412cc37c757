"""`./lockstep doctor`: it tries each thing, and tells what to do about what does not work."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
import psutil
import pytest
from control_groups import limited
from nbclient import NotebookClient
from small_clone import ended, wait_for

from autograde import doctor, doctor_world
from autograde.doctor import Probe
from autograde.labs.places import REPOSITORY
from course.processes.kernels import over_files
from course.processes.launchers.mpi import PYTHON, MissingMPI
from course.processes.surroundings import machine, room


@pytest.fixture
def programs(tmp_path, monkeypatch) -> Path:
    """A folder that is all of PATH, for stand-ins of programs."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.fixture
def patient(monkeypatch) -> None:
    """Real probes have ten times as long: what works is slow on a crowded machine."""
    ask = doctor.ask
    monkeypatch.setattr(doctor, "ask", lambda command, deadline, *more: ask(command, 10 * deadline, *more))


def add(programs: Path, name: str, script: str) -> str:
    """Put a shell script on PATH, and return its path."""
    path = programs / name
    path.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_what_the_labs_need_works_here(patient):
    lines = []
    found = list(doctor.probes())
    assert doctor.report(found, lines.append) == 0, "\n".join(lines)
    works = {probe.name: probe.works for probe in found}
    for name in ("Python", "MPI", "ranks", "torch", "Horovod", "ipyparallel", "JupyterLab"):
        assert works[name] == "yes"
    assert works.keys() >= {"GPUs", "NCCL", "nbgrader", "bubblewrap", "Slurm", "hub"}
    assert all(probe.mend for probe in found if probe.works != "yes")


def test_the_exit_status_tells_of_what_the_labs_need_only():
    lines = []
    optional, needed = Probe("Slurm", "no", "no sinfo", "install it"), Probe("MPI", "no", "none", "set up", needed=True)
    assert doctor.report([optional], lines.append) == 0
    assert doctor.report([optional, needed], lines.append) == 1
    assert lines[-1].endswith("The labs do not run here: MPI.")
    assert any(line.strip() == "-> set up" for line in lines)


def test_an_mpiexec_of_another_mpi_than_mpi4pys_is_found_out(programs, patient, monkeypatch):
    # What two MPIs that do not know each other do: each process is a world of its own.
    twice = add(programs, "mpiexec", 'shift 2; "$@"; "$@"')
    monkeypatch.setattr(doctor, "mpiexec", lambda: twice)
    probe = doctor.probe_ranks()
    assert probe.works == "no"
    assert "different MPI libraries" in probe.seen


def test_ranks_that_fail_to_start_are_told_with_mpis_last_word(programs, monkeypatch):
    fails = add(programs, "mpiexec", "echo There are not enough slots available >&2; exit 1")
    monkeypatch.setattr(doctor, "mpiexec", lambda: fails)
    for probe in (doctor.probe_ranks(), doctor.probe_horovod()):
        assert (probe.works, probe.needed) == ("no", True)
        assert "not enough slots" in probe.seen


def test_without_mpi_it_says_how_to_get_one(monkeypatch):
    def missing():
        raise MissingMPI("No mpiexec here.")

    monkeypatch.setattr(doctor, "mpiexec", missing)
    for probe in (doctor.probe_mpi(), doctor.probe_ranks(), doctor.probe_horovod()):
        assert (probe.works, probe.mend) == ("no", "./lockstep setup")


def test_what_hangs_is_ended_with_its_children(programs):
    child = programs / "child"
    command = add(programs, "hangs", f"sleep 86399 & echo $! > {child}.new; mv {child}.new {child}; sleep 86399")
    deadline = 1
    while not child.exists():  # it may not come as far, where this machine has much to do
        assert doctor.ask([command], deadline).problem == f"no answer in {deadline} s"
        deadline *= 2
    with contextlib.suppress(psutil.NoSuchProcess):
        left = psutil.Process(int(child.read_text()))
        wait_for(lambda: ended(left))


def test_a_torch_that_does_not_load_is_told_once_and_not_taken_for_a_missing_gpu(monkeypatch):
    monkeypatch.setattr(doctor, "TORCH_FACTS", "raise OSError('libtorch.so: cannot open shared object file')")
    torch, gpus, nccl = doctor.probe_torch()
    assert torch.works == gpus.works == nccl.works == "no"
    assert "libtorch.so" in torch.seen
    assert gpus.seen == "torch does not load"


@pytest.mark.parametrize(
    ("facts", "driver", "gpus", "nccl"),
    [
        ({"cuda": None, "gpus": [], "nccl": None}, "exit 9", ("no", "none here"), ("no", "built without")),
        ({"cuda": None, "gpus": [], "nccl": None}, "exit 0", ("no", "built for the CPU"), ("no", "built without")),
        ({"cuda": "13.0", "gpus": [], "nccl": "2.28"}, "exit 0", ("no", "does not see them"), ("partly", "no GPU")),
        ({"cuda": "13.0", "gpus": ["H200"] * 2, "nccl": "2.28"}, "exit 0", ("yes", "2: H200"), ("yes", "2.28")),
    ],
)
def test_gpus_and_nccl_are_judged_by_what_torch_and_the_driver_see(programs, facts, driver, gpus, nccl):
    add(programs, "nvidia-smi", driver)
    for probe, (works, seen) in ((doctor.judge_gpus(facts), gpus), (doctor.judge_nccl(facts), nccl)):
        assert probe.works == works
        assert seen in probe.seen


@pytest.mark.parametrize(
    ("printed", "works", "seen"),
    [
        ("2 3 True True False", "yes", "with MPI, gloo;"),
        ("2 3 True False True", "yes", "with MPI, NCCL;"),
        ("2 3 False True False", "no", "built without MPI"),
        ("1 1 True True False", "no", "1 ranks in its world"),
    ],
)
def test_horovod_is_judged_by_two_ranks(programs, monkeypatch, printed, works, seen):
    says = add(programs, "mpiexec", f"echo {printed}")
    monkeypatch.setattr(doctor, "mpiexec", lambda: says)
    probe = doctor.probe_horovod()
    assert probe.works == works
    assert seen in probe.seen


def test_a_program_that_a_library_shells_out_to_must_be_on_path(programs, patient):
    assert doctor.probe_library("nbgrader", "nbgrader", ["alembic"], needed=False).works == "partly"
    add(programs, "alembic", "")
    assert doctor.probe_library("nbgrader", "nbgrader", ["alembic"], needed=False).works == "yes"
    assert doctor.probe_library("it", "no_such_module", [], needed=True).works == "no"


def test_bubblewrap_must_make_a_sandbox_and_not_only_be_there(programs):
    assert doctor.probe_bubblewrap().mend == "sudo apt install bubblewrap"
    add(programs, "bwrap", "echo bwrap: No permissions to create new namespace >&2; exit 1")
    refused = doctor.probe_bubblewrap()
    assert refused.works == "no"
    assert "No permissions" in refused.seen
    add(programs, "bwrap", "echo bubblewrap 0.8.0")
    assert doctor.probe_bubblewrap() == Probe("bubblewrap", "yes", "bubblewrap 0.8.0")


def test_slurm_must_answer_and_not_only_be_there(programs):
    assert doctor.probe_slurm().works == "no"
    add(programs, "sinfo", "echo Unable to contact slurm controller >&2; exit 1")
    assert doctor.probe_slurm().works == "partly"
    add(programs, "sinfo", "echo node1 idle; echo node1 idle; echo node2 idle")
    assert doctor.probe_slurm() == Probe("Slurm", "yes", "2 nodes")


def test_the_hub_needs_its_proxy_too_and_our_own_command_brings_it(programs, monkeypatch):
    before = doctor.probe_hub()
    assert before.mend == "./lockstep setup hub"
    add(programs, "configurable-http-proxy", "")
    after = doctor.probe_hub()
    assert {"no": "partly", "partly": "yes"}[before.works] == after.works


def test_it_says_which_python_runs_it():
    assert sys.executable in doctor.probe_python().seen


def test_files_beside_the_notebook_that_hide_modules_are_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (clean,) = doctor_world.probe_folder()
    assert clean.works == "yes"
    for name in ("queue.py", "torch.py"):
        (tmp_path / name).write_text("")
    found = list(doctor_world.probe_folder())
    assert [probe.works for probe in found] == ["partly", "partly"]
    assert found[0].seen == f"{tmp_path}/queue.py hides Python's own module queue"
    assert found[1].mend == "mv torch.py my_torch.py"


def test_shared_memory_without_room_is_found(monkeypatch):
    assert doctor_world.probe_memory().works == "yes"
    monkeypatch.setattr(room, "MEMORY", "/proc")
    short = doctor_world.probe_memory()
    assert (short.works, short.needed) == ("partly", True)
    assert short.seen == "/proc has 0 MiB free, and 4 ranks take 32; a disk is used instead"
    monkeypatch.setattr(doctor_world, "devices", lambda ranks: f"{ranks} GPUs, NCCL")
    assert (doctor_world.probe_memory().works, doctor_world.probe_memory().needed) == ("no", True)
    monkeypatch.setattr(room, "ROOM", 2**62)
    assert doctor_world.probe_memory().works == "no"


def test_proxies_limits_and_variables_that_ranks_do_not_get_are_found(monkeypatch):
    assert doctor_world.probe_limits().works == "yes"
    monkeypatch.setattr(doctor_world.limits, "low_limits", lambda: {"n": "64 open files, and 256 are needed"})
    assert doctor_world.probe_limits().seen == "ulimit -n allows 64 open files, and 256 are needed"
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://proxy.uni.example:3128")
    assert doctor_world.probe_proxies().seen.startswith("http_proxy")
    assert doctor_world.probe_proxies().works == "partly"
    monkeypatch.setenv("no_proxy", "localhost,127.0.0.1")
    assert doctor_world.probe_proxies().works == "yes"
    monkeypatch.setenv("OMP_PROC_BIND", "close")
    assert "OMP_PROC_BIND" in doctor_world.probe_environment().seen


MACHINE = "from autograde.doctor_world import probe_machine\nprint(probe_machine())"


def test_what_there_is_to_use_of_this_machine_is_told_and_too_little_is_named(monkeypatch):
    with limited(memory=1536 * 2**20, pids=60, cpu=100_000) as prefix:
        command = [*prefix, sys.executable, "-c", MACHINE]
        told = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY).stdout
    assert "seen='1 core" in told and "left of 1.5 GiB of memory (/" in told
    assert "works='no'" in told and "left of 60 processes and threads (/" in told and "4 ranks take 72." in told
    monkeypatch.setattr(machine, "processes", lambda: None)
    monkeypatch.setattr(machine, "memory", lambda: machine.Memory(2**34, 2**33))
    assert doctor_world.probe_machine().seen.endswith("8.0 GiB left of 16.0 GiB of memory")
    monkeypatch.setattr(machine, "memory", lambda: machine.Memory(2**34, 2**28))
    assert doctor_world.probe_machine().works == "partly"


def test_another_mpiexec_first_on_path_is_named(tmp_path, monkeypatch):
    other = add(tmp_path, "mpiexec", "echo HYDRA")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    probe = doctor.probe_mpi()
    assert probe.works == "yes"
    assert f"{other} is first on PATH, and is not used" in probe.seen


@pytest.mark.thorough
def test_what_a_notebook_says_of_ranks_that_do_not_start_the_doctor_says_too(tmp_path, patient, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "torch.py").write_text("")
    monkeypatch.setenv(PYTHON, str(tmp_path / "no-python"))
    probe = doctor.probe_world()
    assert (probe.works, probe.needed) == ("no", True)
    assert "The MPI ranks did not start, by" in probe.seen
    assert "torch.py in this folder hides the library torch." in probe.seen
    assert "no-python" in probe.seen


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_the_command_that_a_notebook_is_told_runs_in_its_cell_and_finds_what_keeps_its_ranks_from_starting(tmp_path):
    (tmp_path / "torch.py").write_text("")
    hinder = f"import os\nos.environ[{PYTHON!r}] = {str(tmp_path / 'no-python')!r}"
    cells = [nbformat.v4.new_code_cell(code) for code in (f"{hinder}\nfrom course.world import World", "World(2)", "")]
    with tempfile.TemporaryDirectory() as short:
        settings = {"resources": {"metadata": {"path": str(tmp_path)}}, "config": over_files(Path(short))}
        notebook = nbformat.v4.new_notebook(cells=cells)
        client = NotebookClient(notebook, kernel_name="python3", allow_errors=True, timeout=800, **settings)
        with client.setup_kernel():
            for number, cell in enumerate(cells[:2]):
                client.execute_cell(cell, number)
            (error,) = (output for output in cells[1].outputs if output.output_type == "error")
            cells[2].source = re.search(r"run in a cell of this notebook: +(!.*)", error.evalue)[1]
            client.execute_cell(cells[2], 2)
    said = "".join(output.text for output in cells[2].outputs)
    assert f"{tmp_path}/torch.py hides the library torch" in said
    assert re.search(r"^world +no +The MPI ranks did not start", said, re.MULTILINE)
    assert said.strip().endswith("The labs do not run here: world.")
