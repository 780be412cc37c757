"""The commands of `./lockstep`, and when it sets up anew."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator

import pytest
from foreign_environment import foreign_environment
from small_clone import ROOT, Clone, wait_for
from small_package_index import PYPROJECT

from autograde.cli import main as commands

pytestmark = pytest.mark.timeout(900)
TOKEN = "--IdentityProvider.token=secret"


@pytest.fixture
def clone(tmp_path) -> Clone:
    return Clone(tmp_path / "kit", tmp_path)


@pytest.fixture(scope="module")
def ready(tmp_path_factory) -> Clone:
    """A clone that has been set up, for all that its test needs, by somebody who has set much for other programs."""
    folder = tmp_path_factory.mktemp("ready")
    clone = Clone(folder / "kit", folder)
    status, output = clone.run("test", umask=0o077, **foreign_environment(folder))
    assert status == 0, output
    return clone


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_usage_names_the_commands_and_sets_nothing_up(clone, arguments):
    status, output = clone.run(*arguments)
    assert status == 0
    for command in ("lab", "hub", "test", "setup", *commands.commands):
        assert re.search(rf"^  {command}\b", output, re.MULTILINE), command
    for who in ("everybody", "instructors", "lab authors", "admins"):
        assert f"\nFor {who}:\n" in output
    assert not (clone.folder / ".venv").exists()


def test_a_set_up_takes_nothing_that_is_meant_for_other_programs(ready):
    seen = json.loads(ready.log.with_name("environment.json").read_text())
    foreign = foreign_environment(ready.tmp_path)
    assert {name: seen[name] for name in foreign if seen.get(name) == foreign[name]} == {}
    assert seen["HOROVOD_WITHOUT_TENSORFLOW"] == "1"
    assert [name for name in seen if name.startswith("HOROVOD_GPU")] == []
    assert re.fullmatch(r"-j\d+", seen["MAKEFLAGS"])
    # What a hub's accounts, or other accounts of a cluster, are to use.
    (packages,) = ready.folder.glob(".venv/lib/python3.*/site-packages")
    assert all(
        path.stat().st_mode & 0o005 == 0o005 for path in (packages, packages / "torch", *ready.wheels[0].parents[:1])
    )


def test_a_command_takes_nothing_that_is_meant_for_another_python(ready):
    assert ready.run("grade", **foreign_environment(ready.tmp_path)) == (3, "kit grade\n")


def test_the_second_start_has_nothing_to_set_up(ready):
    assert ready.run("setup") == (0, "")


@pytest.mark.thorough
def test_the_second_start_is_set_up_at_once(ready):
    begin = time.monotonic()
    assert ready.run("setup") == (0, "")
    assert time.monotonic() - begin < 2


def test_lab_opens_jupyterlab_on_the_labs_and_passes_its_arguments(ready):
    status, output = ready.run("lab", "--port", "8890", "--ServerApp.password=a b")
    assert status == 0, output
    arguments, path = re.search(r"ran (.*)\nPATH (.*)", output).groups()
    assert (
        f"--ServerApp.root_dir={ready.folder}/build/lab --ServerApp.preferred_dir={ready.folder}/build/lab/labs"
        in arguments
    )
    assert ("--allow-root" in arguments) == (os.geteuid() == 0)
    assert arguments.endswith("--port 8890 --ServerApp.password=a b")
    assert path.startswith(f"{ready.folder}/.venv/bin:")


def test_the_kernel_of_notebooks_is_that_of_the_clone_whatever_others_are_named_alike(ready):
    status, output = ready.run("lab", JUPYTER_PATH="/other")
    assert status == 0, output
    assert f"\nDATA {ready.folder}/.venv/share/jupyter:/other\n" in output


@pytest.mark.thorough
def test_hub_has_its_proxy_and_passes_its_arguments(clone):
    status, output = clone.run("setup", "hub")
    assert status == 0, output
    assert "installing configurable-http-proxy 5.3.0" in output
    assert {path.name for path in clone.stamps} == {"lockstep.lab", "lockstep.server", "lockstep.hub"}
    output = clone.run("hub", "--port", "9000")[1]
    assert "installing" not in output
    # Root's hub first looks whether accounts can read the clone, and nobody else can enter a test's folder.
    assert ("accounts on this machine cannot use this clone" if os.geteuid() == 0 else "ran --port 9000\n") in output


@pytest.mark.thorough
def test_a_server_of_another_hub_needs_no_proxy(clone):
    status, output = clone.run("setup", "server")
    assert status == 0, output
    assert "configurable-http-proxy" not in output
    assert {path.name for path in clone.stamps} == {"lockstep.lab", "lockstep.server"}


@pytest.mark.thorough
def test_book_has_what_builds_the_site_and_passes_its_arguments(clone):
    status, output = clone.run("book", "03_talking_to_everybody")
    assert status == 3 and "kit book 03_talking_to_everybody\n" in output
    assert {path.name for path in clone.stamps} == {"lockstep.lab", "lockstep.book"}
    assert list((clone.folder / ".venv").glob("lib/python*/site-packages/small_book-1.0.dist-info"))
    assert clone.run("book")[1] == "kit book\n"


def test_nothing_is_set_up_for_a_purpose_that_is_none(clone):
    assert clone.run("setup", "everything") == (
        2, "lockstep: nothing is set up for 'everything': ./lockstep setup [lab|hub|book|slides|test|server]\n",
    )  # fmt: skip
    assert not (clone.folder / ".venv").exists()


def test_where_no_python_will_do_uv_fetches_one(clone):
    """The Python is one that only says how it was called."""
    script = clone.folder / "lockstep"
    assert " /usr/bin/python3; do" in script.read_text()
    script.write_text(script.read_text().replace(" /usr/bin/python3; do", "; do"))  # this machine's own
    clone.add_program("python3", "exit 1")
    clone.add_program("fetched", "echo ran $*")
    has = clone.tmp_path / "has"
    clone.add_program(
        "uv",
        f"""case "$*" in
        "python install 3.12") : > {has} ;;
        "python find --system 3.12") test -e {has} && echo {clone.programs}/fetched ;;
        *) exit 2 ;;
        esac""",
    )
    for already in (False, True):
        assert has.exists() == already
        status, output = clone.run("setup")
        assert (status, output.startswith("ran -s -m autograde.install --for lab ")) == (0, True), output


@pytest.fixture
def real_lab(tmp_path) -> Iterator[tuple[int, Callable[[], str]]]:
    """The repository's own `./lockstep lab`, told to use a port that is taken: that port, and a reader of its lines."""
    assert list(ROOT.glob(".venv/lockstep.*")), "this needs a finished set-up: ./lockstep test"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        lab = subprocess.Popen(
            [ROOT / "lockstep", "lab", "--no-browser", "--ip=127.0.0.1", f"--port={port}", TOKEN],
            env=os.environ | {"JUPYTER_RUNTIME_DIR": str(tmp_path), "JUPYTER_CONFIG_DIR": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield port, lab.stdout.readline
        finally:
            lab.terminate()
            lab.communicate()


def listens(port: int) -> bool:
    """Whether a server of this machine takes connections at `port`."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_the_real_jupyterlab_lists_the_labs_at_the_next_port_when_its_own_is_taken(real_lab):
    port, read_line = real_lab
    said = ""
    while not (address := re.search(r"http://127.0.0.1:(\d+)/lab\?token", said)):
        line = read_line()
        assert line, said
        said += line
    assert f"The port {port} is already in use, trying another port" in said
    assert address[1] != str(port)
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    url = f"http://127.0.0.1:{address[1]}"
    wait_for(lambda: listens(int(address[1])))  # it tells its address before it listens there
    assert direct.open(f"{url}/lab?token=secret").status == 200
    for shown in ("labs", "labs/03_pi_allreduce", "course/lectures"):
        content = json.load(direct.open(f"{url}/api/contents/{shown}?token=secret"))["content"]
        assert {entry["name"] for entry in content} == {path.name for path in (ROOT / shown).glob("[!.]*")}


def test_other_commands_go_to_the_kit_with_their_exit_status(ready):
    assert ready.run("grade", "03_pi_allreduce", "--jobs", "2") == (3, "kit grade 03_pi_allreduce --jobs 2\n")


def test_a_lint_finding_fails_the_test_but_the_tests_still_run(ready):
    status, output = ready.run("test", "-k", "world")
    assert status == 0, output
    assert re.search(r"ruff check\nruff format\nran --durations=20 --failures=\S+ -k world\n", output)
    (ready.folder / "messy").touch()
    status, output = ready.run("test")
    (ready.folder / "messy").unlink()
    assert status == 1
    assert "ran --durations=20" in output
    assert "lockstep test: ruff found something" in output


def test_debian_packages_that_the_tests_need_are_installed_by_root_or_asked_for(ready):
    script = ready.folder / "lockstep"
    original = script.read_text()
    script.write_text(original.replace("TEST_PACKAGES=(", "TEST_PACKAGES=(there "))
    ready.add_program("dpkg-query", "test $2 = there")
    ready.add_program("apt-get", "echo apt-get $*; exit 1")
    for program in ("chmod", "rm"):  # for a policy-rc.d, where the machine has none
        ready.add_program(program, f'exec {shutil.which(program)} "$@"')
    status, output = ready.run("test")
    script.write_text(original)
    ready.add_program("dpkg-query", "exit 0")
    assert status == 1
    assert "the tests need Debian packages" in output
    assert "there bubblewrap" not in output
    assert re.search(r"mend:  (sudo )?apt install bubblewrap", output)
    assert ("apt-get update" in output) == (os.geteuid() == 0)


@pytest.mark.thorough
def test_a_second_clone_takes_the_compiled_horovod_from_the_cache(ready):
    second = Clone(ready.tmp_path / "second", ready.tmp_path)
    (second.programs / "c++").rename(second.programs / "hidden")
    status, output = second.run("setup")
    (second.programs / "hidden").rename(second.programs / "c++")
    assert status == 0, output
    assert "installing Horovod 0.28.1 for torch 2.13.0+cpu, mpiexec (Small MPI) 5.0.11" in output
    assert "compiling" not in output
    assert ready.log.read_text() == "compiled\n"


@pytest.mark.thorough
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
    assert list(moved.glob(".venv/lib/python3.*/site-packages/small_build-*"))


@pytest.mark.thorough
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
