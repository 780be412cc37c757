"""`./lockstep`: what it sets up, what it says when it cannot, and what it makes of an interrupted set-up."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from small_index import BACKEND, PYPROJECT, write_index

from autograde.install import causes

ROOT = Path(__file__).resolve().parents[1]

# All that a set-up calls, besides Python. A machine of the tests has these and no other.
PROGRAMS = ["bash", "sh", "env", "cat", "cut", "dirname", "readlink", "sha256sum", "tar", "gzip", "make", "c++"]


class Clone:
    """A clone of the kit in which little packages stand for the real ones."""

    def __init__(self, folder: Path, tmp_path: Path) -> None:
        self.folder, self.tmp_path = folder, tmp_path
        self.programs = tmp_path / "programs"
        self.log = tmp_path / "log"
        (folder / "autograde").mkdir(parents=True)
        shutil.copy(ROOT / "lockstep", folder)
        shutil.copytree(ROOT / "autograde" / "install", folder / "autograde" / "install")
        (folder / "autograde" / "__main__.py").write_text("import sys\nprint('kit', *sys.argv[1:])\nsys.exit(3)\n")
        (folder / "pyproject.toml").write_text(PYPROJECT)
        (folder / "backend.py").write_text(BACKEND)
        if not self.programs.exists():
            self.programs.mkdir()
            for program in PROGRAMS:
                (self.programs / program).symlink_to(shutil.which(program))
            self.add_program("python3.11", f'exec {sys._base_executable} "$@"')
            (tmp_path / "index").mkdir()
            write_index(tmp_path / "index")

    def add_program(self, name: str, script: str) -> None:
        """Put a program on this machine's PATH."""
        path = self.programs / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen:
        """Start `./lockstep` on a machine that has PROGRAMS, the small index, and no network."""
        plain = {
            "PATH": str(self.programs),
            "HOME": str(self.tmp_path / "home"),
            "XDG_CACHE_HOME": str(self.tmp_path / "cache"),
            "SMALL_LOG": str(self.log),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.tmp_path / "index"),
        }
        return subprocess.Popen(
            [self.folder / "lockstep", *arguments],
            env=plain | environment,
            cwd=self.tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """Run `./lockstep`: its exit status, and what it said."""
        process = self.start(*arguments, **environment)
        output, _ = process.communicate(timeout=120)
        return process.returncode, output

    def start_and_hold(self) -> subprocess.Popen:
        """Start a set-up, and return when it is compiling Horovod; it goes on when `hold` is removed."""
        self.log.with_name("hold").touch()
        process = self.start("setup")
        wait_for(lambda: self.log.exists() or process.poll() is not None)
        assert process.poll() is None, process.stdout.read()
        return process

    @property
    def wheels(self) -> list[Path]:
        """What the cache holds."""
        return list(self.tmp_path.glob("cache/lockstep/wheels/*/*.whl*"))

    @property
    def stamps(self) -> list[Path]:
        """What tells `./lockstep` that nothing is left to set up."""
        return list(self.folder.glob(".venv/lockstep.*"))


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    """Return when `condition` holds. Raises AssertionError after `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


@pytest.fixture
def clone(tmp_path) -> Clone:
    return Clone(tmp_path / "kit", tmp_path)


@pytest.fixture(scope="module")
def ready(tmp_path_factory) -> Clone:
    """A clone that has been set up, for all that its test needs."""
    folder = tmp_path_factory.mktemp("ready")
    clone = Clone(folder / "kit", folder)
    status, output = clone.run("test")
    assert status == 0, output
    return clone


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_usage_names_the_commands_and_sets_nothing_up(clone, arguments):
    status, output = clone.run(*arguments)
    assert status == 0
    for command in ("lab", "test", "setup", "doctor", "build", "grade"):
        assert re.search(rf"^  {command}\b", output, re.MULTILINE) or f", {command}" in output
    assert not (clone.folder / ".venv").exists()


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
    (clone.programs / "mkdir").symlink_to(shutil.which("mkdir"))
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


def test_the_second_start_is_set_up_at_once(ready):
    begin = time.monotonic()
    assert ready.run("setup") == (0, "")
    assert time.monotonic() - begin < 2


def test_lab_opens_jupyterlab_on_the_labs_and_passes_its_arguments(ready):
    status, output = ready.run("lab", "--port", "8890", "--ServerApp.password=a b")
    assert status == 0
    arguments, path = re.search(r"ran (.*)\nPATH (.*)", output).groups()
    assert f"--ServerApp.root_dir={ready.folder}" in arguments
    assert "--LabApp.default_url=/lab/tree/labs" in arguments
    assert ("--allow-root" in arguments) == (os.geteuid() == 0)
    assert arguments.endswith("--port 8890 --ServerApp.password=a b")
    assert path.startswith(f"{ready.folder}/.venv/bin:")


def test_the_real_jupyterlab_lists_the_labs_at_the_next_port_when_its_own_is_taken(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        options = ["--no-browser", "--ip=127.0.0.1", f"--port={port}", "--IdentityProvider.token=secret"]
        environment = os.environ | {"JUPYTER_RUNTIME_DIR": str(tmp_path), "JUPYTER_CONFIG_DIR": str(tmp_path)}
        lab = subprocess.Popen(
            [ROOT / "lockstep", "lab", *options],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said = ""
        while not (address := re.search(r"http://127.0.0.1:(\d+)/lab/tree/labs", said)):
            line = lab.stdout.readline()
            assert line, said
            said += line
    try:
        assert f"The port {port} is already in use, trying another port" in said
        assert address[1] != str(port)
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        url = f"http://127.0.0.1:{address[1]}"
        assert direct.open(f"{url}/lab/tree/labs?token=secret").status == 200
        content = json.load(direct.open(f"{url}/api/contents/labs?token=secret"))["content"]
        assert {entry["name"] for entry in content} == {path.name for path in (ROOT / "labs").glob("[!.]*")}
    finally:
        lab.terminate()
        lab.communicate(timeout=60)


def test_other_commands_go_to_the_kit_with_their_exit_status(ready):
    assert ready.run("grade", "03_pi_allreduce", "--jobs", "2") == (3, "kit grade 03_pi_allreduce --jobs 2\n")


def test_a_lint_finding_fails_the_test_but_the_tests_still_run(ready):
    status, output = ready.run("test", "-k", "world")
    assert status == 0
    assert "ruff check\nruff format\nran --durations=10 -k world" in output
    (ready.folder / "messy").touch()
    status, output = ready.run("test")
    (ready.folder / "messy").unlink()
    assert status == 1
    assert "ran --durations=10" in output


def test_debian_packages_that_the_tests_need_are_installed_by_root_or_asked_for(ready):
    script = ready.folder / "lockstep"
    original = script.read_text()
    script.write_text(original.replace("TEST_PACKAGES=()", "TEST_PACKAGES=(there bubblewrap)"))
    ready.add_program("dpkg-query", "test $2 = there")
    ready.add_program("apt-get", "echo apt-get $*; exit 1")
    status, output = ready.run("test")
    script.write_text(original)
    assert status == 1
    assert "the tests need Debian packages" in output
    assert "there bubblewrap" not in output
    assert re.search(r"mend:  (sudo )?apt install bubblewrap", output)
    assert ("apt-get update" in output) == (os.geteuid() == 0)


def test_a_second_clone_takes_the_compiled_horovod_from_the_cache(ready):
    second = Clone(ready.tmp_path / "second", ready.tmp_path)
    (second.programs / "c++").rename(second.programs / "hidden")
    status, output = second.run("setup")
    (second.programs / "hidden").rename(second.programs / "c++")
    assert status == 0, output
    assert "installing Horovod 0.28.1 for torch 2.13.0+cpu, mpiexec (Small MPI) 5.0.11" in output
    assert "compiling" not in output
    assert ready.log.read_text() == "compiled\n"


def test_what_was_made_from_other_files_or_at_another_place_is_made_anew(ready):
    moved = ready.tmp_path / "moved"
    shutil.copytree(ready.folder, moved, symlinks=True)
    clone = object.__new__(Clone)
    clone.__dict__ = ready.__dict__ | {"folder": moved}
    status, output = clone.run("setup")
    assert status == 0, output
    assert "making .venv" in output
    (moved / "pyproject.toml").write_text(PYPROJECT.replace('"small-lab==1.0"', '"small-lab==1.0", "small-build==1.0"'))
    status, output = clone.run("setup")
    assert status == 0, output
    assert "making .venv" not in output
    assert list(moved.glob(".venv/lib/python3.11/site-packages/small_build-*"))


def test_a_systems_own_mpi_is_used_where_programs_can_be_built_on_it(ready):
    ready.add_program("mpiexec", "echo 'mpiexec (System MPI) 4.1.4'")
    status, output = ready.run("setup")
    assert status == 0
    assert output == "", "mpiexec without mpicxx is of no use: the wheel stays"
    ready.add_program("mpicxx", "")
    status, output = ready.run("setup")
    for program in ("mpiexec", "mpicxx"):
        (ready.programs / program).unlink()
    assert status == 0, output
    assert "compiling Horovod 0.28.1 for torch 2.13.0+cpu, mpiexec (System MPI) 4.1.4" in output
    assert not (ready.folder / ".venv" / "bin" / "mpiexec").exists()


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
        assert psutil.wait_procs(children, timeout=10)[1] == []
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
            "  error: subprocess-exited-with-error\n  x.cc:3: error: no such thing\nERROR: Failed to build one or more wheels\n",
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
