"""JupyterLab opens before Horovod is compiled, and what becomes of the rest."""

from __future__ import annotations

import contextlib
import subprocess

import psutil
import pytest
from small_clone import PATIENCE, Clone, wait_for

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def clone(tmp_path) -> Clone:
    return Clone(tmp_path / "kit", tmp_path)


def stamps(clone: Clone) -> set[str]:
    return {path.name for path in clone.stamps}


def opened(lab: subprocess.Popen) -> str:
    """What `./lockstep lab` says until JupyterLab runs."""
    said = ""
    while "\nran " not in f"\n{said}":
        line = lab.stdout.readline()
        assert line, said
        said += line
    return said


def compiling(clone: Clone) -> list[psutil.Process]:
    """The set-up beside JupyterLab, and what it started."""
    found = [process for process in psutil.process_iter() if at_work(process, clone)]
    return [member for process in found for member in [process, *process.children(recursive=True)]]


def at_work(process: psutil.Process, clone: Clone) -> bool:
    with contextlib.suppress(psutil.Error):
        return "--beside" in process.cmdline() and process.cwd() == str(clone.folder)
    return False


def test_jupyterlab_opens_before_horovod_is_compiled_once_for_all_starts(clone):
    clone.log.with_name("hold").touch()
    first = clone.start("lab")
    assert "JupyterLab opens now; Horovod is compiled beside it" in opened(first)
    wait_for(clone.log.exists)
    assert stamps(clone) == {"lockstep.opened"}
    assert not list(clone.folder.glob(".venv/lib/python*/site-packages/horovod"))
    second = clone.start("lab")
    assert opened(second).startswith("ran ")
    clone.log.with_name("hold").unlink()
    assert "lockstep: Horovod is ready\n" in first.communicate(timeout=PATIENCE)[0]
    second.communicate(timeout=PATIENCE)
    assert stamps(clone) == {"lockstep.lab"}
    assert list(clone.folder.glob(".venv/lib/python*/site-packages/horovod"))
    assert clone.log.read_text() == "compiled\n"
    assert clone.run("lab")[1].startswith("ran ")


@pytest.mark.thorough
def test_after_a_kill_the_next_start_opens_at_once_and_compiles_it(clone):
    clone.log.with_name("hold").touch()
    first = clone.start("lab")
    opened(first)
    wait_for(clone.log.exists)
    for member in compiling(clone):
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()
    first.communicate(timeout=PATIENCE)
    assert stamps(clone) == {"lockstep.opened"}
    clone.log.with_name("hold").unlink()
    status, output = clone.run("lab")
    assert status == 0
    assert "lockstep: Horovod is ready\n" in output
    assert "installing" not in output
    assert stamps(clone) == {"lockstep.lab"}


@pytest.mark.thorough
def test_a_failure_is_kept_for_the_cells_and_a_set_up_in_a_terminal_mends_it(clone):
    status, output = clone.run("lab", SMALL_LOG="/nowhere/log")
    assert status == 0
    assert "lockstep: this step failed: compiling Horovod" in output
    kept = (clone.folder / ".lockstep" / "horovod.failed").read_text()
    assert "\n  why:   " in kept and str(clone.folder / ".lockstep" / "setup.log") in kept
    assert stamps(clone) == {"lockstep.opened"}
    status, output = clone.run("setup")
    assert status == 0, output
    assert "JupyterLab" not in output and "compiling Horovod" in output
    assert stamps(clone) == {"lockstep.lab"}
    assert not (clone.folder / ".lockstep" / "horovod.failed").exists()


@pytest.mark.thorough
def test_where_its_wheel_is_kept_nothing_is_done_beside(clone, tmp_path):
    assert clone.run("setup")[0] == 0
    other = Clone(tmp_path / "other", tmp_path)
    status, output = other.run("lab")
    assert status == 0
    assert "beside" not in output and "installing Horovod" in output
    assert stamps(other) == {"lockstep.lab"}
