"""The clone that is set up, and running the commands of its steps."""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from autograde.install.causes import explain
from autograde.install.machine.passed_on import passed_on, passed_on_to_pip


class CommandFailed(Exception):
    """A command failed. The argument is its output."""


def wait_for_lock(descriptor: int, meanwhile: Callable[[], str]) -> None:
    """Lock the open file. If another process holds the lock, print what `meanwhile` returns, and wait."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"lockstep: {meanwhile()}", flush=True)
        with seconds_shown():
            fcntl.flock(descriptor, fcntl.LOCK_EX)


class Kit:
    """The clone at `root`.

    mpi: path of the system's mpicxx, or `wheel`.
    lock: an open file descriptor that commands inherit (see `run`).
    wheels: the only folder that pip takes packages from; None: it takes them from its index.
    """

    def __init__(self, root: Path, mpi: str, lock: int, wheels: Path | None = None) -> None:
        self.root, self.mpi, self.lock, self.wheels = root, mpi, lock, wheels
        self.venv = root / ".venv"
        self.python = self.venv / "bin" / "python"
        self.python_name = "python{}.{}".format(*sys.version_info)
        self.packages = self.venv / "lib" / self.python_name / "site-packages"
        self.state = root / ".lockstep"
        self.log = self.state / "setup.log"
        self.debian = self.state / "debian" / "usr"
        self.cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lockstep" / "wheels"
        self.project = tomllib.loads((root / "pyproject.toml").read_text())
        self.log.write_text("")
        self.environment = passed_on(os.environ, mpi) | {
            "PATH": f"{self.venv}/bin:{os.environ['PATH']}:{self.debian}/bin",
            "CPLUS_INCLUDE_PATH": f"{self.debian}/include/{self.python_name}:{self.debian}/include",
            "LC_ALL": "C.UTF-8",  # the patterns of causes are English
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_INPUT": "1",
            **({"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)} if wheels else passed_on_to_pip(os.environ)),
            "PIP_CONFIG_FILE": os.devnull,  # of its files, those settings are taken already
        }

    @property
    def torch(self) -> Path:
        """The folder of the package torch: that of `.venv`, or with `wheels` that of the Python that runs this."""
        if self.wheels and (found := importlib.util.find_spec("torch")) and found.origin:
            return Path(found.origin).parent
        return self.packages / "torch"

    def run(self, *command: str | Path, cwd: Path | None = None, **environment: str) -> None:
        """Run `command` with its output in the log. If interrupted, end its children too.

        Raises CommandFailed, or OSError if it cannot be started.
        """
        begin = self.log.stat().st_size
        with self.log.open("ab") as log:
            log.write(f"\n$ {' '.join(map(str, command))}\n".encode())
            log.flush()
            process = subprocess.Popen(
                list(map(str, command)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=cwd or self.root,
                env=self.environment | environment,
                process_group=0,
                # If we are killed, it keeps the lock, so that the next set-up waits for it to end.
                pass_fds=[self.lock],
            )
            try:
                status = process.wait()
            except BaseException:
                os.killpg(process.pid, signal.SIGINT)  # pip then removes its temporary files
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(10)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                raise
        if status:
            raise CommandFailed(self.log.read_bytes()[begin:].decode(errors="replace"))

    def pip(self, *arguments: str | Path, **environment: str) -> None:
        """Run pip of `.venv`."""
        self.run(self.python, "-m", "pip", *arguments, **environment)

    def prepare_kernels(self) -> None:
        """Have notebooks' kernels look for modules beside the notebook after those of `.venv`."""
        settings = self.venv / "etc" / "ipython"
        settings.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.root / "course" / "jupyterlab" / "ipython_kernel_config.py", settings)

    def works(self, *command: str | Path, cwd: Path | None = None) -> bool:
        """Whether `command` exists and succeeds."""
        try:
            self.run(*command, cwd=cwd)
        except (CommandFailed, OSError):
            return False
        return True

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Print `title`, count the seconds on a terminal, and turn a failure into a SetupFailed with its cause."""
        print(f"lockstep: {title}", flush=True)
        try:
            with seconds_shown():
                yield
        except (CommandFailed, OSError) as error:
            folders = [self.root, self.cache, Path(tempfile.gettempdir())]
            raise explain(f"this step failed: {title}", str(error), folders, self.environment) from error


@contextlib.contextmanager
def seconds_shown() -> Iterator[None]:
    """Count the seconds of this block, where there is a terminal."""
    ended = threading.Event()
    counter = threading.Thread(target=count_seconds, args=[ended], daemon=True)
    if sys.stdout.isatty():
        counter.start()
    try:
        yield
    finally:
        ended.set()
        if counter.is_alive():
            counter.join()


def count_seconds(ended: threading.Event) -> None:
    """Show on the terminal, always in the same place, how long a step has been running."""
    begin = time.monotonic()
    while not ended.wait(1):
        print(f"\r  {time.monotonic() - begin:.0f} s ", end="", flush=True)
    print("\r            \r", end="", flush=True)
