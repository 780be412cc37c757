"""Horovod on a machine without network: for GPUs if it can be, else for the CPU, else without Horovod."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from autograde.install.causes import SetupFailed
from autograde.install.environment import find_compiler
from autograde.install.horovod import install_horovod
from autograde.install.kit import CommandFailed, Kit


def find_nccl(kit: Kit) -> tuple[Path, Path] | None:
    """The folders of NCCL's header and of its library: those that came with torch, else the system's; None without."""
    own = kit.torch.parent / "nvidia" / "nccl"
    if (own / "include" / "nccl.h").exists():
        return own / "include", own / "lib"
    places = [(Path("/usr/include"), Path("/usr/lib/x86_64-linux-gnu")), (Path("/usr/include"), Path("/usr/lib64"))]
    return next(
        (place for place in places if (place[0] / "nccl.h").exists() and any(place[1].glob("libnccl.so*"))), None
    )


def gpu_settings(kit: Kit) -> dict[str, str] | None:
    """What Horovod's build for GPUs needs in its environment; None where nvcc, NCCL or a GPU is missing."""
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    nccl = find_nccl(kit)
    asked = "import torch; print(torch.cuda.is_available() and '{}{}'.format(*torch.cuda.get_device_capability()))"
    answer = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True).stdout.strip()
    if nvcc is None or nccl is None or not answer.isdigit():
        return None
    header, library = nccl
    links = kit.state / "nccl"  # torch's NCCL has no libnccl.so, for which linkers look
    links.mkdir(exist_ok=True)
    link = links / "libnccl.so"
    link.unlink(missing_ok=True)
    link.symlink_to(sorted(library.glob("libnccl.so*"))[-1])
    return {
        "HOROVOD_GPU": "CUDA",
        "HOROVOD_GPU_OPERATIONS": "NCCL",
        "HOROVOD_CUDA_HOME": str(Path(nvcc).resolve().parents[1]),
        "CUDA_HOME": str(Path(nvcc).resolve().parents[1]),
        "HOROVOD_NCCL_INCLUDE": str(header),
        "HOROVOD_NCCL_LIB": str(links),
        "HOROVOD_NCCL_LINK": "SHARED",
        "HOROVOD_BUILD_CUDA_CC_LIST": answer,
    }


def build_without_network(kit: Kit, horovod: str) -> None:
    """Install Horovod as far as this machine can build it, and say what was left out and why."""
    kit.environment["PATH"] += os.pathsep + str(Path(sys.executable).parent)  # cmake, if it is that Python's
    if not kit.works("cmake", "--version"):
        print("lockstep: Horovod is left out, and with it the labs that use it: there is no cmake, to build it")
        return
    try:
        find_compiler(kit)
    except SetupFailed as failure:
        print(f"lockstep: Horovod is left out, and with it the labs that use it: {failure}")
        return
    gpu = gpu_settings(kit)
    if gpu is None:
        print("lockstep: Horovod is built without GPU operations: nvcc, NCCL or a GPU is missing")
    for settings in [gpu, None] if gpu else [None]:
        try:
            install_horovod(kit, horovod, settings)
            kit.run(kit.python, "-c", "import horovod.torch as hvd; assert hvd.mpi_built()")
            return
        except (SetupFailed, CommandFailed) as failure:
            kit.works(kit.python, "-m", "pip", "uninstall", "-y", "horovod")
            kind = "without GPU operations" if settings is None else "with GPU operations"
            print(f"lockstep: Horovod cannot be built {kind}: {failure}")
    print("lockstep: Horovod is left out, and with it the labs that use it")
