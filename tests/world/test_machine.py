"""What a process may use of its machine is what its control groups leave: in trees of files, and in real groups."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from control_groups import limited

from course.processes.surroundings import machine
from course.processes.surroundings.machine import Memory, Processes, cores, memory, out_of_memory, processes, ran_out

MIB, GIB = 2**20, 2**30
KIT = Path(__file__).resolve().parents[2]
MEMINFO = {"proc/meminfo": "MemTotal: 16777216 kB\nMemFree: 1024 kB\nMemAvailable: 8388608 kB\n"}
V1 = """\
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 {cpu} /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 {memory} /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
39 31 0:36 {pids} /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate
"""
V2 = "23 1 0:22 / /proc rw - proc proc rw\n31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n"
NO_LIMIT = "9223372036854771712\n"


def tree(root: Path, files: dict[str, str]) -> Path:
    """A root with these files."""
    for name, text in (MEMINFO | files).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def v1(root: Path, files: dict[str, str], top: str = "/", path: str = "/") -> Path:
    """A root with groups of version 1, as of a process in `path`, where what is mounted is `top`."""
    lines = f"9:name=systemd:{path}\n8:pids:{path}\n4:memory:{path}\n2:cpu,cpuacct:{path}\n0::/elsewhere\n"
    mounts = V1.format(cpu=top, memory=top, pids=top)
    below = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    return tree(root, {"proc/self/cgroup": lines, "proc/self/mountinfo": mounts, **below})


def v2(root: Path, files: dict[str, str], path: str = "/", mounts: str = V2) -> Path:
    """A root with groups of version 2, as of a process in `path`."""
    below = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    return tree(root, {"proc/self/cgroup": f"0::{path}\n", "proc/self/mountinfo": mounts, **below})


@pytest.fixture
def on_eight_cores(monkeypatch) -> None:
    """This process may run on eight cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    monkeypatch.delenv(machine.CORES, raising=False)


