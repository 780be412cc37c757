"""`lockstep grade --slurm` examines a class on the nodes of a real cluster, whatever happens to its tasks there."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from classroom import REPOSITORY, Classroom
from small_course import ANSWERS, LAB, make_course

from autograde.labs.folder import find_lab, load_lab
from autograde.sandbox.examine import Gathered
from autograde.slurm import array_grading, array_job
from autograde.slurm.array_folder import ArrayFolder, BadResult, Submission, name_of

SEED = 11
CLASS = {
    "right": ANSWERS,
    "partly": ANSWERS | {"double": "def double(x):\n    return 2 * abs(x)"},
    "raises": ANSWERS | {"double": "def double(x):\n    raise ValueError(x)"},
    "half": {"total": ANSWERS["total"]},
}


@pytest.fixture(scope="module")
def cluster(on_slurm: None) -> Iterator[None]:
    """A cluster of two nodes, for all of Slurm's commands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SBATCH_TIMELIMIT", "10")
        yield


def make_class(folder: Path, answers: dict[str, dict[str, str]]) -> Classroom:
    """A class that handed in these answers."""
    room = Classroom(make_course(folder), LAB)
    assert room.lockstep("build").exit_code == 0
    for student, given in answers.items():
        room.put(student, room.answered(given))
    return room


@pytest.fixture
def small(tmp_path: Path) -> Classroom:
    """A class of two, built and not graded."""
    return make_class(tmp_path / "course", {"ada": ANSWERS, "bob": {"double": ANSWERS["double"]}})


def folder_of(room: Classroom) -> ArrayFolder:
    """Where the writer and its tasks meet."""
    return ArrayFolder(room.root / "class" / LAB / ".array")


def scontrol(*words: str) -> str:
    """What one of Slurm's commands says."""
    return subprocess.run(["scontrol", *words], check=True, capture_output=True, text=True).stdout


def wait_for(condition: Callable[[], object], seconds: float = 120) -> None:
    """Return when `condition` holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def stop_tasks(room: Classroom, held: dict[int, psutil.Process]) -> None:
    """Stop the processes of this class's tasks where they are, and add them to `held`, by index of the task."""
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "autograde.slurm.array_task" in words and words[-1].startswith(str(folder_of(room).path)):
            index = int(process.environ()["SLURM_ARRAY_TASK_ID"])
            if index not in held:
                process.suspend()
                held[index] = process


@dataclass
class Troubled:
    """A grading with an accident to each of its first tasks."""

    room: Classroom
    output: str
    local: dict[str, dict[str, str]]
    here: dict[str, dict[str, str]]
    job: str
    drained: str


@pytest.fixture(scope="module")
def troubled(cluster: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Troubled]:
    """One submission in each task. Task 0 is cancelled, 1 requeued, 2 timed out; the node of 3 is drained meanwhile."""
    folder = tmp_path_factory.mktemp("troubled")
    room, plain = (make_class(folder / name, CLASS) for name in ("course", "plain"))
    for each in (room, plain):
        each.put("broken", b"{ not json")
    held: dict[int, psutil.Process] = {}
    found: list[str] = []

    def trouble() -> None:
        wait_for(lambda: stop_tasks(room, held) or len(held) == 4)
        (job,) = array_job.working_in(folder_of(room).path)
        node = array_job.states([job])[job, 3].node
        found.extend([job, node])
        scontrol("update", f"NodeName={node}", "State=DRAIN", "Reason=test")
        scontrol("update", f"JobId={job}_2", "EndTime=now+1")
        scontrol("requeue", f"{job}_1")
        subprocess.run(["scancel", f"{job}_0"], check=True)
        held[3].resume()

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as threads:
        patch.setattr(array_grading, "CHUNK", 1)
        accident = threads.submit(trouble)
        local = threads.submit(plain.apart, "grade", LAB, "--no-collect", f"--seed={SEED}", seconds=200)
        result = room.grade("--slurm", f"--seed={SEED}")
        accident.result()
        assert local.result()[0] == 0
    yield Troubled(room, result.output, plain.rows(), room.rows(), *found)
    scontrol("update", f"NodeName={found[1]}", "State=RESUME")


