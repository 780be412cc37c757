"""Installs Horovod: compiled once per torch, MPI and Python, and cached as a wheel for all clones of this account."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autograde.install.environment import find_compiler
from autograde.install.kit import CommandFailed, Kit, wait_for_lock

# https://horovod.readthedocs.io/en/stable/install_include.html#environment-variables
BUILD = {
    "HOROVOD_WITH_PYTORCH": "1",
    "HOROVOD_WITHOUT_TENSORFLOW": "1",
    "HOROVOD_WITHOUT_MXNET": "1",
    "HOROVOD_WITH_MPI": "1",
    "HOROVOD_WITH_GLOO": "1",
    # The wheel outlives the .venv that it is built in: it must find the MPI and torch of the .venv it is installed in.
    "LDFLAGS": "-Wl,-rpath,$ORIGIN/../../../..:$ORIGIN/../../torch/lib",
    # cmake 4 refuses its CMakeLists.txt else.
    "CMAKE_POLICY_VERSION_MINIMUM": "3.5",
    # Horovod uses these without including them, which GCC 13 and later no longer forgive.
    "CXXFLAGS": "-include cstdint -include stdexcept -include string",
}

# File, text, and its replacement. torch >= 2.1 needs C++17 (Horovod's pull request 3998, never released). Python 3.12
# and later have no distutils. GCC 14 and later refuse an assignment to a constant, also in a template that nobody uses.
FIXES = [
    ("CMakeLists.txt", "CMAKE_CXX_STANDARD 14", "CMAKE_CXX_STANDARD 17"),
    (
        "horovod/runner/js_run.py",
        "from distutils.spawn import find_executable",
        "from shutil import which as find_executable",
    ),
    (
        "third_party/flatbuffers/include/flatbuffers/stl_emulation.h",
        "const size_type count_;",
        "size_type count_;",
    ),
]
# Even with a torch built for CUDA, Horovod must not need the CUDA toolkit, unless it is built for GPUs.
CPU_FIX = (
    "cmake/Modules/FindPytorch.cmake",
    'string(TOUPPER "${Pytorch_CUDA}" Pytorch_CUDA)',
    "set(Pytorch_CUDA FALSE)",
)
# The headers of CUDA 13 need C++17, too.
GPU_FIX = ("horovod/common/ops/cuda/CMakeLists.txt", "CMAKE_CUDA_STANDARD 11", "CMAKE_CUDA_STANDARD 17")


def what_it_fits(kit: Kit, horovod: str) -> tuple[str, str]:
    """What a build made now works with, torch (CPU or CUDA), MPI and Python: in words, and as a folder's name."""
    mpiexec = kit.venv / "bin" / "mpiexec" if kit.mpi == "wheel" else Path(kit.mpi).with_name("mpiexec")
    version = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, env=kit.environment, check=True)
    mpi = version.stdout.strip().partition("\n")[0]
    (torch,) = re.findall(r"^__version__ = '(.*)'", (kit.torch / "version.py").read_text(), re.MULTILINE)
    places = [] if kit.mpi == "wheel" else [kit.mpi]
    places += [str(kit.torch)] if kit.wheels else []
    place = hashlib.sha256("".join(places).encode()).hexdigest()[:8] if places else ""
    parts = [horovod, "torch", torch, mpi, place, "python", platform.python_version(), platform.machine()]
    return f"torch {torch}, {mpi}", re.sub(r"[^\w.+]+", "-", "-".join(filter(None, parts)))


def fix_for_torch(kit: Kit) -> tuple[str, str, str]:
    """The standard of C++ that torch's headers ask for: 17, and from torch 2.14 on 20. Like one of FIXES."""
    header = kit.torch / "include" / "ATen" / "ATen.h"
    standard = 20 if header.exists() and "C++20" in header.read_text() else 17
    return "horovod/torch/CMakeLists.txt", "CMAKE_CXX_STANDARD 14", f"CMAKE_CXX_STANDARD {standard}"


