"""A grading tells how far it is, whoever started it, goes on in the background, and can be stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from changing_lab import examined_by_text, without_sandboxes
from classroom import REPOSITORY, Classroom
from slurm_cluster import eventually
from small_course import ANSWERS, LAB

from autograde.classroom import class_grading
from autograde.classroom.nbgrader_course import Course
from autograde.classroom.runs import background
from autograde.classroom.runs.progress import DONE, STOPPED, log_path, on_now, read

HANGS = {"double": "def double(x):\n    import time\n    time.sleep(600)"}


@pytest.fixture
def room(small: Classroom, monkeypatch: pytest.MonkeyPatch) -> Classroom:
    """A class in which three have handed in."""
    for name, value in small.environment.items():
        monkeypatch.setenv(name, value)
    for student in ("ada", "bob", "cleo"):
        small.put(student, small.answered(ANSWERS))
    return small


def looking(look: Callable[[str], None]) -> Callable:
    """In place of the sandbox: each answer is right, and somebody looks before it is written."""

    @contextmanager
    def examined(*about: object) -> Iterator[Iterator]:
        with examined_by_text(*about) as outcomes:
            yield (look(student) or (student, outcome) for student, outcome in outcomes)

    return examined


def test_each_run_tells_how_far_it_is_and_another_one_is_told_which_is_on(room, monkeypatch):
    seen, refused = [], []

    def look(student: str) -> None:
        seen.append(on_now(room.root))
        refused.append(room.lockstep("grade", LAB).output)

    without_sandboxes(monkeypatch, looking(look))
    assert room.grade().exit_code == 0
    assert seen == [f"{LAB}: grading, {done} of 3" for done in range(3)]
    assert f"another grading of this class is running ({LAB}: grading, 1 of 3); it holds " in refused[1]
    run = read(room.root, LAB)
    assert (run.running, run.ended, run.in_background, on_now(room.root)) == (False, DONE, False, "")
    assert "it/s" not in room.grade().output, "a bar is for terminals"


def test_what_is_graded_before_a_run_is_stopped_is_kept_and_the_next_goes_on_from_there(room, monkeypatch):
    def stop(student: str) -> None:
        if student == "bob":
            background.stop(room.root, LAB)  # as `grade --stop` does, and the page

    without_sandboxes(monkeypatch, looking(stop))
    assert room.grade().exit_code == 1
    assert read(room.root, LAB).ended == STOPPED and room.scores() == {"ada": 5}
    assert f"{LAB} is not being graded" in room.lockstep("grade", LAB, "--stop").output
    without_sandboxes(monkeypatch)
    assert f"{LAB}: 2 to grade, 1 graded before and unchanged" in room.grade().output
    assert room.scores() == dict.fromkeys(("ada", "bob", "cleo"), 5)


def test_why_a_run_ended_is_kept_for_its_page(room, monkeypatch):
    with class_grading.class_lock(Course(room.root)):
        said = room.lockstep("grade", LAB)
        assert said.exit_code == 1 and "another grading of this class is running; it holds" in said.output
    monkeypatch.setattr(class_grading, "grade_all", lambda *about: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        room.grade()
    assert read(room.root, LAB).ended == "division by zero"


def test_a_run_in_the_background_says_what_it_says_into_its_log(small, monkeypatch):
    asked = ("grade", LAB, "--no-collect", "--background")
    monkeypatch.setattr(sys, "argv", ["lockstep", *asked])  # the run is the same command
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    done = started(small, *asked)
    assert done.returncode == 0 and f"{LAB} is being graded; what it says goes to " in done.stdout, done
    assert done.stdout.endswith("\n[]\n"), (
        "the run alone needs these libraries, and who starts it waits for its beginning"
    )
    done = started(small, "grade", "99_other", *asked[2:])
    assert (done.returncode, done.stdout) == (1, "[]\n")
    assert done.stderr.startswith("Error: no lab `99_other` in ") and done.stderr.count("\n") == 1
    assert eventually(lambda: not read(small.root, LAB).running)
    run = read(small.root, LAB)
    assert (run.ended, run.in_background) == (DONE, True)
    assert f"{LAB}: 0 to grade\n" in log_path(small.root, LAB).read_text()
    with class_grading.class_lock(Course(small.root)):
        refused = small.lockstep(*asked)
        assert refused.exit_code == 1 and "another grading of this class is running" in refused.output


def started(room: Classroom, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `lockstep` in a process of its own, which says in the end which large libraries it has imported."""
    code = (
        "import atexit, sys; from autograde.cli import main\n"
        "large = {'ipyparallel', 'nbgrader', 'sqlalchemy', 'torch'}\n"
        "atexit.register(lambda: print(sorted(large & {*sys.modules}))); main()"
    )
    return subprocess.run([sys.executable, "-c", code, *words], env=room.environment, capture_output=True, text=True)


@pytest.mark.thorough
def test_a_run_in_the_background_outlives_who_started_it_and_ends_cleanly_when_it_is_stopped(room):
    room.put("dora", room.answered(HANGS))
    command = [sys.executable, "-m", "autograde", "grade", LAB, "--no-collect", "--background", "--jobs", "1"]
    starter = subprocess.Popen(command, env=room.environment, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert "is being graded; " in starter.stdout.read()
    with pytest.raises(ProcessLookupError):  # nothing of the terminal's is left
        starter.wait()
        os.killpg(starter.pid, signal.SIGKILL)
    # Two instructors at once: the second sees the run that is on.
    assert f"{LAB} is being graded already: " in room.apart("grade", LAB, "--background", seconds=120)[1]
    assert eventually(lambda: "3 of 4" in str(read(room.root, LAB)))
    process = read(room.root, LAB).process
    os.kill(process, signal.SIGTERM)  # as where the hub is stopped as a service, with all that it started
    assert eventually(lambda: not read(room.root, LAB).running)
    assert read(room.root, LAB).ended == STOPPED
    assert room.scores() == dict.fromkeys(("ada", "bob", "cleo"), 5)
    (room.root / "class" / "submitted" / "dora" / LAB / f"{LAB}.ipynb").unlink()
    assert f"{LAB}: 1 to grade, 3 graded before and unchanged" in room.grade().output
