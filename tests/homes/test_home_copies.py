"""The entrypoint of containers, in homes of all kinds: it starts the command, and copies are whole or not there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from example_labs import labs_with
from odd_homes import BIG, ODD, SOMEBODY, enterable, fill, own, remount, volume, write
from running_hub import state_folder
from small_clone import ROOT, wait_for
from unix_accounts import with_python

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a volume")
ONE, TWO, THREE = labs_with(3, "that students get")
LAB, OTHER = (f"labs/{lab.name}/{lab.notebook}" for lab in (ONE, TWO))
SCRIPT, FOLDER = f"labs/{TWO.name}/run.sh", f"labs/{THREE.name}"


@pytest.fixture
def home() -> Iterator[Path]:
    with enterable() as folder, volume(folder / "home", "40m") as home:
        yield home
    shutil.rmtree(state_folder(SOMEBODY), ignore_errors=True)


def command(home: Path) -> list[str]:
    """The entrypoint, as a user whom no account names."""
    identity = ["setpriv", "--reuid", str(SOMEBODY), "--regid", "0", "--clear-groups"]
    entrypoint = ["sh", str(ROOT / "course" / "container" / "entrypoint"), "echo", "the server starts"]
    return [*with_python(), *identity, "env", f"HOME={home}", *entrypoint]


def start(home: Path) -> str:
    """Start a command there: what was said of the home. It has to start."""
    done = subprocess.run(command(home), cwd="/", capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "the server starts\n"), done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def files(folder: Path) -> dict[str, bytes]:
    """What is in the files that a home gets, by path."""
    found = [path for part in ("labs", "course/lectures") for path in (folder / part).rglob("*")]
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in found
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.parametrize("name", ODD)
def test_the_command_starts_in_each_home_and_what_is_wrong_is_said(name, home):
    prepare, words = ODD[name]
    prepare(home)
    said = start(home)
    assert words in said if words else not said, said


def test_a_full_home_loses_nothing_and_gets_what_is_missing_when_there_is_room(home):
    assert start(home) == ""
    assert files(home) == files(ROOT)
    shutil.rmtree(home / FOLDER)
    fill(home)
    said = start(home)
    assert "is full" in said and FOLDER in said and "No space left on device" in said
    (home / BIG).unlink()
    assert start(home) == ""
    assert files(home) == files(ROOT)


def test_a_copy_is_whole_or_not_there(home):
    remount(home, "size=2m")
    assert "No space left on device" in start(home)
    kit, there = files(ROOT), files(home)
    assert 10 < len(there) < len(kit)
    assert [name for name, content in there.items() if content != kit[name]] == []
    remount(home, "size=40m")
    assert start(home) == ""
    assert files(home) == kit


def test_a_start_that_was_killed_leaves_nothing_that_the_next_one_does_not_mend(home):
    process = subprocess.Popen(command(home), cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: (home / LAB).exists() or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = f"labs/.lockstep-copy-{'0' * 32}"
    write(home, **{left: "half of"})
    assert start(home) == ""
    assert files(home) == files(ROOT)


def test_what_broke_off_is_copied_again_and_what_somebody_did_stays(home):
    start(home)
    kit = (ROOT / LAB).read_bytes()
    lectures = sorted((home / "course" / "lectures").glob("*.ipynb"))[:3]
    broken = [home / LAB, *lectures]
    for path, size in zip(broken, (4096, 0, 1, 70_000), strict=True):
        path.write_bytes(path.read_bytes()[:size])
    own_notebook, own_script = home / OTHER, home / SCRIPT
    own_notebook.write_bytes(own_notebook.read_bytes().replace(b"# ", b"# mine ", 1)[:-2])
    own_script.write_text("\n".join(own_script.read_text().splitlines()[:-1]))
    mine = {path: path.read_bytes() for path in (own_notebook, own_script)}
    for path in [*broken, *mine]:
        own(home, str(path.relative_to(home)))
    assert start(home) == ""
    assert (home / LAB).read_bytes() == kit
    assert [path for path in lectures if path.read_bytes() != (ROOT / "course/lectures" / path.name).read_bytes()] == []
    assert {path: path.read_bytes() for path in mine} == mine


def test_what_is_in_the_way_of_files_stays_and_is_named(home):
    start(home)
    (home / LAB).unlink()
    (home / LAB).mkdir()
    (home / SCRIPT).unlink()
    (home / SCRIPT).symlink_to("nowhere")
    shutil.rmtree(home / FOLDER)
    (home / FOLDER).write_text("mine")
    said = start(home)
    assert f"{LAB} is a folder, where the kit has a file" in said
    assert f"{SCRIPT} is a link that leads nowhere" in said
    assert f"{FOLDER} is a file, where the kit has a folder" in said
    assert (home / FOLDER).read_text() == "mine"


def test_a_script_can_be_run_and_a_home_that_is_missing_is_made(home):
    start(home / "new")
    assert os.access(home / "new" / SCRIPT, os.X_OK) == os.access(ROOT / SCRIPT, os.X_OK)
    assert (home / "new" / LAB).exists()
