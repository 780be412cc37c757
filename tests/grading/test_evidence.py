"""Probes run in a sandbox, verdicts here: what comes back, what cannot, and whose fault it is when nothing does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from small_course import ANSWERS, LAB, make_course

from autograde.labs.folder import LoadedLab, find_lab, load_lab
from autograde.sandbox import bubblewrap
from autograde.sandbox.examine import Answers, Marked, examine
from autograde.sandbox.pool import Cancelled, Sandboxes
from autograde.sandbox.resources.limits import Limits

SEED = 3
HANGS = "def total(comm, x):\n    if comm.rank == 0:\n        return comm.allreduce(x)"
ENDS_ALL = "import os\ndef double(x):\n    os.kill(-1, 9)"
FAILS = ["sh", "-c", "echo No room for a sandbox. >&2; exit 1", "--"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> LoadedLab:
    """The small lab."""
    return load_lab(find_lab(make_course(tmp_path_factory.mktemp("course")), LAB))


@pytest.fixture(scope="module")
def sandboxes(lab: LoadedLab) -> Iterator[Sandboxes]:
    """With the usual limits."""
    with Sandboxes(lab, Limits()) as made:
        yield made


def run(lab: LoadedLab, sandboxes: Sandboxes, blank: tuple[str, ...] = (), **answers: str) -> dict[str, Marked]:
    """Examine answers, which are the right ones where none are given."""
    found = examine(lab, Answers(ANSWERS | answers, frozenset(blank)), SEED, sandboxes).marked
    assert [one.todo for one in found] == ["double", "total"]
    assert all(Marked.from_plain(one.plain()) == one for one in found)
    return {one.todo: one for one in found}


def keys(one: Marked) -> list[str]:
    """Keys of its findings."""
    return [finding.key for finding in one.result.findings]


def failing(monkeypatch: pytest.MonkeyPatch, times: int) -> list[int]:
    """Let the first `times` sandboxes fail to start. Returns a list that grows with each start."""
    real, starts = bubblewrap.inner, []

    def inner(seen: list[Path], limits: Limits) -> list[str]:
        starts.append(len(starts))
        return real(seen, limits) if len(starts) > times else FAILS

    monkeypatch.setattr(bubblewrap, "inner", inner)
    return starts


@pytest.mark.thorough
def test_right_answers_earn_all_whatever_they_print(lab, sandboxes):
    loud = 'import os\nprint(\'{"evidence": {}}\')\nos.write(1, b"noise")\n' + ANSWERS["double"]
    found = run(lab, sandboxes, double=loud)
    assert [one.score for one in found.values()] == [2, 3]
    assert all(one.result.seed == SEED for one in found.values())


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_cases_and_findings_and_another_seed_others(lab, sandboxes):
    wrong = "def double(x):\n    return x"
    same = [run(lab, sandboxes, double=wrong)["double"] for _ in range(2)]
    assert same[0] == same[1]
    (other, _) = examine(lab, Answers(ANSWERS | {"double": wrong}, frozenset()), SEED + 1, sandboxes).marked
    assert keys(other) == keys(same[0])
    assert other.result.findings[0].message != same[0].result.findings[0].message


@pytest.mark.thorough
def test_each_case_is_probed_though_none_is_in_the_sandbox_before(lab, sandboxes):
    assert "randrange" not in str(sandboxes.checks) and "doubled" not in str(sandboxes.checks)
    found = run(lab, sandboxes, blank=("total",), double="def double(x):\n    return 2 * abs(x)")
    assert (found["double"].score, keys(found["double"])) == (1.5, ["sign-lost"])
    assert (found["total"].score, keys(found["total"])) == (0, ["not-done"])


def test_a_hang_and_a_death_cost_their_own_points_only(lab, sandboxes):
    found = run(lab, sandboxes, total=HANGS)
    assert (found["double"].score, found["total"].score, keys(found["total"])) == (2, 0, ["call-missing"])
    found = run(lab, sandboxes, double="import os\ndef double(x):\n    os._exit(3)")
    assert (found["double"].score, keys(found["double"]), found["total"].score) == (0, ["rank-died"], 3)


@pytest.mark.thorough
def test_code_that_ends_its_sandbox_loses_its_own_points_only(lab, sandboxes):
    found = run(lab, sandboxes, double=ENDS_ALL)
    assert (found["double"].score, keys(found["double"]), found["total"].score) == (0, ["sandbox-ended"], 3)


def test_student_code_has_no_rights_and_calls_that_escape_its_limits_fail(lab, sandboxes):
    nosy = """
def double(x):
    import ctypes, os, pathlib, platform
    libc = ctypes.CDLL(None, use_errno=True)
    seen = [libc.shmget(0, 4096, 0o1600), libc.unshare(0x10000000), os.getuid() and os.nice(0)]
    try:
        os.memfd_create("x")
    except OSError as error:
        seen.append(error.strerror)
    status = pathlib.Path("/proc/self/status").read_text().split()
    raise OSError(seen + [status[status.index(name) + 1] for name in ("CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp:")])
