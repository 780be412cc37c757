"""A clone of the kit on a machine of its own, on which a whole set-up runs in seconds (see small_package_index)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from small_package_index import BACKEND, PYPROJECT, write_index

ROOT = Path(__file__).resolve().parents[2]

# All that a set-up calls, besides Python. The machine has these programs and no other.
PROGRAMS = [
    "bash",
    "sh",
    "env",
    "cat",
    "cut",
    "dirname",
    "mkdir",
    "readlink",
    "sha256sum",
    "tar",
    "gzip",
    "ln",
    "make",
    "c++",
    "as",
    "ld",
]
# What packs the checks of labs, at each start of JupyterLab.
PACKING = ("autograde/making/archive.py", "autograde/labs/places.py", "course/lab_archive.py", "course/lab_choice.py")

PATIENCE = 800  # seconds for a set-up, which takes some: only one that hangs takes as many


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
        (folder / "course" / "jupyterlab").mkdir(parents=True)
        shutil.copy(ROOT / "course" / "jupyterlab" / "ipython_kernel_config.py", folder / "course" / "jupyterlab")
        machine = folder / "course" / "processes" / "surroundings" / "machine.py"
        machine.parent.mkdir(parents=True)
        shutil.copy(ROOT / machine.relative_to(folder), machine)
        shutil.copytree(ROOT / "course" / "homes", folder / "course" / "homes")
        shutil.copy(ROOT / "course" / "files.py", folder / "course")
        for name in PACKING:
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        (folder / "tests").mkdir()
        shutil.copy(ROOT / "tests" / "run.py", folder / "tests")
        (folder / "pyproject.toml").write_text(PYPROJECT)
        (folder / "backend.py").write_text(BACKEND)
        if not self.programs.exists():
            self.programs.mkdir()
            for program in PROGRAMS:
                (self.programs / program).symlink_to(shutil.which(program))
            self.add_program("python3", f'exec {sys._base_executable} "$@"')
            self.add_program("dpkg-query", "exit 0")  # all Debian packages are there
            (tmp_path / "index").mkdir()
            write_index(tmp_path / "index")

    def add_program(self, name: str, script: str) -> None:
        """Put a program on this machine's PATH."""
        path = self.programs / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def start(self, *arguments: str, umask: int = -1, **environment: str) -> subprocess.Popen:
        """Start `./lockstep` on a machine that has PROGRAMS, the small index, and no network."""
        plain = {
            "PATH": str(self.programs),
            "HOME": str(self.tmp_path / "home"),
            "XDG_CACHE_HOME": str(self.tmp_path / "cache"),
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
            umask=umask,
        )

    def run(self, *arguments: str, umask: int = -1, **environment: str) -> tuple[int, str]:
        """Run `./lockstep`: its exit status, and what it said."""
        process = self.start(*arguments, umask=umask, **environment)
        output, _ = process.communicate(timeout=PATIENCE)
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


def wait_for(condition: Callable[[], object], seconds: float = 240, log: Path | None = None) -> None:
    """Return when `condition` holds. Raises AssertionError after `seconds`, with the end of `log`."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, log.read_text()[-5000:] if log else "waited in vain"
        time.sleep(0.05)


def ended(process: psutil.Process) -> bool:
    """Whether a process ended, also where nobody has waited for it: process 1 of many containers does not."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