def build(kit: Kit, horovod: str, folder: Path, gpu: dict[str, str] | None = None) -> None:
    """Build the wheel of release `horovod`. It appears in `folder` when it is complete.

    gpu: from `gpu_settings`, to build it for GPUs.
    """
    settings = BUILD | (gpu or {})
    if kit.wheels:
        settings["LDFLAGS"] += f":{kit.torch / 'lib'}"
    work = kit.state / "build"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    if not kit.wheels:  # else they are installed, and cmake is that of the machine
        kit.pip("install", *kit.project["project"]["optional-dependencies"]["horovod-build"])
    options = ["--no-deps", "--no-build-isolation"]
    kit.pip("download", *options, "--no-binary", "horovod", "-d", work, f"horovod=={horovod}", **settings)
    (sdist,) = work.glob("horovod-*.tar.gz")
    kit.run("tar", "-xf", sdist, "-C", work)
    tree = work / f"horovod-{horovod}"
    for name, before, after in [*FIXES, fix_for_torch(kit), GPU_FIX if gpu else CPU_FIX]:
        text = (tree / name).read_text()
        if before not in text:
            raise CommandFailed(f"error: {name} of Horovod {horovod} is not as it was: no {before}")
        (tree / name).write_text(text.replace(before, after))
    # -v: the log gets what make says of its progress.
    kit.pip("wheel", "-v", *options, "-w", work, tree, **settings)
    (wheel,) = work.glob("horovod-*.whl")
    partial = folder / f"{wheel.name}.{os.getpid()}"
    shutil.copyfile(wheel, partial)
    partial.rename(folder / wheel.name)
    shutil.rmtree(work)


@contextmanager
def alone_in(folder: Path, clone: Path, what: str) -> Iterator[None]:
    """Have a folder of the cache to oneself. Who has to wait for another clone is told which, and what else to do."""
    with (folder / "lock").open("a+") as lock:

        def meanwhile() -> str:
            lock.seek(0)
            since = time.strftime("%H:%M", time.localtime(os.fstat(lock.fileno()).st_mtime))
            return (
                f"{lock.read().strip() or 'another clone'} has been compiling {what} since {since}; waiting for its "
                "wheel (3 min on a quiet machine, more on a busy one). To compile your own instead, press Ctrl-C and "
                f"put this before your command: XDG_CACHE_HOME={shlex.quote(str(clone / '.lockstep' / 'cache'))}"
            )

        wait_for_lock(lock.fileno(), meanwhile)
        lock.truncate(0)
        lock.write(f"process {os.getpid()} of {platform.node()}, which sets up {clone},\n")
        lock.flush()
        yield


def is_compiled(kit: Kit, horovod: str) -> bool:
    """Whether the cache of wheels has the one that `install_horovod` would install."""
    return bool(list((kit.cache / what_it_fits(kit, horovod)[1]).glob("horovod-*.whl")))


def install_horovod(kit: Kit, horovod: str, gpu: dict[str, str] | None = None) -> None:
    """Install release `horovod` from the cache of wheels; build it first if it is missing. gpu: as in `build`."""
    fits, name = what_it_fits(kit, horovod)
    folder = kit.cache / (f"{name}-nccl" if gpu else name)
    fits += " and GPUs" if gpu else ""
    folder.mkdir(parents=True, exist_ok=True)
    with alone_in(folder, kit.root, f"Horovod {horovod}"):
        if not list(folder.glob("horovod-*.whl")):
            find_compiler(kit)
            with kit.step(f"compiling Horovod {horovod} for {fits} (3 min, once: the wheel is kept in {folder})"):
                build(kit, horovod, folder, gpu)
    with kit.step(f"installing Horovod {horovod} for {fits}"):
        (wheel,) = folder.glob("horovod-*.whl")
        # Every time: the version does not tell which torch and MPI the installed one was built for.
        kit.pip("install", "--no-deps", "--force-reinstall", wheel)