@pytest.mark.thorough
def test_scores_and_findings_are_those_of_grading_here(troubled):
    assert troubled.here == troubled.local
    scores = {student: float(row["score"]) for student, row in troubled.here.items()}
    assert scores == {"right": 5, "partly": 4.5, "raises": 3, "half": 3, "broken": 0}
    assert not folder_of(troubled.room).path.exists()


@pytest.mark.thorough
def test_a_cancelled_task_is_submitted_again(troubled):
    again = rf"task {troubled.job}_0 ended without 1 of its results: CANCELLED on node\d"
    assert re.search(again, troubled.output), troubled.output


@pytest.mark.thorough
def test_a_task_over_its_time_limit_is_submitted_again(troubled):
    again = rf"task {troubled.job}_2 ended without 1 of its results: TIMEOUT \(TimeLimit\) on node\d.*DUE TO TIME LIMIT"
    assert re.search(again, troubled.output), troubled.output


@pytest.mark.thorough
def test_a_requeued_task_is_awaited(troubled):
    assert f"task {troubled.job}_1 ended" not in troubled.output
    about = scontrol("show", "job", f"{troubled.job}_1")
    assert "Restarts=1" in about and "JobState=COMPLETED" in about


@pytest.mark.thorough
def test_a_drained_node_ends_its_task_and_gets_no_other(troubled):
    first = array_job.states([troubled.job])
    assert (first[troubled.job, 3].name, first[troubled.job, 3].node) == ("COMPLETED", troubled.drained)
    later = [first[troubled.job, index].node for index in (1, 4)]
    arrays = set(re.findall(r"array (\d+): ", troubled.output)) - {troubled.job}
    later += [state.node for state in array_job.states(arrays).values()]
    assert len(later) == 4 and troubled.drained not in later


@pytest.mark.thorough
def test_what_no_task_could_examine_waits_for_a_person(small, cluster, monkeypatch):
    monkeypatch.setattr(array_grading, "ATTEMPTS", 2)
    monkeypatch.setattr(array_grading, "code_of", lambda *given: "of another clone")
    result = small.grade("--slurm")
    assert result.exit_code == 0
    assert result.output.count("ended without 2 of its results: FAILED (NonZeroExitCode) on node") == 2
    rows = small.rows()
    assert [(row["status"], row["double"], row["total"]) for row in rows.values()] == [
        ("needs manual grading", "", ""),
        ("needs manual grading", "", "0"),
    ]
    assert "Slurm ended its task each of 2 times" in rows["ada"]["problems"]
    assert "are not the same here as where `lockstep grade` runs" in rows["ada"]["problems"]


