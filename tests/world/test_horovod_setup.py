"""Who needs Horovod while it is compiled beside JupyterLab waits, and is told why where it never comes."""

from __future__ import annotations

import fcntl
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from autograde.install import beside
from course.processes import horovod_setup
from course.processes.horovod_setup import HorovodMissing, compiled, wait_for_horovod
from course.processes.px import before_cell


@pytest.fixture
def venv(tmp_path) -> Path:
    """A `.venv` that JupyterLab was opened from before Horovod was there."""
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".lockstep").mkdir()
    (tmp_path / ".venv" / horovod_setup.OPENED).touch()
    return tmp_path / ".venv"


def test_set_up_and_wait_speak_of_the_same_files():
    assert (horovod_setup.OPENED, horovod_setup.FAILURE) == (beside.OPENED, beside.FAILURE)


def test_where_nothing_was_left_undone_nobody_waits(venv, capsys):
    (venv / horovod_setup.OPENED).unlink()
    wait_for_horovod(venv=venv)
    assert capsys.readouterr().out == ""


def test_a_bar_shows_how_far_the_compiler_is_until_horovod_is_there(venv, capsys):
    log = venv.parent / ".lockstep" / horovod_setup.LOG
    log.write_text("  [ 41%] Building CXX object a.cc.o\n  [ 42%] Building CXX object b.cc.o\n")
    shown = threading.Event()

    def finish() -> None:
        assert shown.wait(60)
        (venv / horovod_setup.OPENED).unlink()

    with (venv.parent / ".lockstep" / horovod_setup.LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        finishing = threading.Thread(target=finish)
        finishing.start()
        said = ""
        waiting = threading.Thread(target=wait_for_horovod, kwargs={"venv": venv})
        waiting.start()
        while "42 %" not in said:
            said += capsys.readouterr().out
        shown.set()
        waiting.join()
        finishing.join()
    assert "Waiting for Horovod, which is being compiled" in said


@pytest.mark.parametrize(
    ("failure", "why"),
    [
        (None, "its compilation was ended before it was done"),
        ("this step failed: compiling Horovod\n  why:   out of memory\n", "compiling Horovod\n  why:   out of memory"),
    ],
)
def test_where_nothing_is_at_work_the_cause_and_the_next_step_are_said(venv, capsys, failure, why, monkeypatch):
    if failure:
        (venv.parent / ".lockstep" / horovod_setup.FAILURE).write_text(failure)
    with pytest.raises(HorovodMissing) as missing:
        wait_for_horovod(venv=venv)
    assert f"Horovod is not there yet: {why}" in str(missing.value).replace("this step failed: ", "")
    assert "./lockstep setup; then run this cell again" in str(missing.value)

    monkeypatch.setattr("course.processes.px.wait_for_horovod", lambda: wait_for_horovod(venv=venv))
    hook = before_cell(lambda: None)
    capsys.readouterr()
    hook(SimpleNamespace(raw_cell="import numpy"))
    assert capsys.readouterr().out == ""
    hook(SimpleNamespace(raw_cell="%%px\nimport horovod.torch as hvd"))
    assert why.splitlines()[-1] in capsys.readouterr().out


def test_the_last_percentage_counts_and_without_a_log_there_is_none(tmp_path):
    assert compiled(tmp_path / "log") == 0
    (tmp_path / "log").write_text("  [ 99%] Built\nx" * 3000 + "\n[  7%] Building\nwarning: [100%] of\n")
    assert compiled(tmp_path / "log") == 7