def test_where_no_group_limits_anything_it_is_what_the_machine_has(tmp_path, on_eight_cores):
    bare = tree(tmp_path / "bare", {})
    free = {"memory.max": "max\n", "memory.high": "max\n", "memory.current": "5", "pids.max": "max\n"}
    second = v2(tmp_path / "v2", {**free, "cpu.max": "max 100000\n"})
    first = v1(
        tmp_path / "v1",
        {
            "memory/memory.limit_in_bytes": NO_LIMIT,
            "memory/memory.stat": f"hierarchical_memory_limit {NO_LIMIT}",
            "memory/memory.usage_in_bytes": "5",
            "pids/pids.max": "max\n",
            "cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        },
    )
    for root in (bare, first, second):
        assert (memory(root), cores(root), processes(root)) == (Memory(16 * GIB, 8 * GIB), 8, None)


def test_here_it_is_what_psutil_sees_unless_a_group_has_less():
    have, seen = memory(), psutil.virtual_memory()
    assert have.total == seen.total or (have.group and have.total < seen.total)
    assert 0 < have.available <= have.total


def test_the_tightest_of_nested_groups_counts_in_both_versions(tmp_path, on_eight_cores):
    """As in a pod: the pod has less than its container asks for, and other containers of it use some."""
    second = v2(
        tmp_path / "v2",
        {
            "kubepods/pod1/memory.max": f"{2 * GIB}\n",
            "kubepods/pod1/memory.current": f"{GIB}\n",
            "kubepods/pod1/memory.stat": f"anon 7\nactive_file {100 * MIB}\ninactive_file {200 * MIB}\nshmem 9\n",
            "kubepods/pod1/box/memory.max": f"{4 * GIB}\n",
            "kubepods/pod1/box/memory.current": f"{GIB}\n",
            "kubepods/pod1/cpu.max": "250000 100000\n",
            "kubepods/pod1/box/cpu.max": "400000 100000\n",
            "kubepods/pids.max": "1000\n",
            "kubepods/pids.current": "990\n",
            "kubepods/pod1/box/pids.max": "100\n",
            "kubepods/pod1/box/pids.current": "9\n",
        },
        path="/kubepods/pod1/box",
    )
    group = second / "sys/fs/cgroup/kubepods"
    assert memory(second) == Memory(2 * GIB, GIB + 300 * MIB, group / "pod1")
    assert (cores(second), processes(second)) == (2, Processes(1000, 10, group))
    first = v1(
        tmp_path / "v1",
        {
            "memory/slurm/uid_7/job_1/memory.limit_in_bytes": f"{2 * GIB}\n",
            "memory/slurm/uid_7/job_1/memory.usage_in_bytes": f"{GIB}\n",
            "memory/slurm/uid_7/job_1/memory.stat": f"cache 3\ntotal_active_file {100 * MIB}\ntotal_cache 8\n",
            "memory/slurm/uid_7/job_1/step_0/memory.limit_in_bytes": NO_LIMIT,
            "cpu,cpuacct/slurm/uid_7/cpu.cfs_quota_us": "150000\n",
            "cpu,cpuacct/slurm/uid_7/cpu.cfs_period_us": "50000\n",
            "pids/slurm/pids.max": "64\n",
            "pids/slurm/pids.current": "70\n",
        },
        path="/slurm/uid_7/job_1/step_0",
    )
    assert memory(first) == Memory(2 * GIB, GIB + 100 * MIB, first / "sys/fs/cgroup/memory/slurm/uid_7/job_1")
    assert (cores(first), processes(first)) == (3, Processes(64, 0, first / "sys/fs/cgroup/pids/slurm"))


def test_a_container_sees_its_own_group_at_the_top_with_and_without_a_namespace(tmp_path, on_eight_cores):
    has = {"memory/memory.limit_in_bytes": f"{GIB}\n", "memory/memory.usage_in_bytes": "0\n", "pids/pids.max": "9\n"}
    for number, (top, path) in enumerate(
        [
            ("/", "/"),  # a namespace
            ("/docker/af01", "/docker/af01"),  # none: the path that the host knows
            ("/docker/af01", "/"),  # what was mounted before the namespace was made
            ("/../../docker/af01", "/"),
            ("/", "/../other"),  # a process that was moved out of the namespace
            ("/docker/af01", "/system.slice/other"),
        ]
    ):
        root = v1(tmp_path / str(number), has, top, path)
        assert (memory(root).total, processes(root).total) == (GIB, 9), (top, path)
    mounts = V2 + "50 23 0:28 /../../.. /host/cgroup ro - cgroup2 cgroup2 rw\n"
    order = "".join(reversed(mounts.splitlines(keepends=True)))
    root = v2(tmp_path / "host", {"memory.max": f"{GIB}\n", "memory.current": "0\n"}, mounts=order)
    assert memory(root).total == GIB, "another mount, of the host's groups, is not taken for one's own"


def test_a_limit_above_what_a_container_sees_holds_in_version_1(tmp_path):
    stat = f"hierarchical_memory_limit {GIB}\nhierarchical_memsw_limit {NO_LIMIT}"
    root = v1(tmp_path, {"memory/memory.limit_in_bytes": NO_LIMIT, "memory/memory.stat": stat})
    assert memory(root).total == GIB


def test_a_systemd_session_has_its_users_limits_and_high_counts_as_one(tmp_path, on_eight_cores):
    user = "user.slice/user-1000.slice"
    root = v2(
        tmp_path,
        {
            f"{user}/memory.high": f"{GIB}\n",
            f"{user}/memory.max": f"{2 * GIB}\n",
            f"{user}/memory.current": f"{2 * GIB}\n",
            f"{user}/pids.max": "10813\n",
            f"{user}/pids.current": "13\n",
            f"{user}/cpu.max": "50000 100000\n",
        },
        path=f"/{user}/user@1000.service/app.slice/jupyter lab.scope",
    )
    assert memory(root) == Memory(GIB, 0, root / "sys/fs/cgroup" / user)
    assert (cores(root), processes(root).left) == (1, 10800), "half a core is one"


def test_in_a_hybrid_layout_a_controller_is_where_it_is_listed(tmp_path, on_eight_cores):
    files = {"unified/elsewhere/memory.max": "1\n", "unified/elsewhere/cpu.max": "100000 100000\n"}
    root = v1(tmp_path / "v1", {**files, "memory/memory.limit_in_bytes": f"{GIB}\n"})
    assert (memory(root).total, cores(root)) == (GIB, 8)
    (root / "proc/self/cgroup").write_text("4:memory:/\n0::/elsewhere\n")
    assert (memory(root).total, cores(root)) == (GIB, 1)


@pytest.mark.parametrize("text", ["", "nonsense", "1:2\n\n::::\n", "0::/a\n4:memory:/b\n"])
def test_files_that_are_missing_damaged_or_unreadable_set_no_limit(tmp_path, text, on_eight_cores):
    root = tree(
        tmp_path, {"proc/self/cgroup": text, "proc/self/mountinfo": f"{text}\n - \n1 2 3 / /x rw - cgroup2 c o"}
    )
    (root / "x/a").mkdir(parents=True)
    for name in ("memory.max", "cpu.max", "pids.max", "memory.events"):
        (root / "x/a" / name).mkdir()  # which nobody can read as a file
    assert (memory(root), cores(root), processes(root)) == (Memory(16 * GIB, 8 * GIB), 8, None)
    assert ran_out(out_of_memory(root), root) == ""


def test_what_ran_out_of_memory_is_the_group_whose_limit_was_reached_or_the_machine(tmp_path):
    events = "low 0\nhigh 0\nmax 7\noom {}\noom_kill {}\n"
    files = {"a/memory.max": f"{GIB}\n", "a/memory.events": events.format(3, 3), "a/b/memory.max": f"{2 * GIB}\n"}
    root = v2(tmp_path, {**files, "a/b/memory.events": events.format(0, 2)}, path="/a/b")
    groups = root / "sys/fs/cgroup/a"
    before = out_of_memory(root)
    assert ran_out(before, root) == ran_out({}, root) == ""
    (groups / "memory.events").write_text(events.format(4, 4))  # another group below it
    assert ran_out(before, root) == ""
    (groups / "b/memory.events").write_text(events.format(0, 3))
    assert ran_out(before, root).startswith("no memory was left of the 1.0 GiB that all in its container, job or")
    (groups / "b/memory.events").write_text(events.format(1, 3))
    assert ran_out(before, root).startswith("no memory was left of the 2.0 GiB")


def test_without_a_group_the_machines_own_count_tells(tmp_path):
    root = tree(tmp_path, {"proc/vmstat": "nr_free_pages 9\noom_kill 4\n"})
    before = out_of_memory(root)
    (root / "proc/vmstat").write_text("nr_free_pages 9\noom_kill 5\n")
    assert ran_out(before, root) == "no memory was left on this machine, which has 16.0 GiB"


def test_a_sandbox_is_told_its_cores(monkeypatch, on_eight_cores):
    monkeypatch.setenv(machine.CORES, "2")
    assert cores() == 2


def python(code: str, prefix: list[str]) -> str:
    """What some code prints in a Python of its own, which has the standard library alone."""
    code = f"import sys; sys.path.insert(0, {str(KIT)!r})\n{code}"
    done = subprocess.run([*prefix, sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


SEES = """
import json
from autograde.install.machine.passed_on import compilers
from course.processes.surroundings.machine import cores, memory, processes
have, may = memory(), processes()
print(json.dumps([have.total, have.available, str(have.group), cores(), may.total, may.left, compilers()]))
"""


def test_limits_of_a_real_group_are_seen_by_whoever_is_in_it():
    with limited(memory=1536 * MIB, pids=50, cpu=50_000) as prefix:
        total, available, group, of_cores, most, left, compilers = json.loads(python(SEES, prefix))
    assert (total, of_cores, most, compilers) == (1536 * MIB, 1, 50, 1)
    assert 1400 * MIB < available <= total and "lockstep-" in group
    assert 40 <= left < 50


FILLS = """
import os
from course.processes.surroundings.machine import out_of_memory, ran_out
before = out_of_memory()
child = os.fork()
if child == 0:
    open("/proc/self/oom_score_adj", "w").write("1000")
    kept = [bytearray(2**20) for _ in range(2**12)]
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), ran_out(before))
"""


def test_who_is_killed_in_a_real_group_for_its_memory_is_told_the_limit():
    with limited(memory=64 * MIB) as prefix:
        said = python(FILLS, prefix)
    assert said == "-9 no memory was left of the 64 MiB that all in its container, job or session may have"


KERNEL = f"""
import os, runpy
from types import SimpleNamespace as Some
settings = Some(HistoryManager=Some())
runpy.run_path("{KIT}/course/jupyterlab/ipython_kernel_config.py", {{"get_config": lambda: settings}})
print(os.environ.get("OMP_NUM_THREADS"))
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core, and no quota below it")
def test_torch_in_a_notebooks_kernel_has_as_many_threads_as_there_is_processor_time_for(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with limited(cpu=150_000) as prefix:
        assert python(KERNEL, prefix) == "1"
    assert python(KERNEL, []) == "None" or cores() < len(os.sched_getaffinity(0))
