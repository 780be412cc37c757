"""What `./lockstep` says when it cannot set up, and what it makes of a set-up that was interrupted."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys

import psutil
import pytest
from small_clone import PATIENCE, ROOT, Clone, ended, wait_for

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def clone(tmp_path) -> Clone:
    return Clone(tmp_path / "kit", tmp_path)


# os-release of a system, and what its user is told to run.
SYSTEMS = {
    'ID=debian\nVERSION_ID="12"\n': "sudo apt install python3 python3-venv python3-dev\n",
    'ID=debian\nVERSION_ID="13"\n': "sudo apt install python3 python3-venv python3-dev\n",
    'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"\n': "sudo apt install python3.11 python3.11-venv python3.11-dev\n",
    'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\n': "sudo apt install python3 python3-venv python3-dev\n",
    "ID=fedora\nVERSION_ID=43\n": "sudo dnf install python3.12 python3.12-devel\n",
    'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.6"\n': "sudo dnf install python3.12 python3.12-devel\n",
    "ID=arch\n": "sudo pacman -S uv ",
    "ID=manjaro\nID_LIKE=arch\n": "sudo pacman -S uv ",
    'ID=debian\nVERSION_ID="11"\n': "curl -LsSf https://astral.sh/uv/install.sh | sh ",
    'ID=opensuse-leap\nID_LIKE="suse opensuse"\n': "curl -LsSf https://astral.sh/uv/install.sh | sh ",
}


@pytest.fixture
def without_python(clone) -> Clone:
    """A machine whose only Python is 3.10."""
    clone.add_program("python3", "test $1 = -V && echo Python 3.10.12 && exit; exit 1")
    script = clone.folder / "lockstep"
    script.write_text(script.read_text().replace("/usr/bin/python3", ""))
    return clone


@pytest.mark.parametrize("system", SYSTEMS)
def test_without_a_python_that_will_do_it_says_what_to_install_on_this_system(without_python, system, tmp_path):
    script = without_python.folder / "lockstep"
    (tmp_path / "os-release").write_text(system)
    script.write_text(script.read_text().replace("/etc/os-release", str(tmp_path / "os-release")))
    status, output = without_python.run("doctor")
    assert status == 1
    assert "Python 3.11, 3.12 or 3.13 is needed" in output
    assert "Python 3.10.12" in output
    assert f"mend:  {SYSTEMS[system]}" in output
    assert "conda create -n py312 python=3.12" in output


@pytest.mark.thorough
def test_without_a_python_that_will_do_uv_fetches_one(without_python):
    without_python.add_program("fetched", f'exec {sys._base_executable} "$@"')
    fetched = without_python.programs / "fetched"
    without_python.add_program(
        "uv",
        f"""test "$1 $2" = "python install" && touch {fetched}.here && echo fetching && exit
            test "$1 $2" = "python find" && test -e {fetched}.here && echo {fetched}""",
    )
    (without_python.programs / "touch").symlink_to(shutil.which("touch"))
    status, output = without_python.run("setup")
    assert status == 0, output
    assert output.startswith("fetching\nlockstep: setting up")
    assert without_python.run("setup") == (0, "")


@pytest.mark.thorough
def test_a_venv_keeps_its_python_when_another_comes_first_on_path(clone):
    assert clone.run("setup")[0] == 0
    clone.add_program("python3", "exit 1")
    status, output = clone.run("setup", "hub")
    assert status == 0, output
    assert "making .venv" not in output


@pytest.mark.thorough
def test_a_venv_whose_python_is_gone_is_made_anew(clone):
    assert clone.run("setup")[0] == 0
    python = clone.folder / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/usr/bin/python3.0")
    status, output = clone.run("setup")
    assert status == 0, output
    assert "making .venv" in output


def test_a_link_to_the_venv_of_another_clone_is_refused_and_that_is_left_alone(clone, tmp_path):
    (tmp_path / "other" / "bin").mkdir(parents=True)
    (tmp_path / "other" / "bin" / "pip").write_text("#!/elsewhere/bin/python\n")
    (clone.folder / ".venv").symlink_to(tmp_path / "other")
    status, output = clone.run("setup")
    assert status == 1
    assert f"is a link to {tmp_path / 'other'}" in output
    assert (tmp_path / "other" / "bin" / "pip").exists()


def test_without_a_compiler_it_says_so_before_it_fetches_anything(clone):
    (clone.programs / "c++").unlink()
    status, output = clone.run("lab")
    assert status == 1
    assert "a C++ compiler is needed, to build Horovod" in output
    assert "sudo apt install g++" in output
    assert str(clone.folder / ".lockstep" / "setup.log") in output
    assert not (clone.folder / ".venv").exists()


def test_a_path_with_a_space_is_refused_before_anything_is_fetched(tmp_path):
    clone = Clone(tmp_path / "my courses" / "kit", tmp_path)
    status, output = clone.run("setup")
    assert status == 1
    assert f"below a path with a space: {clone.folder}" in output
    assert "mend:  move this folder" in output
    assert not (clone.folder / ".venv").exists()


def test_a_compiler_that_does_not_compile_counts_as_none(clone):
    clone.add_program("c++", "echo cannot execute cc1plus >&2; exit 1")
    status, output = clone.run("setup")
    assert status == 1
    assert "sudo apt install g++" in output
    assert "cc1plus" in (clone.folder / ".lockstep" / "setup.log").read_text()


@pytest.mark.thorough
def test_without_make_it_is_fetched_without_root_or_asked_for(clone):
    (clone.programs / "make").unlink()
    status, output = clone.run("setup")
    assert status == 1
    assert "sudo apt install make" in output
    clone.add_program("apt-get", "echo $2 > make.deb")
    clone.add_program("dpkg-deb", f"mkdir -p $3/usr/bin && ln -s {shutil.which('true')} $3/usr/bin/make")
    status, output = clone.run("setup", PIP_FIND_LINKS="")
    assert "make is needed" not in output
    assert "this step failed: installing torch" in output


@pytest.mark.thorough
def test_without_network_it_says_so_and_goes_on_from_there_when_it_is_back(clone):
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))  # nobody listens there, and nobody else can
        nowhere = f"http://127.0.0.1:{deaf.getsockname()[1]}"
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


@pytest.mark.thorough
def test_two_at_once_set_up_once(clone):
    first = clone.start_and_hold()
    second = clone.start("setup")
    said = second.stdout.readline()
    clone.log.with_name("hold").unlink()
    assert first.wait(PATIENCE) == second.wait(PATIENCE) == 0
    assert said == "lockstep: another set-up of this clone is at work; waiting for it to end\n"
    assert "making" not in second.stdout.read()
    assert clone.log.read_text() == "compiled\n"


WAITING = """\
import sys
from pathlib import Path
from autograde.install.horovod import alone_in

