"""The command lines of bubblewrap: what student code can see of this machine. See bwrap(1).

Two sandboxes, one in the other. The outer one, of the zygote, is the view: a list of what is there, all of it
read-only; no home, no repository but what probes import, no gradebook, no other submission. The inner one, a fresh one
for each submission, adds what is private to it: process, IPC, network, host name and user namespaces, and two folders
in memory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from glob import glob
from pathlib import Path

from autograde.limits import Limits
from autograde.probe_only import modules_needed
from course import launch

REPOSITORY = Path(__file__).resolve().parents[1]
MEND = "Install it: `sudo apt install bubblewrap`. Or grade without it, as yourself: `--no-sandbox`."
NOT_ALLOWED = (
    "bubblewrap is installed, but cannot make a sandbox: {said}. User namespaces may be switched off (sysctl "
    "kernel.unprivileged_userns_clone, user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns), or "
    "this is a container that may make none. Or grade without it, as yourself: `--no-sandbox`."
)

# Of /etc only what programs need to start, and to know the time: no accounts, no keys.
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

# Settings of the whole machine in /proc, which belong to root: bubblewrap covers them only where it notices that they
# can be written, and root who grades could. Here they are always covered.
MACHINE = ("acpi", "bus", "driver", "fs", "irq", "mtrr", "pressure", "scsi", "sys", "sysrq-trigger")

# What is passed on of our environment: what finding and starting Python, MPI and GPUs takes, and nothing secret.
PASSED_ON = ("CONDA_PREFIX", "LANG", "LD_LIBRARY_PATH", "PATH", "TZ", "VIRTUAL_ENV")
PASSED_ON_FROM = (
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
    """There can be no sandbox on this machine. Says why, and what to install."""


def environment() -> dict[str, str]:
    """The environment of student code, but for its folders."""
    kept = {name: value for name, value in os.environ.items() if name in PASSED_ON or name.startswith(PASSED_ON_FROM)}
    return {**kept, "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def outer(seen: list[Path], etc: Iterable[str] = ()) -> list[str]:
    """The sandbox of the zygote. seen: of `paths`. etc: of `own_etc`."""
    return [
        bwrap(),
        *("--unshare-ipc", "--unshare-net", "--unshare-uts", "--cap-drop", "ALL"),
        # Root does not run student code: the zygote's keepers become somebody without any rights. Others have none.
        *(("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID") if os.getuid() == 0 else ("--unshare-user",)),
        *("--die-with-parent", "--new-session"),
        *system(),
        *("--dev", "/dev", *gpus(), "--tmpfs", "/tmp"),
        *shown(seen),
        *etc,
        # Not a process namespace of its own: below a /proc with covered parts, no further /proc can be mounted.
        *("--bind", "/proc", "/proc"),
        *("--remount-ro", "/", "--chdir", "/"),
    ]


def inner(seen: list[Path], limits: Limits) -> list[str]:
    """The sandbox of one submission, to be started in the outer one. seen: of `paths`."""
    covered = [path for path in seen if path.is_relative_to("/tmp")]
    return [
        bwrap(),
        *("--unshare-all", "--unshare-user", "--disable-userns"),
        *("--uid", "1000", "--gid", "1000", "--cap-drop", "ALL", "--hostname", "sandbox"),
        *("--die-with-parent", "--new-session"),
        *("--ro-bind", "/", "/", "--dev", "/dev", *gpus(), "--proc", "/proc"),
        *(word for name in MACHINE for word in ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")),
        *("--size", str(limits.disk), "--tmpfs", "/tmp", "--size", str(limits.disk), "--tmpfs", "/dev/shm"),
        *shown(covered),
        *("--remount-ro", "/dev", "--chdir", "/"),
    ]


def bwrap() -> str:
    """Path of bubblewrap. Raises SandboxRefused."""
    found = shutil.which("bwrap")
    if found is None:
        raise SandboxRefused(f"Student code runs in a sandbox, and bubblewrap is not installed. {MEND}")
    return found


def system() -> list[str]:
    """The system's programs and libraries, and what of /etc they need."""
    found = []
    for name in ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            found += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            found += ["--ro-bind", str(path), str(path)]
    found += ["--dir", "/etc"]  # else bubblewrap makes it for its own account alone
    for name in ETC:
        found += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return found


def paths(checks: str) -> list[Path]:
    """What is shown besides the system: Python, its packages, MPI, `course`, and the modules of `autograde` that probes
    and their surroundings import. checks: the text of the lab's checks, cut down to probes. Raises SandboxRefused."""
    libraries = filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep))
    mpi = Path(launch.mpiexec()).resolve().parents[1]
    prefixes = [Path(sys.base_prefix), Path(sys.prefix), mpi, Path(bwrap()).resolve().parent, *map(Path, libraries)]
    needed = [REPOSITORY / "course", *modules_needed(checks, "autograde.zygote"), *prefixes]
    there = {form for path in needed if path.exists() for form in (path, path.resolve())}
    return sorted(path for path in there if not path.is_relative_to("/usr") and path != Path("/"))


def shown(paths: Iterable[Path]) -> list[str]:
    """Arguments that show these, read-only, where they are, below folders that everybody may pass."""
    paths = list(paths)
    above = sorted({parent for path in paths for parent in path.parents} - {Path("/")})
    made = [word for parent in above for word in ("--dir", str(parent))]
    return [*made, *(word for path in paths for word in ("--ro-bind", str(path), str(path)))]


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
    """Arguments that give GPUs, if there are any."""
    devices = sorted(glob("/dev/nvidia*"))
    shown = [word for device in devices for word in ("--dev-bind-try", device, device)]
    return [*shown, "--ro-bind-try", "/sys", "/sys"] if devices else []


def both(checks: str, limits: Limits, etc: Iterable[str] = ()) -> list[str]:
    """What goes before a command that is to be started in both sandboxes, at once and without a zygote."""
    seen = paths(checks)
    return [*outer(seen, etc), sys.executable, "-P", "-m", "autograde.jail", *inner(seen, limits)]


def trial() -> list[str]:
    """A command that starts Python in both sandboxes, and does nothing there. Raises SandboxRefused."""
    return [*both("", Limits()), sys.executable, "-S", "-c", ""]


def refusal() -> str | None:
    """Why there can be no sandbox here, if so. It tries."""
    try:
        tried = subprocess.run(
            trial(), capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment(), cwd="/"
        )
    except (SandboxRefused, launch.MissingMPI) as error:
        return str(error)
    if tried.returncode == 0:
        return None
    return NOT_ALLOWED.format(said=" ".join(tried.stderr.split())[-300:] or f"status {tried.returncode}")
