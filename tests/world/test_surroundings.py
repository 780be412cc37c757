"""A world in the surroundings that people have: their files, other MPIs, a site's variables, too little room."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from course.processes.kernels import over_files
from course.processes.launchers import mpi
from course.processes.surroundings import folder, limits, proxies, room
from course.processes.surroundings.environment import JOB, MACHINE, RULES, Step, left_out, taken
from course.processes.surroundings.hindrances import hindrances, how_to_look
from course.world import World, WorldError

# What another library's mpiexec does for Open MPI's programs: it starts them, and tells them nothing that they know.
OTHER_MPIEXEC = """#!/bin/bash
n=1
while [ $# -gt 0 ]; do
    case $1 in
    -n | -np) n=$2; shift 2 ;;
    --version) echo "HYDRA build details: Version: 4.0.2"; exit ;;
    -*) shift ;;
    *) break ;;
    esac
done
for i in $(seq "$n"); do PMI_RANK=$((i - 1)) PMI_SIZE=$n "$@" & done
wait
"""
HIDING = ("random", "queue", "numbers", "token", "inspect", "torch", "numpy", "horovod", "mpi4py", "course", "tqdm")
# Where a notebook's kernel looks for modules: in its folder after Python's own, and before libraries.
AS_A_NOTEBOOK = """
import sys
sys.path.remove("")
sys.path.insert(next(n for n, path in enumerate(sys.path) if path.endswith("-packages")), "")
"""
FOREIGN = {
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_SIZE": "8",
    "PMIX_RANK": "5",
    "PMIX_NAMESPACE": "prterun-elsewhere@1",
    "RANK": "7",
    "WORLD_SIZE": "9",
    "MASTER_ADDR": "node17.uni.example",
    "TORCHELASTIC_USE_AGENT_STORE": "True",
    "HOROVOD_RANK": "1",
    "HOROVOD_SIZE": "2",
    "HOROVOD_CONTROLLER": "gloo",
    "HOROVOD_GLOO_RENDEZVOUS_ADDR": "node17.uni.example",
    "HOROVOD_GLOO_RENDEZVOUS_PORT": "1",
    "HOROVOD_TIMELINE": "/proc/none/trace.json",
    "HOROVOD_LOG_LEVEL": "trace",
    "HOROVOD_MPI_THREADS_DISABLE": "1",
    "HOROVOD_FUSION_THRESHOLD": "none",
    "GLOO_SOCKET_IFNAME": "ib0",
    "HOROVOD_GLOO_IFACE": "ib0",
    "OMPI_MCA_btl_tcp_if_include": "ib0",
    "OMPI_MCA_pml": "no-such-layer",
    "OMPI_MCA_btl": "no-such-transport",
    "PRTE_MCA_plm": "slurm",
    "PRTE_MCA_prte_if_include": "ib0",
    "OMP_PROC_BIND": "close",
    "SLURM_JOB_ID": "17",
    "SLURM_JOB_NODELIST": "node[17-18]",
    "SLURM_NTASKS": "64",
    "SLURM_TASKS_PER_NODE": "32(x2)",
    "PYTHONINSPECT": "",
    "PYTHONWARNINGS": "error::DeprecationWarning",
    "http_proxy": "http://proxy.uni.example:3128",
}
USE = f"""{AS_A_NOTEBOOK}
import json
from course.world import COMM, World
import own_helper

def torch_sum():
    import torch, torch.distributed as dist
    total = torch.ones(2)
    dist.all_reduce(total)
    return total.tolist()

def horovod_sum():
    import torch, horovod.torch as hvd
    return hvd.size(), hvd.allreduce(torch.ones(2), op=hvd.Sum).tolist()

with World(2, progress=False) as world:
    found = [
        world.run(own_helper.place, COMM),
        world.run(torch_sum, init="torch"),
        world.run(horovod_sum, init="horovod"),
    ]