def started(room: Classroom, *arguments: str) -> subprocess.Popen:
    """A grading in a process of its own, whose first task has stopped."""
    command = [sys.executable, "-m", "autograde", "grade", LAB, "--no-collect", "--slurm", *arguments]
    environment = room.environment | {"PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.mark.thorough
def test_a_grading_that_was_killed_goes_on_where_it_was(small, cluster, monkeypatch):
    folder, held = folder_of(small), {}
    # The one who comes second takes long enough that the task is stopped meanwhile.
    slow = "import time\n\n\ndef double(x):\n    time.sleep(4)\n    return 2 * x"
    small.put("bob", small.answered({"double": slow}))
    writer = started(small, "--jobs=1")
    wait_for(lambda: folder.path.exists() and any(folder.path.glob("tasks-*")))
    wait_for(lambda: array_job.working_in(folder.path))
    writer.send_signal(signal.SIGSTOP)
    wait_for(folder.finished)
    stop_tasks(small, held)
    done = folder.finished()
    writer.kill()
    writer.communicate()
    (job,) = array_job.working_in(folder.path)
    seeds = {student: folder.submission(name_of(student)).seed for student in ("ada", "bob")}
    result = small.grade("--slurm")
    assert f"an array of a grading that was killed is cancelled: {job}\n" in result.output
    assert f"{len(done)} were examined before the last grading was broken off" in result.output
    assert f"{2 - len(done)} submissions in 1 task\n" in result.output
    assert array_job.states([job])[job, 0].name == "CANCELLED"
    assert {student: small.graded(student).metadata.lockstep.seed for student in seeds} == seeds
    assert small.scores() == {"ada": 5, "bob": 2}
    assert not folder.path.exists()


@pytest.mark.thorough
def test_the_array_ends_with_a_grading_that_is_told_to_end(small, cluster):
    held: dict[int, psutil.Process] = {}
    writer = started(small)
    wait_for(lambda: stop_tasks(small, held) or held)
    (job,) = array_job.working_in(folder_of(small).path)
    writer.terminate()
    output, _ = writer.communicate(timeout=240)
    assert (writer.returncode, "Aborted!" in output) == (1, True)
    wait_for(lambda: not held[0].is_running())
    assert array_job.states([job])[job, 0].name == "CANCELLED"
    assert small.scores() == {}


@pytest.mark.thorough
def test_what_a_grading_left_is_not_believed(small, cluster):
    folder = folder_of(small)
    writer = started(small)
    wait_for(lambda: folder.path.exists() and any(folder.path.glob("tasks-*")))
    writer.terminate()
    writer.communicate(timeout=240)
    for student in ("ada", "bob"):
        (folder.path / f"{name_of(student)}.jsonl").write_text("{}\n")
    result = small.grade("--slurm")
    assert result.output.count("a result is thrown away: its first line is not what it must be") == 2
    assert small.scores() == {"ada": 5, "bob": 2}


@pytest.mark.thorough
def test_a_grading_says_why_its_tasks_wait(small, cluster, monkeypatch):
    monkeypatch.setenv("SBATCH_PARTITION", "short")  # where no job may ask for the ten minutes that these do
    writer = started(small)
    said = next((line for line in writer.stdout if "waits in Slurm's queue" in line), "")
    writer.terminate()
    writer.communicate(timeout=240)
    assert re.fullmatch(rf"{LAB}: waits in Slurm's queue: Partition(TimeLimit|Config)\n", said)
    assert array_job.working_in(folder_of(small).path) == []


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("SLURM_CONF", "/nowhere/slurm.conf", "SLURM_CONF names /nowhere/slurm.conf, and there is no such file"),
        ("SBATCH_PARTITION", "nono", "invalid partition specified: nono. Set another in .*slurm/site.sh or by SBATCH_"),
        ("PATH", "/nowhere", "there is no sbatch on PATH: log in to a node of the cluster, or grade here"),
    ],
)
def test_where_nothing_can_be_submitted_one_line_says_so(small, cluster, monkeypatch, variable, value, said):
    monkeypatch.setenv(variable, value)
    result = small.grade("--slurm")
    assert result.exit_code == 1
    last = result.output.splitlines()[-1]
    assert last.startswith("Error: ") and re.search(said, last), result.output
    assert small.scores() == {}


def test_a_folder_that_cannot_be_written_to_is_one_line(small, cluster):
    (small.root / "class" / LAB).mkdir(exist_ok=True)
    folder_of(small).path.write_text("in the way")
    result = small.grade("--slurm")
    assert (result.exit_code, result.output.splitlines()[-1]) == (1, f"Error: File exists: {folder_of(small).path}")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"todo": "double", "evidence": {"state": "ok"}}', "is not of its form"),
        (b'{"todo": "double", "lost": "nothing"}', "nothing on `double` that can be judged"),
        (b'{"todo": "double", "evidence": NaN}', "cannot be read"),
        (b'{"todo": "double", "reason": "%s"}' % (b"x" * 10000), "too large"),
        (b"[]", "a line that is no object"),
    ],
)
def test_a_result_is_read_as_what_a_stranger_wrote(tmp_path, line, said):
    lab = load_lab(find_lab(make_course(tmp_path), LAB))
    folder = ArrayFolder(tmp_path / "folder")
    folder.make()
    assert folder.path.stat().st_mode & 0o777 == 0o700
    given = Submission(LAB, ANSWERS, [], {}, SEED, "code", {"evidence": 1000}, True)
    good = [Gathered("double", lost="too-slow"), Gathered("total", reason="no room")]
    seconds = {"total": 2.0, "probing": 1.0}
    folder.put_result("ada", given.digest, good, seconds)
    assert folder.result("ada", given, lab) == (good, seconds)
    with pytest.raises(BadResult, match="another submission, seed, code or limits"):
        folder.result("ada", Submission(LAB, ANSWERS, [], {}, SEED + 1, "code", {"evidence": 1000}, True), lab)
    path = folder.path / "ada.jsonl"
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], line, lines[2], b""]))
    with pytest.raises(BadResult, match=said):
        folder.result("ada", given, lab)
