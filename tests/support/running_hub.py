"""A real JupyterHub for tests, started as `./lockstep hub` does, with accounts that it makes and that go afterwards."""

from __future__ import annotations

import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from unix_accounts import REPOSITORY, Account, with_python


class Hub:
    """A hub on this machine, its folder, and its people, whose names are made longer so that none exists already.

    courses: instructors and students by course. options: of `./lockstep hub`. certificate: of a hub that has one. path:
    below which the hub is, as its options say.
    """

    def __init__(
        self,
        folder: Path,
        courses: Mapping[str, tuple[list[str], list[str]]],
        *options: str,
        certificate: Path | None = None,
        path: str = "",
    ) -> None:
        self.folder, self.options, self.certificate = folder, options, certificate
        self.port = free_ports(len(courses))
        self.tag = f"-{self.port}"
        self.url = f"http{'s' if certificate else ''}://127.0.0.1:{self.port}{path}"
        self.courses = {self.name(course): people for course, people in courses.items()}
        self.log = folder.with_name(f"{folder.name}.log")
        self.process: subprocess.Popen | None = None
        folder.mkdir()
        self.enrol(courses)

    def name(self, short: str) -> str:
        """The real name of a person or a course."""
        return f"{short}{self.tag}"

    def enrol(self, courses: Mapping[str, tuple[list[str], list[str]]]) -> None:
        """Write courses.toml."""
        lines = []
        for course, people in courses.items():
            lines.append(f"[{self.name(course)}]")
            for kind, names in zip(("instructors", "students"), people, strict=True):
                lines.append(f"{kind} = {json.dumps([self.name(name) for name in names])}")
        (self.folder / "courses.toml").write_text("\n".join(lines) + "\n")

    def choose(self, course: str, **choice: list[str]) -> None:
        """Let a course choose: `labs`, `labs_folders`, as courses.toml has them."""
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in choice.items())
        file, head = self.folder / "courses.toml", f"[{self.name(course)}]\n"
        file.write_text(file.read_text().replace(head, head + lines))

    def start(self) -> None:
        """Start it, and return when it answers."""
        command = [*with_python(), sys.executable, "-m", "course.jupyterhub", "--folder", str(self.folder)]
        command += ["--port", str(self.port), "--create-accounts", *self.options]
        known = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(REPOSITORY)}
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | known, cwd=REPOSITORY
            )
        end = time.monotonic() + 1800
        while not self.answers():
            assert self.process.poll() is None and time.monotonic() < end, self.log.read_text()[-5000:]
            time.sleep(0.2)

    def answers(self) -> bool:
        """Whether the hub and the formgraders can be reached."""
        trusted = ssl.create_default_context(cafile=self.certificate) if self.certificate else None
        try:
            for path in ("hub/health", *(f"services/{course}/api" for course in self.courses)):
                urlopen(Request(f"{self.url}/{path}"), timeout=60, context=trusted).close()
        except (URLError, HTTPException, OSError):
            return False
        return True

    def end(self, how: int = signal.SIGTERM) -> None:
        """End the hub; people's servers go on."""
        pid = int(next(self.running("jupyterhub", "-f")))
        os.kill(pid, how)
        self.process.wait(240)

    def running(self, *words: str, uid: int | None = None) -> Iterator[str]:
        """Process ids of what has all these words on its command line, and belongs to this hub (and to an account)."""
        for process in Path("/proc").glob("[0-9]*"):
            try:
                line = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
                told = (process / "environ").read_bytes().split(b"\0")
                own = f"LOCKSTEP_HUB={self.folder}".encode() in told if uid is None else process.stat().st_uid == uid
            except OSError:
                continue
            if own and all(any(word in one for one in line) for word in words):
                yield process.name

    def password(self, person: str) -> str:
        """The password that a person got."""
        known = dict(line.split() for line in (self.folder / "private" / "passwords").read_text().splitlines())
        return known[self.name(person)]

    def course(self, course: str) -> Path:
        """Folder of a course."""
        return self.folder / "courses" / self.name(course)

    @property
    def own_labs(self) -> Path:
        """A folder for labs that are an instructor's own, which all can read."""
        return self.folder.with_name("own") / "solutions"

    def exchange(self, course: str) -> Path:
        """A course's part of the exchange."""
        return self.folder / "exchange" / self.name(course)

    def home(self, person: str) -> Path:
        """A person's home."""
        return Account(self.name(person)).home

    def run_as(self, person: str, *words: object, **more: object) -> subprocess.CompletedProcess[str]:
        """Run a command as this person's account, in its home, whatever comes of it; `more` is environment."""
        return Account(self.name(person)).run(*words, **more)

    def remove(self) -> None:
        """End everything that runs, and remove accounts and homes."""
        if self.process is not None and self.process.poll() is None:
            with suppress(subprocess.TimeoutExpired, StopIteration):
                self.end()
            for pid in self.running(""):
                os.kill(int(pid), signal.SIGKILL)
        accounts = [entry for entry in pwd.getpwall() if entry.pw_name.endswith(self.tag)]
        uids = {entry.pw_uid for entry in accounts}
        kill_all_of(uids, spared="course/processes/reaper.py")  # which then removes the worlds' folders
        end = time.monotonic() + 120
        while list(processes_of(uids)) and time.monotonic() < end:
            time.sleep(0.05)
        kill_all_of(uids)
        for entry in accounts:
            shutil.rmtree(state_folder(entry.pw_uid), ignore_errors=True)
            subprocess.run(["userdel", "--remove", "--force", entry.pw_name], capture_output=True)


