"""Makes the virtual environment, finds what building Horovod needs, and installs torch."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import sysconfig
from pathlib import Path

from autograde.install.causes import AGAIN, SetupFailed
from autograde.install.kit import Kit
from autograde.install.machine.system import how_to_install

# PyPI's Linux build of torch brings 3 GB of CUDA; the PyTorch project keeps the CPU builds in an index of its own.
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def unpack_debian(kit: Kit, package: str) -> bool:
    """Unpack a Debian package below `.lockstep`: unlike installing, that needs no root. Returns whether it worked."""
    folder = kit.debian.parent
    folder.mkdir(exist_ok=True)
    return kit.works("apt-get", "download", package, cwd=folder) and all(
        kit.works("dpkg-deb", "-x", deb, folder) for deb in folder.glob("*.deb")
    )


def find_compiler(kit: Kit) -> None:
    """Check for what building Horovod needs, and add what can be added. Raises SetupFailed if that is not enough."""
    choose_compilers(kit)
    cxx = kit.environment.get("CXX", "c++")
    if not makes_programs(kit, cxx, "cpp"):
        raise SetupFailed(
            "a C++ compiler is needed, to build Horovod",
            f"{cxx} is missing, or does not compile C++17",
            f"{how_to_install('compiler')}, {AGAIN}; or name another one: CXX=... ./lockstep setup",
        )
    source = kit.state / "compiles.cpp"
    compiles = [*cxx.split(), "-fsyntax-only", f"-I{sysconfig.get_path('include')}", source]
    source.write_text("#include <Python.h>\n")
    if not kit.works(*compiles) and not (unpack_debian(kit, f"lib{kit.python_name}-dev") and kit.works(*compiles)):
        raise SetupFailed(
            "Python's headers are needed, to build Horovod",
            f"Python.h is not in {sysconfig.get_path('include')}",
            f"{how_to_install('headers')}, {AGAIN}",
        )
    if not kit.works("make", "--version") and not (unpack_debian(kit, "make") and kit.works("make", "--version")):
        mend = f"{how_to_install('make')}, {AGAIN}"
        raise SetupFailed("make is needed, to build Horovod", "it is not on PATH", mend)


def choose_compilers(kit: Kit) -> None:
    """Take the compilers that CC and CXX name, if they make programs for this machine, else those on PATH."""
    for name, ending in (("CC", "c"), ("CXX", "cpp")):
        named = kit.environment.get(name)
        if named is not None and not makes_programs(kit, named, ending):
            del kit.environment[name]
            print(
                f"lockstep: Horovod is built without {name}={named}, which makes no programs for this machine",
                flush=True,
            )


def makes_programs(kit: Kit, compiler: str, ending: str) -> bool:
    """Whether a compiler, perhaps with options, makes a program that runs here. ending: of its sources, c or cpp."""
    source, program = kit.state / f"compiles.{ending}", kit.state / "compiles"
    source.write_text("#include <string_view>\n" * (ending == "cpp") + "int main(void) { return 0; }\n")
    standard = ["-std=c++17"] * (ending == "cpp")
    return kit.works(*compiler.split(), *standard, source, "-o", program) and kit.works(program)


def venv_is_sound(kit: Kit) -> bool:
    """Whether `.venv` has a working pip of its own: it is complete, and was not moved, as its scripts name its path.

    It also has to be of this Python, as `kit.packages` is where this one looks for packages.
    """
    with contextlib.suppress(OSError):
        script = (kit.venv / "bin" / "pip").read_text()
        here = str(kit.python.parent) + os.sep in script
        return here and kit.packages.exists() and kit.works(kit.python, "-m", "pip", "--version")
    return False


def make_venv(kit: Kit) -> None:
    """Make an empty `.venv` with pip, with whatever tool this machine has.

    It may be a link to a folder with more room. Raises SetupFailed for a link to the environment of another clone.
    """
    pip = kit.venv / "bin" / "pip"
    if kit.venv.is_symlink() and pip.exists() and str(kit.python.parent) + os.sep not in pip.read_text():
        raise SetupFailed(
            "a virtual environment cannot be made",
            f"{kit.venv} is a link to {kit.venv.resolve()}, which was made elsewhere and would be lost",
            f"rm {kit.venv}, {AGAIN}",
        )
    if kit.works(sys.executable, "-c", "import ensurepip"):
        kit.run(sys.executable, "-m", "venv", "--clear", kit.venv)
    elif kit.works(sys.executable, "-m", "virtualenv", "--version"):
        kit.run(sys.executable, "-m", "virtualenv", "--clear", kit.venv)
    elif unpack_debian(kit, "python3-pip-whl"):  # Debian's Python without python3-venv has its pip elsewhere
        (pip,) = (kit.debian / "share" / "python-wheels").glob("pip-*.whl")
        kit.run(sys.executable, "-m", "venv", "--clear", "--without-pip", kit.venv)
        kit.pip("install", "--no-index", pip, PYTHONPATH=str(pip))
    else:
        raise SetupFailed(
            "a virtual environment cannot be made",
            f"{sys.executable} has no ensurepip",
            f"{how_to_install('venv')} (or: pip install --user virtualenv), {AGAIN}",
        )


def drop_half_installed(kit: Kit) -> None:
    """Drop packages without RECORD, which pip writes last: if it was killed, it would count them as installed."""
    for info in kit.packages.glob("*.dist-info"):
        record: Path = info / "RECORD"
        if not record.exists() or not record.stat().st_size:
            shutil.rmtree(info)


def install_torch(kit: Kit, torch: str, gpu: bool) -> None:
    """Install torch alone and first, so that resolving the other packages never picks another build.

    Without a GPU, that is the CPU build: from pip's index, as an institution's may have it, else from PyTorch's own.
    If neither has it, it is the default build, which also works without a GPU, but is large.
    """
    install = [kit.python, "-m", "pip", "install"]
    if gpu or not (
        kit.works(*install, f"{torch}+cpu")
        or kit.works(*install, "--no-deps", "--retries", "1", "--timeout", "15", "--index-url", TORCH_CPU_INDEX, torch)
    ):
        kit.run(*install, torch)
