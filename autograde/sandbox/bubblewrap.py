"""Command lines of bubblewrap, which decide what student code can see of this machine. See bwrap(1).

There are two sandboxes, one inside the other. The outer one holds the fork server and lists what is visible, all of it
read-only: no home, no gradebook, no other submission, and of the repository only what probes import. The inner one is
new for each submission and adds what is private to it: process, IPC, network, host name and user namespaces, and two
folders in memory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from glob import glob
from pathlib import Path

from autograde.labs.places import REPOSITORY
from autograde.sandbox.needed_modules import modules_needed
from autograde.sandbox.resources.limits import Limits
from course.processes.launchers import mpi
from course.processes.surroundings import machine

MEND = "Install it: `sudo apt install bubblewrap`. Or grade without it, as yourself: `--no-sandbox`."
NOT_ALLOWED = (
    "bubblewrap is installed, but cannot make a sandbox: {said}. It may be older than 0.8, which `bwrap --version` "
    "tells. User namespaces may be switched off (sysctl kernel.unprivileged_userns_clone, user.max_user_namespaces, "
    "kernel.apparmor_restrict_unprivileged_userns), or this is a container that may make none. Or grade without it, as "
    "yourself: `--no-sandbox`."
)

REQUIRED = "LOCKSTEP_SANDBOX_REQUIRED"  # environment variable: a hub's, whose instructors share an account

# All that is visible of /etc: what programs need to start and to know the time. No accounts, no keys.
ETC = (
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "nsswitch.conf",
    "openmpi",
    "OpenCL",
    "pmix",
    "prte",
    "timezone",
)
OWN_ETC = {
    "passwd": "student:x:1000:1000::/tmp/work:/bin/sh\n",
    "group": "student:x:1000:\n",
    "hosts": "127.0.0.1 localhost sandbox\n",
}

# Settings of the whole machine in /proc, which belong to root. bubblewrap makes them read-only only if it notices that
# they are writable, as they are if root grades. Here they always are read-only.
MACHINE = ("acpi", "bus", "driver", "fs", "irq", "mtrr", "pressure", "scsi", "sys", "sysrq-trigger")

# Environment variables passed on: those needed to find and start Python, MPI and GPUs. Nothing secret.
PASSED_ON = ("CONDA_PREFIX", "LANG", "LD_LIBRARY_PATH", "PATH", "TZ", "VIRTUAL_ENV")
PREFIXES = (
    "CUDA_",
    "GLOO_",
    "HOROVOD_",
    "LC_",
    "MKL_",
    "NCCL_",
    "NVIDIA_",
    "OMP_",
    "OMPI_",
    "OPAL_",
    "PRTE_",
)


class SandboxRefused(Exception):
    """No sandbox can be made on this machine. Says why, and what to install."""


def environment() -> dict[str, str]:
    """Environment variables for student code, without those of its folders."""
    kept = {name: value for name, value in os.environ.items() if name in PASSED_ON or name.startswith(PREFIXES)}
    own = {"PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**kept, **own, machine.CORES: str(machine.cores())}


def outer(visible: list[Path], etc: Iterable[str] = ()) -> list[str]:
    """The command of the fork server's sandbox. visible: from `visible_paths`. etc: from `own_etc`."""
    return [
        bwrap(),
        *("--unshare-ipc", "--unshare-net", "--unshare-uts", "--cap-drop", "ALL"),
        # Student code never runs as root: supervisors started by root switch to an account without rights.
        *(("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID") if os.getuid() == 0 else ("--unshare-user",)),
        *("--die-with-parent", "--new-session"),
        *system(),
        *("--dev", "/dev", *gpus(), "--tmpfs", "/tmp"),
        *read_only(visible),
        *etc,
        # No process namespace here: below a /proc that is partly covered, the inner sandbox could not mount its own.
        *("--bind", "/proc", "/proc"),
        *("--remount-ro", "/", "--chdir", "/"),
    ]