def state_folder(uid: int) -> Path:
    """Where an account's servers write what is not for the home."""
    return Path("/tmp", f"lockstep-{uid}")


def processes_of(uids: set[int]) -> Iterator[Path]:
    """Folders in /proc of what these accounts run."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if process.stat().st_uid in uids and (process / "cmdline").read_bytes():
                yield process


def kill_all_of(uids: set[int], spared: str | None = None) -> None:
    """Kill what these accounts run, but for what has `spared` on its command line."""
    for process in processes_of(uids):
        with suppress(OSError):
            if spared is None or spared not in (process / "cmdline").read_text(errors="replace"):
                os.kill(int(process.name), signal.SIGKILL)


@contextmanager
def running_hub(
    courses: Mapping[str, tuple[list[str], list[str]]],
    *options: str,
    certificate: Path | None = None,
    path: str = "",
    prepare: Callable[[Hub], None] = lambda hub: None,
) -> Iterator[Hub]:
    """A hub with these courses that runs, in a folder that all may enter. All is gone at the end.

    prepare: is called before it is started.
    """
    folder = Path(tempfile.mkdtemp(prefix="hub-"))
    folder.chmod(0o711)
    modes = {path: path.stat().st_mode for path in (REPOSITORY, *REPOSITORY.iterdir()) if not path.is_symlink()}
    hub = Hub(folder / "hub", courses, *options, certificate=certificate, path=path)
    try:
        prepare(hub)
        hub.start()
        yield hub
    finally:
        hub.remove()
        shutil.rmtree(folder)
        for path, mode in modes.items():
            with suppress(FileNotFoundError):  # another test's, which has ended meanwhile
                path.chmod(mode & 0o7777)


def free_ports(courses: int) -> int:
    """A port for a hub, such that those which it takes beside are free, too.

    Below those that Linux gives to connections: else who asks whether the hub answers may connect to itself.
    """
    while True:
        port = 20_000 + secrets.randbelow(11_000)
        try:
            for one in (port, port + 1, port + 81, *range(port + 1000, port + 1000 + courses)):
                with socket.socket() as trial:
                    trial.bind(("127.0.0.1", one))
        except OSError:
            continue
        return port
