"""Finds out what works on this machine: `./lockstep doctor`.

Each probe tries the real thing, in a process of its own: an MPI may be found but not start, and a library may be
installed but not load.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version

from autograde.asking import Answer, ask, last_line
from autograde.doctor_world import Probe, surroundings, world_command
from autograde.sandbox import bubblewrap
from course.processes.launchers.mpi import MissingMPI, mpi_environment, mpiexec
from course.processes.surroundings.environment import MACHINE, taken

SETUP = "./lockstep setup"
ANEW = "rm -rf .venv && ./lockstep setup"
NO_GPU_NEEDED = "nothing to mend: the labs run on the CPU, with gloo"

# Runs on two ranks. Only rank 0 prints, in one write, as mpiexec mixes the output of several. If mpiexec and mpi4py
# belong to different MPIs, they silently make two worlds of one rank, and both print.
ALLREDUCE = """
import sys
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(world.rank + 1)
if world.rank == 0:
    sys.stdout.write(f"{world.size} {total}\\n")
"""
HOROVOD_ALLREDUCE = """
import sys, torch, horovod.torch as hvd
hvd.init()
total = hvd.allreduce(torch.tensor([hvd.rank() + 1.0]), op=hvd.Sum)
if hvd.rank() == 0:
    sys.stdout.write(f"{hvd.size()} {int(total)} {hvd.mpi_built()} {hvd.gloo_built()} {hvd.nccl_built() > 0}\\n")
    sys.stdout.flush()