"""
    found = run(lab, sandboxes, blank=("total",), double=nosy)
    (told, *_) = (one.message for one in found["double"].result.findings)
    nothing = "0" * 16
    expected = [-1, -1, 5, "Operation not permitted", nothing, nothing, "1", "2"]
    assert f"OSError: {expected}" in told


@pytest.mark.thorough
def test_when_the_time_of_a_todo_is_up_the_next_has_all_of_its_own(lab):
    sleeps = "import time\ndef double(x):\n    time.sleep(600)"
    with Sandboxes(lab, Limits(todo=8)) as short:  # less than the check's own deadline, and plenty for `total`
        found = run(lab, short, double=sleeps)
    assert (found["double"].score, keys(found["double"]), found["total"].score) == (0, ["too-slow"], 3)


def test_blank_todos_need_no_sandbox(lab, monkeypatch):
    starts = failing(monkeypatch, times=100)
    with Sandboxes(lab, Limits(), sandboxed=False) as none:
        found = run(lab, none, blank=("double", "total"))
    assert [(one.score, keys(one)) for one in found.values()] == [(0, ["not-done"]), (0, ["not-done"])]
    assert starts == []


@pytest.mark.thorough
def test_when_no_sandbox_starts_it_is_tried_once_more_and_never_scored_zero(lab, monkeypatch):
    with Sandboxes(lab, Limits()) as broken:
        starts = failing(monkeypatch, times=100)
        broken.expected = 0
        found = run(lab, broken, blank=("total",))
    assert len(starts) == 2
    assert found["double"].score is None
    assert found["double"].reason == "the ranks did not start: bubblewrap did not start: No room for a sandbox."
    assert found["total"].score == 0


@pytest.mark.thorough
def test_a_failure_that_does_not_come_back_costs_nothing(lab, monkeypatch):
    with Sandboxes(lab, Limits()) as once:
        failing(monkeypatch, times=1)
        assert [one.score for one in run(lab, once).values()] == [2, 3]


@pytest.mark.thorough
def test_a_probe_that_fails_waits_for_a_person(tmp_path):
    course = make_course(tmp_path)
    path = course / "solutions" / LAB / "probes" / "double.py"
    broken = "class Broken(CallProbe):\n    def in_folder(self, *about):\n        return 1 / 0\n\n\nPROBE = Broken("
    path.write_text(path.read_text().replace("PROBE = CallProbe(", broken))
    lab = load_lab(find_lab(course, LAB))
    with Sandboxes(lab, Limits()) as made:
        found = run(lab, made)
    assert (found["double"].score, found["total"].score) == (None, 3)
    assert found["double"].reason == "the probe failed: ZeroDivisionError: division by zero"


@pytest.mark.thorough
def test_a_grading_can_be_stopped(lab):
    cancel = threading.Event()
    slow = "import time\ndef double(x):\n    time.sleep(9)"
    with Sandboxes(lab, Limits(), cancel=cancel) as made:
        made.take().wait_until_ready()
        threading.Timer(0.5, cancel.set).start()
        with pytest.raises(Cancelled):
            run(lab, made, double=slow)


def test_sandboxes_are_refused_where_there_is_no_bubblewrap(lab, monkeypatch):
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    with pytest.raises(bubblewrap.SandboxRefused, match=r"sudo apt install bubblewrap.*--no-sandbox"):
        Sandboxes(lab, Limits())


def test_without_a_sandbox_no_student_code_runs_where_many_share_the_account(lab, monkeypatch):
    monkeypatch.setenv(bubblewrap.REQUIRED, "1")
    with pytest.raises(bubblewrap.SandboxRefused, match="in a sandbox only"):
        Sandboxes(lab, Limits(), sandboxed=False)


@pytest.mark.thorough
def test_without_a_sandbox_the_same_is_found_and_nothing_is_left(lab, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with Sandboxes(lab, Limits(), sandboxed=False) as unprotected:
        found = run(lab, unprotected, total=HANGS)
    assert (found["double"].score, keys(found["total"])) == (2, ["call-missing"])
    assert nothing_alive_with(str(tmp_path))
    assert list(tmp_path.glob("lockstep-*")) == []


def test_sandboxes_that_nobody_needs_are_not_waited_for(lab):
    with Sandboxes(lab, Limits()) as unused:
        unused.warm_up()
        server = unused._server
    assert server.returncode == -signal.SIGKILL, "it was still importing"


@pytest.mark.thorough
def test_nothing_outlives_a_grader_that_is_killed(lab, tmp_path):
    script = f"""
from pathlib import Path
from autograde.labs.folder import find_lab
from autograde.sandbox.resources.limits import Limits
from autograde.sandbox.pool import Sandboxes
sandboxes = Sandboxes(find_lab(Path({str(lab.folder.parents[1])!r}), {LAB!r}), Limits())
held = sandboxes.take()
held.wait_until_ready()
print("ready", flush=True)
input()
"""
    mark = str(tmp_path)
    grader = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "OMPI_MCA_lockstep_test": mark},
    )
    assert grader.stdout.readline() == b"ready\n"
    children = psutil.Process(grader.pid).children(recursive=True)
    assert any(b"ipyparallel.controller" in command_line(child.pid) for child in children)
    os.kill(grader.pid, signal.SIGKILL)
    grader.wait()
    assert psutil.wait_procs(children, 120)[1] == []
    assert nothing_alive_with(mark)


def command_line(pid: int) -> bytes:
    """The command line of a process; nothing for one that ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def nothing_alive_with(text: str) -> bool:
    """Whether in the end no process but this one has `text` in its environment."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        alive = [pid for pid in psutil.pids() if pid != os.getpid() and text in environment_of(pid)]
        if not alive:
            return True
        time.sleep(0.1)
    return False


def environment_of(pid: int) -> str:
    """The environment that a process was started with; nothing for one that is gone."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return ""