print(json.dumps(found))
"""


def add_mpiexec(folder: Path) -> str:
    """Another MPI's mpiexec in this folder; its path."""
    path = folder / "mpiexec"
    path.write_text(OTHER_MPIEXEC)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def python(code: str, cwd: Path, *, prefix: tuple[str, ...] = (), **environment: str) -> subprocess.CompletedProcess:
    """Run some code in a Python of its own, in a folder, with more variables in its environment."""
    kit = str(Path(__file__).resolve().parents[2])
    command, known = [*prefix, sys.executable, "-c", code], {"PYTHONPATH": kit, **environment}
    return subprocess.run(command, cwd=cwd, env=os.environ | known, capture_output=True, text=True, timeout=240)


def test_ranks_start_and_compute_whatever_files_mpis_and_variables_are_around_the_notebook(tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    add_mpiexec(programs)
    for name in HIDING:
        (tmp_path / f"{name}.py").write_text('"""My own file."""\n')
    (tmp_path / "own_helper.py").write_text("def place(comm):\n    return comm.rank, comm.allreduce(comm.rank + 1)\n")
    # Only these: what is beside /usr/bin/srun would be asked for the job.
    path = f"{programs}:{Path(sys.executable).parent}:{slim_path(tmp_path)}"
    done = python(USE, tmp_path, PATH=path, **FOREIGN)
    assert done.returncode == 0, done.stderr[-3000:]
    place, torch, horovod = json.loads(done.stdout.splitlines()[-1])
    assert place == [[0, 3], [1, 3]]
    assert torch == [[2.0, 2.0]] * 2
    assert horovod == [[2, [2.0, 2.0]]] * 2


def slim_path(folder: Path) -> Path:
    """A folder with the programs of /usr/bin that starting ranks takes, and no Slurm's."""
    programs = folder / "system"
    programs.mkdir()
    for name in ("env", "sh", "bash", "uname", "hostname", "sed", "seq"):
        (programs / name).symlink_to(shutil.which(name))
    return programs


@pytest.mark.thorough
def test_a_start_counts_the_ranks_that_mpi_knows_and_names_who_did_not(tmp_path, monkeypatch):
    other = add_mpiexec(tmp_path)
    monkeypatch.setattr(mpi, "mpiexec", lambda: other)
    with pytest.raises(WorldError, match=r"worlds of 1 instead of one of 2") as refused:
        World(2, progress=False)
    said = str(refused.value)
    assert f"{other} (HYDRA build details: Version: 4.0.2)" in said
    assert "mpi4py uses Open MPI" in said
    assert "-P -m autograde doctor" in said


def test_ranks_that_do_not_start_are_told_with_what_is_in_the_way_and_how_to_look(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("torch.py").write_text("")
    monkeypatch.setenv(mpi.PYTHON, str(tmp_path / "no-python"))
    with pytest.raises(WorldError) as refused:
        World(2, progress=False)
    said = str(refused.value)
    assert said.startswith(f"The MPI ranks did not start, by {mpi.mpiexec()} (")
    assert "torch.py in this folder hides the library torch. Give it another name." in said
    assert f"cd {tmp_path} && {sys.executable} -P -m autograde doctor" in said
    assert "no-python" in said


def test_files_that_hide_modules_are_named_and_others_are_not(tmp_path):
    for name in ("random.py", "torch.py", "my_model.py", "test.py", "setup.txt", "course.py", "2random.py"):
        (tmp_path / name).write_text("")
    for name in ("numpy", "json", "data"):
        (tmp_path / name).mkdir()
    (tmp_path / "numpy" / "__init__.py").write_text("")
    (tmp_path / "torch.old.py").write_text("")
    assert folder.hidden(str(tmp_path)) == {
        "course.py": "the library course",
        "numpy/": "the library numpy",
        "random.py": "Python's own module random",
        "torch.py": "the library torch",
    }


@pytest.mark.parametrize("kind", ["{}.py", "{}/__init__.py"])
def test_libraries_go_before_files_of_their_names_and_files_of_other_names_can_be_imported(tmp_path, kind):
    for name in (*HIDING, "ipyparallel", "cloudpickle", "autograde", "matplotlib", "own_helper"):
        path = tmp_path / kind.format(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    code = "from course.world import World\nimport autograde, matplotlib, own_helper\nprint(own_helper.__file__)"
    done = python(AS_A_NOTEBOOK + code, tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, str(tmp_path / kind.format("own_helper"))), done.stderr


def test_one_line_names_each_file_that_was_imported_instead_of_a_library_that_the_kit_needs(tmp_path):
    (tmp_path / "mpi4py").mkdir()
    for name in ("mpi4py/__init__.py", "torch.py", "queue.py", "pytest.py", "numpy.py"):
        (tmp_path / name).write_text("")
    cells = ("import mpi4py, torch, queue, pytest", "from course.world import World")
    shell = "from IPython.core.interactiveshell import InteractiveShell\nshell = InteractiveShell.instance()\n"
    done = python(f"{AS_A_NOTEBOOK}{shell}for cell in {cells}: shell.run_cell(cell)", tmp_path)
    assert done.stdout.splitlines() == [
        "mpi4py/ in this folder hides the library mpi4py: give it another name, and restart the kernel.",
        "torch.py in this folder hides the library torch: give it another name, and restart the kernel.",
    ]


def test_a_kernel_of_this_python_takes_libraries_and_the_kit_before_files_of_their_names(tmp_path):
    for name in (*HIDING, "autograde", "IPython"):
        (tmp_path / f"{name}.py").write_text("")
    (tmp_path / "own_helper.py").write_text("here = True")
    code = (
        "import torch.distributed, mpi4py.MPI, numpy.random, horovod\nfrom course.world import World\nimport own_helper"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    with tempfile.TemporaryDirectory() as short:
        settings = {"resources": {"metadata": {"path": str(tmp_path)}}, "config": over_files(Path(short))}
        NotebookClient(notebook, kernel_name="python3", timeout=120, **settings).execute()


def test_a_folder_without_files_of_that_kind_hides_nothing(tmp_path, monkeypatch):
    # In another test of this process, nbgrader may have put a course's folder there, and pytest those of conftest.py.
    others = {path.parent for path in folder.KIT.glob("tests/**/conftest.py")}
    known = [each for each in sys.path if Path(each) not in others]
    path = [each for each in known if not (Path(each) / "nbgrader_config.py").exists() or Path(each) == folder.KIT]
    monkeypatch.setattr(sys, "path", path)
    assert folder.hidden(str(tmp_path)) == folder.hidden(str(tmp_path / "none")) == {}
    assert folder.hidden(str(folder.KIT)) == {}, "the kit does not hide itself"


def test_a_folder_that_was_deleted_is_named(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert "The current folder has been deleted." in {hindrance.seen for hindrance in hindrances(2)}
    assert "autograde doctor" in how_to_look()


def test_a_variable_is_left_out_with_its_reason_where_that_holds():
    environment = {"PATH": "/bin", "SLURM_CONF": "/c", "SLURM_MEM_PER_NODE": "9", "OMP_PROC_BIND": "true", "RANK": "1"}
    environment |= {"HOROVOD_TIMELINE": "/trace.json"}
    assert taken(environment, MACHINE).keys() == {"PATH", "SLURM_CONF"}
    assert taken(environment, JOB).keys() == {"PATH", "SLURM_CONF", "OMP_PROC_BIND", "HOROVOD_TIMELINE"}
    assert "srun would take it for an option" in left_out(environment, JOB)["SLURM_MEM_PER_NODE"]
    assert left_out({"TMPDIR": "/no/such"}, JOB) == {"TMPDIR": "there is no folder /no/such here"}
    assert all(rule.reason and rule.names for rule in RULES)


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("SLURM_CPU_BIND", "cores", True),
        ("SLURM_CPU_BIND", "quiet,mask_cpu:0x3", False),
        ("SLURM_GPUS_PER_TASK", "1", False),
        ("SRUN_CPUS_PER_TASK", "2", True),
        ("SRUN_CPUS_PER_TASK", "8", False),
        ("SLURM_MPI_TYPE", "pmi2", True),
    ],
)
def test_a_sites_settings_of_a_step_reach_it_where_its_job_can_have_them(name, value, kept):
    assert (name in taken({name: value}, JOB, Step(tasks=4, cpus=8, gpus=False))) == kept


def test_a_world_has_its_files_where_there_is_room_and_else_says_what_is_full(tmp_path, monkeypatch):
    assert room.make_folder(1).startswith(room.MEMORY)
    monkeypatch.setattr(room, "MEMORY", "/proc")  # where nobody can write, as on a disk without room
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    made = Path(room.make_folder(4))
    assert made.parent == Path("/var/tmp")
    made.rmdir()
    monkeypatch.setattr(room, "ROOM", 2**62)
    with pytest.raises(room.NoRoom, match=r"/proc has 0 MiB, /var/tmp has \d+ MiB, /tmp has \d+ MiB free, and 4 ranks"):
        room.make_folder(4)
    with pytest.raises(WorldError, match="There is no room for the ranks' files"):
        World(2, progress=False)


@pytest.mark.thorough
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
@pytest.mark.parametrize("taken", ["head -c 67000000 /dev/zero", "cat /dev/zero"])
def test_ranks_start_where_shared_memory_is_full(tmp_path, taken):
    full = f'mount -t tmpfs -o size=64m tmpfs /dev/shm && ({taken} >/dev/shm/others 2>&1; true) && exec "$@"'
    (tmp_path / "own_helper.py").write_text("def place(comm):\n    return comm.rank, comm.allreduce(comm.rank + 1)\n")
    done = python(USE, tmp_path, prefix=("unshare", "-m", "sh", "-c", full, "sh"))
    assert done.returncode == 0, done.stderr[-3000:]


def test_open_files_are_raised_as_far_as_they_may_and_low_limits_are_named():
    code = (
        "import json, resource\nfrom course.processes.surroundings import limits\nlimits.raise_open_files()\n"
        "print(json.dumps([resource.getrlimit(resource.RLIMIT_NOFILE)[0], limits.low_limits()]))"
    )
    raised = python(code, Path("/"), prefix=("prlimit", "--nofile=64:512"))
    assert json.loads(raised.stdout) == [512, {}]
    low = python(code, Path("/"), prefix=("prlimit", "--nofile=64:64", f"--as={2**31}"))
    assert json.loads(low.stdout) == [
        64,
        {"n": "64 open files, and 256 are needed", "v": "2097152 KiB of address space, and 8388608 are needed"},
    ]


def test_proxies_do_not_get_what_is_for_this_machine_or_its_hub():
    site = {"http_proxy": "http://proxy:3128", "no_proxy": "intranet"}
    assert proxies.proxied(site) == ["http_proxy"]
    assert proxies.proxied({"no_proxy": "intranet"}) == []
    environment = {**site, "JUPYTERHUB_API_URL": "http://10.1.2.3:8081/hub/api"}
    proxies.spare_hub(environment)
    assert environment["no_proxy"] == environment["NO_PROXY"] == "intranet,127.0.0.1,localhost,::1,10.1.2.3"
    assert proxies.proxied(environment) == []
    without: dict[str, str] = {"JUPYTERHUB_API_URL": "http://10.1.2.3:8081/hub/api"}
    proxies.spare_hub(without)
    assert "no_proxy" not in without
    assert proxies.proxied({"ALL_PROXY": "proxy:3128", "no_proxy": "", "NO_PROXY": "127.0.0.1,localhost"}) == [
        "ALL_PROXY"
    ]
    assert proxies.exempting({"HTTPS_PROXY": "p", "no_proxy": "a", "NO_PROXY": "b"})["no_proxy"].startswith("a,b,127.")
    assert proxies.exempting({"https_proxy": "p", "NO_PROXY": "*"}) == {"no_proxy": "*", "NO_PROXY": "*"}
    assert limits.FILES > limits.LEAST_FILES