hvd.shutdown()
"""
TORCH_FACTS = """
import json, torch, torch.distributed as dist
gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
nccl = ".".join(map(str, torch.cuda.nccl.version())) if dist.is_nccl_available() else None
print(json.dumps({"version": torch.__version__, "cuda": torch.version.cuda, "gpus": gpus, "nccl": nccl}))
"""


def ask_python(code: str, deadline: float = 60) -> Answer:
    """What `code` prints under this Python."""
    return ask([sys.executable, "-P", "-c", code], deadline)


def ask_ranks(code: str, deadline: float = 60) -> Answer:
    """What `code` prints on two MPI ranks. Raises MissingMPI."""
    try:
        memory = tempfile.mkdtemp(prefix="lockstep-")  # killed ranks leave files there
    except OSError as error:
        return Answer(problem=f"no folder for temporary files: {error.strerror or error}")
    try:
        environment = taken(os.environ, MACHINE) | mpi_environment(2, memory)
        return ask([mpiexec(), "-n", "2", sys.executable, "-P", "-c", code], deadline, environment)
    finally:
        shutil.rmtree(memory, ignore_errors=True)


def probe_python() -> Probe:
    """Which Python this is."""
    works = "yes" if (3, 11) <= sys.version_info < (3, 14) else "no"
    return Probe("Python", works, f"{platform.python_version()}, {sys.executable}", SETUP, needed=True)


def probe_mpi() -> Probe:
    """Whether there is an mpiexec, and which."""
    try:
        path = mpiexec()
    except MissingMPI as error:
        return Probe("MPI", "no", str(error), SETUP, needed=True)
    answer = ask([path, "--version"], 20)
    seen = f"{answer.problem or answer.output.strip().partition(chr(10))[0]}, {path}"
    if (first := shutil.which("mpiexec")) and not os.path.samefile(first, path):
        seen += f"; {first} is first on PATH, and is not used"
    return Probe("MPI", "no" if answer.problem else "yes", seen, ANEW, needed=True)


def probe_ranks() -> Probe:
    """Whether two ranks start and communicate."""
    try:
        answer = ask_ranks(ALLREDUCE)
    except MissingMPI:
        return Probe("ranks", "no", "there is no mpiexec", SETUP, needed=True)
    lines = set(answer.output.split("\n")) - {""}
    if lines == {"2 3"} and not answer.problem:
        return Probe("ranks", "yes", f"2 ranks met in an allreduce, mpi4py {version('mpi4py')}", needed=True)
    if lines == {"1 1"}:
        seen = "each rank is alone: mpiexec and mpi4py belong to different MPI libraries"
        return Probe("ranks", "no", seen, ANEW, needed=True)
    return Probe("ranks", "no", answer.problem or f"wrong sum: {sorted(lines)}", ANEW, needed=True)


def probe_world() -> Probe:
    """Whether a world starts in this folder and environment. What it says if it does not is what a notebook says."""
    answer = ask(world_command(), 240)
    if not answer.problem:
        return Probe("world", "yes", f"{last_line(answer.output)}", needed=True)
    said = [line for line in answer.errors.splitlines() if line.strip() and not line.startswith("To look for")]
    seen = " ".join(said)[:600] or answer.problem
    return Probe("world", "no", seen, "mend what does not work above, and call the doctor again", needed=True)


def probe_torch() -> list[Probe]:
    """torch, the GPUs that it sees, and NCCL."""
    answer = ask_python(TORCH_FACTS)
    if answer.problem:
        unknown = [Probe(name, "no", "torch does not load", ANEW) for name in ("GPUs", "NCCL")]
        return [Probe("torch", "no", answer.problem, ANEW, needed=True), *unknown]
    facts = json.loads(answer.output.splitlines()[-1])
    return [Probe("torch", "yes", facts["version"], needed=True), judge_gpus(facts), judge_nccl(facts)]


def judge_gpus(facts: dict) -> Probe:
    """The GPUs, from what torch reports. facts: from TORCH_FACTS."""
    if facts["gpus"]:
        return Probe("GPUs", "yes", f"{len(facts['gpus'])}: {', '.join(sorted(set(facts['gpus'])))}")
    driver = ask(["nvidia-smi", "-L"], 20)
    if driver.problem:
        return Probe("GPUs", "no", "none here", NO_GPU_NEEDED)
    if facts["cuda"] is None:
        return Probe("GPUs", "no", "there are some, but this torch was built for the CPU", ANEW)
    seen = f"there are some, but torch, built for CUDA {facts['cuda']}, does not see them"
    return Probe("GPUs", "no", seen, "nvidia-smi (is the driver old? is CUDA_VISIBLE_DEVICES set?)")


def judge_nccl(facts: dict) -> Probe:
    """NCCL, from what torch reports. facts: from TORCH_FACTS."""
    if facts["nccl"] is None:
        mend = ANEW if facts["gpus"] else NO_GPU_NEEDED
        return Probe("NCCL", "no", "this torch was built without it", mend)
    if not facts["gpus"]:
        return Probe("NCCL", "partly", f"{facts['nccl']} is in torch, but there is no GPU for it", NO_GPU_NEEDED)
    return Probe("NCCL", "yes", facts["nccl"])


def probe_horovod() -> Probe:
    """Whether Horovod was built with MPI, and its allreduce works on two ranks."""
    try:
        answer = ask_ranks(HOROVOD_ALLREDUCE, 120)
    except MissingMPI:
        return Probe("Horovod", "no", "there is no mpiexec", SETUP, needed=True)
    if answer.problem:
        return Probe("Horovod", "no", answer.problem, ANEW, needed=True)
    size, total, mpi, gloo, nccl = answer.output.splitlines()[-1].split()
    if (size, total, mpi) != ("2", "3", "True"):
        seen = "built without MPI" if mpi == "False" else f"{size} ranks in its world and not 2, sum {total}"
        return Probe("Horovod", "no", seen, ANEW, needed=True)
    parts = ", ".join(name for name, built in {"MPI": mpi, "gloo": gloo, "NCCL": nccl}.items() if built == "True")
    return Probe("Horovod", "yes", f"{version('horovod')} with {parts}; 2 ranks met in its allreduce", needed=True)


def probe_library(name: str, module: str, programs: Iterable[str], needed: bool) -> Probe:
    """Whether `module` loads, and `programs`, which it runs, are on PATH."""
    answer = ask_python(f"import {module}")
    if answer.problem:
        return Probe(name, "no", answer.problem, SETUP, needed)
    if absent := [program for program in programs if not shutil.which(program)]:
        mend = "run it by ./lockstep, or: source .venv/bin/activate"
        return Probe(name, "partly", f"{version(module)}, but not on PATH: {', '.join(absent)}", mend, needed)
    return Probe(name, "yes", version(module), needed=needed)


def probe_bubblewrap() -> Probe:
    """Whether bubblewrap can make the sandbox in which student code is graded."""
    try:
        answer = ask(bubblewrap.trial_command(), 20)
    except bubblewrap.SandboxRefused:
        return Probe("bubblewrap", "no", "not installed", "sudo apt install bubblewrap")
    except MissingMPI as error:
        return Probe("bubblewrap", "partly", f"not tried: {error}", SETUP)
    if answer.problem:
        mend = "bubblewrap 0.8 or later, and sudo sysctl kernel.unprivileged_userns_clone=1 "
        mend += "(Ubuntu: kernel.apparmor_restrict_unprivileged_userns=0)"
        return Probe("bubblewrap", "no", answer.problem, mend)
    return Probe("bubblewrap", "yes", ask(["bwrap", "--version"], 20).output.strip())


def probe_slurm() -> Probe:
    """Whether a Slurm controller answers, and with how many nodes."""
    if not shutil.which("sinfo"):
        return Probe("Slurm", "no", "no sinfo here", "log in to a cluster, or: sudo apt install slurm-wlm")
    answer = ask(["sinfo", "--noheader", "--Node", "--format=%N %T"], 20)
    if answer.problem:
        return Probe("Slurm", "partly", f"sinfo: {answer.problem}", "sudo systemctl restart slurmctld munge")
    return Probe("Slurm", "yes", f"{len(set(answer.output.splitlines()))} nodes")


def probe_hub() -> Probe:
    """Whether JupyterHub can be started here."""
    proxy = shutil.which("configurable-http-proxy")
    try:
        hub = version("jupyterhub") if importlib.util.find_spec("jupyterhub") else None
    except PackageNotFoundError:
        hub = None
    seen = f"jupyterhub {hub or 'missing'}, configurable-http-proxy {proxy or 'missing'}"
    works = {0: "no", 1: "partly", 2: "yes"}[bool(hub) + bool(proxy)]
    return Probe("hub", works, seen, "" if works == "yes" else f"{SETUP} hub")


def probes() -> Iterator[Probe]:
    """All probes, each as soon as it is done."""
    yield probe_python()
    yield probe_mpi()
    yield from surroundings()
    yield probe_ranks()
    yield from probe_torch()
    yield probe_horovod()
    yield probe_world()
    yield probe_library("ipyparallel", "ipyparallel", [], needed=True)
    yield probe_library("JupyterLab", "jupyterlab", [], needed=True)
    yield probe_library("nbgrader", "nbgrader", ["alembic"], needed=False)
    yield probe_bubblewrap()
    yield probe_slurm()
    yield probe_hub()


def report(found: Iterable[Probe], say: Callable[[str], None]) -> int:
    """Print one line per probe, and below what does not work the command that helps. Returns the exit status."""
    missing = []
    for probe in found:
        say(f"{probe.name:<12} {probe.works:<7} {probe.seen}")
        if probe.works != "yes":
            say(f"{'':<20} -> {probe.mend}")
        if probe.needed and probe.works == "no":
            missing.append(probe.name)
    say(f"\nThe labs do not run here: {', '.join(missing)}." if missing else "\nThe labs run here.")
    return 1 if missing else 0


def main() -> int:
    """Print the table. Returns 0 if what the labs need works, else 1."""
    return report(probes(), lambda line: print(line, flush=True))


if __name__ == "__main__":
    sys.exit(main())
