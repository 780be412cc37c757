"""What `./lockstep` says when it cannot set up, and what it makes of a set-up that was interrupted."""

from __future__ import annotations

import os
import shutil
import signal
import sys

import psutil
import pytest
from small_clone import Clone, ended, wait_for

from autograde.install import causes


@pytest.fixture
def clone(tmp_path) -> Clone:
    return Clone(tmp_path / "kit", tmp_path)


def test_without_python_311_it_says_which_is_there_and_what_to_install(clone):
    (clone.programs / "python3.11").unlink()
    clone.add_program("python3", "test $1 = -V && echo Python 3.12.1 && exit; exit 1")
    script = clone.folder / "lockstep"
    script.write_text(script.read_text().replace("/usr/bin/python3.11", ""))
    status, output = clone.run("doctor")
    assert status == 1
    assert "Python 3.11 is needed" in output
    assert "Python 3.12.1" in output
    assert "sudo apt install python3.11" in output


def test_without_a_compiler_it_says_so_before_it_fetches_anything(clone):
    (clone.programs / "c++").unlink()
    status, output = clone.run("lab")
    assert status == 1
    assert "a C++ compiler is needed, to build Horovod" in output
    assert "sudo apt install g++" in output
    assert str(clone.folder / ".lockstep" / "setup.log") in output
    assert not (clone.folder / ".venv").exists()


def test_a_compiler_that_does_not_compile_counts_as_none(clone):
    clone.add_program("c++", "echo cannot execute cc1plus >&2; exit 1")
    status, output = clone.run("setup")
    assert status == 1
    assert "sudo apt install g++" in output
    assert "cc1plus" in (clone.folder / ".lockstep" / "setup.log").read_text()


def test_without_make_it_is_fetched_without_root_or_asked_for(clone):
    (clone.programs / "make").unlink()
    status, output = clone.run("setup")
    assert status == 1
    assert "sudo apt install make" in output
    clone.add_program("apt-get", "echo $2 > make.deb")
    clone.add_program("dpkg-deb", f"mkdir -p $3/usr/bin && ln -s {shutil.which('true')} $3/usr/bin/make")
    (clone.programs / "ln").symlink_to(shutil.which("ln"))
    status, output = clone.run("setup", PIP_FIND_LINKS="")
    assert "make is needed" not in output
    assert "this step failed: installing torch" in output


def test_without_network_it_says_so_and_goes_on_from_there_when_it_is_back(clone):
    nowhere = "http://127.0.0.1:9"
    offline = {"PIP_FIND_LINKS": "", "PIP_RETRIES": "1", "https_proxy": nowhere, "http_proxy": nowhere}
    status, output = clone.run("setup", **offline, PIP_NO_INDEX="0")
    assert status == 1
    assert "this step failed: installing torch==2.13.0" in output
    assert "no network: the package index cannot be reached" in output
    status, output = clone.run("setup", **offline)
    assert status == 1
    assert "No matching distribution found for torch==2.13.0" in output
    assert "PIP_NO_INDEX" in output
    assert clone.stamps == []
    status, output = clone.run("setup")
    assert status == 0
    assert "making .venv" not in output


def test_two_at_once_set_up_once(clone):
    first = clone.start_and_hold()
    second = clone.start("setup")
    said = second.stdout.readline()
    clone.log.with_name("hold").unlink()
    assert first.wait(60) == second.wait(60) == 0
    assert said == "lockstep: another set-up of this clone is at work; waiting for it to end\n"
    assert "making" not in second.stdout.read()
    assert clone.log.read_text() == "compiled\n"


def test_an_interrupted_set_up_leaves_nothing_running_and_the_next_repairs_it(clone):
    for how in (signal.SIGINT, signal.SIGTERM):
        process = clone.start_and_hold()
        children = psutil.Process(process.pid).children(recursive=True)
        assert any("wheel" in child.cmdline() for child in children)
        os.killpg(process.pid, how)
        output, _ = process.communicate(timeout=30)
        assert process.returncode != 0
        assert how != signal.SIGINT or "interrupted; ./lockstep setup goes on from here" in output
        wait_for(lambda left=children: all(map(ended, left)), 10)
        clone.log.unlink()

    process = clone.start_and_hold()
    for member in [*psutil.Process(process.pid).children(recursive=True), process]:
        member.kill()
    process.communicate()
    assert clone.wheels == clone.stamps == []
    # As pip leaves a package when it is killed while it installs it.
    (info,) = clone.folder.glob(".venv/lib/python3.11/site-packages/small_lab-*.dist-info")
    (info / "RECORD").unlink()
    (info.parent / "nbgrader.py").unlink()
    clone.log.with_name("hold").unlink()
    status, output = clone.run("setup")
    assert status == 0, output
    assert "making .venv" not in output
    assert (info.parent / "nbgrader.py").exists()
    assert len(clone.wheels) == 1
    assert clone.run("setup") == (0, "")


def test_a_venv_that_was_left_half_made_is_made_anew(clone):
    (clone.folder / ".venv" / "bin").mkdir(parents=True)
    (clone.folder / ".venv" / "bin" / "python").symlink_to(sys.executable)
    _, output = clone.run("setup", PIP_FIND_LINKS="")
    assert "making .venv" in output
    assert "this step failed: installing torch" in output


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n",
            "the disk is full",
        ),
        ("cp: error writing 'x': Disk quota exceeded", "the disk is full"),
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError('<pip>: Failed to establish a new "
            "connection: [Errno -3] Temporary failure in name resolution')': /simple/torch/\n"
            "ERROR: No matching distribution found for torch==2.13.0",
            "no network: the package index cannot be reached",
        ),
        (
            "Could not fetch URL: There was a problem confirming the ssl certificate: "
            "(SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed')))",
            "certificate",
        ),
        (
            "ERROR: No matching distribution found for tqdm==4.70.1\n",
            "found for tqdm==4.70.1: no network, or the index",
        ),
        ("[Errno 13] Permission denied: '/srv/kit/.venv'", "not allowed to write: Permission denied: '/srv/kit/.venv'"),
        ("c++: fatal error: Killed signal terminated program cc1plus\n", "out of memory"),
        (
            " error: subprocess-exited-with-error\n x.cc:3: error: no such thing\nERROR: Failed to build some wheels\n",
            "x.cc:3: error: no such thing",
        ),
    ],
)
def test_the_cause_of_a_failure_is_told_from_its_output(output, why, tmp_path):
    said = str(causes.explain("this step failed: it", output, [tmp_path])).splitlines()
    assert said[0] == "this step failed: it"
    assert why in said[1]
    assert said[2].startswith("  mend:  ")
    assert len(said) == 3


def test_a_full_disk_is_told_even_where_its_message_did_not_fit_on_it(monkeypatch, tmp_path):
    monkeypatch.setattr(causes, "FULL", 1e30)
    assert f"the disk is full, at {tmp_path}" in str(causes.explain("it", "", [tmp_path / "missing", tmp_path]))