def inner(visible: list[Path], limits: Limits) -> list[str]:
    """The command of one submission's sandbox, to be started in the outer one. visible: from `visible_paths`."""
    covered = [path for path in visible if path.is_relative_to("/tmp")]
    return [
        bwrap(),
        *("--unshare-all", "--unshare-user", "--disable-userns"),
        *("--uid", "1000", "--gid", "1000", "--cap-drop", "ALL", "--hostname", "sandbox"),
        *("--die-with-parent", "--new-session"),
        *("--ro-bind", "/", "/", "--dev", "/dev", *gpus(), "--proc", "/proc"),
        *(word for name in MACHINE for word in ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")),
        *("--size", str(limits.disk), "--tmpfs", "/tmp", "--size", str(limits.disk), "--tmpfs", "/dev/shm"),
        *read_only(covered),
        *("--remount-ro", "/dev", "--chdir", "/"),
    ]


def bwrap() -> str:
    """The path of bubblewrap. Raises SandboxRefused."""
    found = shutil.which("bwrap")
    if found is None:
        raise SandboxRefused(f"Student code runs in a sandbox, and bubblewrap is not installed. {MEND}")
    return found


def system() -> list[str]:
    """Arguments that show the system's programs and libraries, and what they need of /etc."""
    arguments = []
    for name in ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            arguments += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            arguments += ["--ro-bind", str(path), str(path)]
    arguments += ["--dir", "/etc"]  # or bubblewrap would create it for its own account alone
    for name in ETC:
        arguments += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return arguments


def visible_paths(checks: Mapping[str, str]) -> list[Path]:
    """What is visible besides the system: Python, its packages, MPI, `course`, and the modules of `autograde` that the
    probes and the fork server import.

    checks: files by path, from `beside_students`. Raises SandboxRefused.
    """
    libraries = filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep))
    system_mpi = Path(mpi.mpiexec()).resolve().parents[1]
    prefixes = [
        Path(sys.base_prefix),
        Path(sys.prefix),
        system_mpi,
        Path(bwrap()).resolve().parent,
        *map(Path, libraries),
        # Of the Python whose torch .venv sees, see autograde/install/wheels.py.
        *(Path(path) for path in sys.path if Path(path).name in ("site-packages", "dist-packages")),
    ]
    needed = [REPOSITORY / "course", *modules_needed(checks.values(), "autograde.sandbox.fork_server"), *prefixes]
    existing = {form for path in needed if path.exists() for form in (path, path.resolve())}
    return sorted(path for path in existing if not path.is_relative_to("/usr") and path != Path("/"))


def read_only(paths: Iterable[Path]) -> list[str]:
    """Arguments that show these paths, read-only, in folders that everybody may enter."""
    paths = list(paths)
    parents = sorted({parent for path in paths for parent in path.parents} - {Path("/")})
    folders = [word for parent in parents for word in ("--dir", str(parent))]
    return [*folders, *(word for path in paths for word in ("--ro-bind", str(path), str(path)))]


def own_etc() -> tuple[list[str], list[int]]:
    """Arguments that put files of our own into /etc, and the file descriptors that they name."""
    words, fds = [], []
    for name, text in OWN_ETC.items():
        fds.append(os.memfd_create(name))
        os.write(fds[-1], text.encode())
        os.lseek(fds[-1], 0, os.SEEK_SET)
        words += ["--perms", "0644", "--ro-bind-data", str(fds[-1]), f"/etc/{name}"]
    return words, fds


def gpus() -> list[str]:
    """Arguments that give access to this machine's GPUs."""
    devices = sorted(glob("/dev/nvidia*"))
    binds = [word for device in devices for word in ("--dev-bind-try", device, device)]
    return [*binds, "--ro-bind-try", "/sys", "/sys"] if devices else []


def in_both(checks: Mapping[str, str], limits: Limits, etc: Iterable[str] = ()) -> list[str]:
    """The prefix of a command that runs in both sandboxes, without a fork server."""
    visible = visible_paths(checks)
    return [*outer(visible, etc), sys.executable, "-P", "-m", "autograde.sandbox.confine", *inner(visible, limits)]


def trial_command() -> list[str]:
    """A command that starts Python in both sandboxes and does nothing there. Raises SandboxRefused."""
    return [*in_both({}, Limits()), sys.executable, "-S", "-c", ""]


def refusal() -> str | None:
    """Try to make a sandbox. Returns why that fails, or None."""
    try:
        trial = subprocess.run(
            trial_command(), capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment(), cwd="/"
        )
    except (SandboxRefused, mpi.MissingMPI) as error:
        return str(error)
    if trial.returncode == 0:
        return None
    return NOT_ALLOWED.format(said=" ".join(trial.stderr.split())[-300:] or f"status {trial.returncode}")


def required() -> str | None:
    """Why student code may not run without a sandbox here, or None."""
    if os.environ.get(REQUIRED):
        return "Student code runs in a sandbox only: this account has the work and the marks of the whole class"
    return None