with alone_in(Path(sys.argv[1]), Path(sys.argv[2]), "Horovod 1.0"):
    print("mine", flush=True)
    sys.stdin.read()
"""


def test_who_waits_for_the_wheel_of_another_clone_hears_whose_it_is_how_long_and_what_else_to_do(tmp_path):
    def clone(name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", WAITING, str(tmp_path), f"/opt/{name} clone"]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)

    clone("one before").communicate("")
    with clone("one") as first:
        assert first.stdout.readline() == "mine\n"
        with clone("other") as second:
            said = second.stdout.readline()
            assert f"process {first.pid} of " in said and "which sets up /opt/one clone, has been compiling" in said
            assert "Horovod 1.0 since " in said and "3 min on a quiet machine" in said
            assert said.endswith("XDG_CACHE_HOME='/opt/other clone/.lockstep/cache'\n")
            first.stdin.close()
            assert second.stdout.readline() == "mine\n"
            second.stdin.close()


@pytest.mark.thorough
def test_an_interrupted_set_up_leaves_nothing_running_and_the_next_repairs_it(clone):
    for how in (signal.SIGINT, signal.SIGTERM):
        process = clone.start_and_hold()
        children = psutil.Process(process.pid).children(recursive=True)
        assert any("wheel" in child.cmdline() for child in children)
        os.killpg(process.pid, how)
        output, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode != 0
        assert how != signal.SIGINT or "interrupted; ./lockstep setup goes on from here" in output
        wait_for(lambda left=children: all(map(ended, left)))
        clone.log.unlink()

    process = clone.start_and_hold()
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    for member in children:
        with contextlib.suppress(psutil.NoSuchProcess):  # it ended as its parent did
            member.kill()
    process.communicate()
    assert clone.wheels == clone.stamps == []
    # As pip leaves a package when it is killed while it installs it.
    (info,) = clone.folder.glob(".venv/lib/python3.*/site-packages/small_lab-*.dist-info")
    (info / "RECORD").unlink()
    (info.parent / "nbgrader.py").unlink()
    clone.log.with_name("hold").unlink()
    status, output = clone.run("setup")
    assert status == 0, output
    assert "making .venv" not in output
    assert (info.parent / "nbgrader.py").exists()
    assert len(clone.wheels) == 1
    assert clone.run("setup") == (0, "")


@pytest.mark.thorough
def test_a_venv_that_was_left_half_made_is_made_anew(clone):
    (clone.folder / ".venv" / "bin").mkdir(parents=True)
    (clone.folder / ".venv" / "bin" / "python").symlink_to(sys.executable)
    _, output = clone.run("setup", PIP_FIND_LINKS="")
    assert "making .venv" in output
    assert "this step failed: installing torch" in output
