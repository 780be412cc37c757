"""A function in a second Python: another salt, another day, and nothing left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
from small_clone import ended, wait_for
from student_cells import cell

from autograde.probes.fresh_process import FreshProcess


def test_it_has_another_salt_another_clock_and_another_process_id():
    def seen() -> list:
        return [hash("text"), time.time(), os.getpid(), os.environ["PYTHONHASHSEED"]]

    with FreshProcess(seen, salt=7) as other:
        answer = other.answer(timeout=240)
    assert answer["error"] is None
    salted, clock, process, salt = answer["result"]
    assert salted != hash("text")
    assert clock > time.time() + 86_400
    assert process != os.getpid()
    assert salt == "7"


def test_it_never_has_the_salt_that_this_process_was_given(monkeypatch):
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    with FreshProcess(lambda: os.environ["PYTHONHASHSEED"], salt=7) as other:
        assert other.answer(timeout=240)["result"] == "8"


def test_what_is_printed_there_does_not_get_into_the_answer():
    def noisy() -> str:
        print("noise " * 100_000)
        os.write(2, b"noise")
        return "x" * 100_000

    with FreshProcess(noisy, salt=7) as other:
        assert other.answer(timeout=240) == {"result": "x" * 100_000, "error": None}


def test_an_error_a_sudden_end_and_no_end_are_told():
    for function, said in (
        (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda: os._exit(3), "it ended with status 3"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "it ended with status -9"),
        (lambda: time.sleep(600), "not finished within 3 s"),
    ):
        with FreshProcess(function, salt=7) as other:
            assert other.answer(timeout=3 if "not finished" in said else 240) == {"result": None, "error": said}


def test_it_is_gone_when_the_block_ends():
    with FreshProcess(lambda: time.sleep(600), salt=7) as other:
        process = psutil.Process(other.pid)
    assert not process.is_running()


def test_it_is_gone_when_the_process_that_started_it_is_killed(tmp_path):
    source = f"""
import time
from autograde.probes.fresh_process import FreshProcess
def function():
    open({str(tmp_path / "there")!r}, "w").close()
    time.sleep(600)
with FreshProcess(function, salt=7) as other:
    print(other.pid, flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True) as owner:
        process = psutil.Process(int(owner.stdout.readline()))
        wait_for((tmp_path / "there").exists)  # then it has asked to die with its parent
        owner.kill()
    wait_for(lambda: ended(process))


def test_on_a_rank_it_runs_a_students_cell(world):
    source = cell("def f(x):\n    return [x, hash('text')]\n")

    def on_a_rank(subject) -> list:
        with FreshProcess(lambda: subject.load()(5), salt=7) as other:
            return [other.answer(timeout=240), subject.load()(5)]

    there, here = world.run(on_a_rank, source, size=1, deadline=250)[0]
    assert there["error"] is None
    assert there["result"][0] == here[0] == 5
    assert there["result"][1] != here[1]
