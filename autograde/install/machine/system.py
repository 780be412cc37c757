"""What this system calls the packages that the set-up needs, and the command that installs them."""

from __future__ import annotations

import platform
import sys

# By family: the command, then its names of a compiler, of Python's headers, of make and of what makes environments.
# `{}` is Python's version, as in 3.12.
FAMILIES = {
    "debian": ("apt install", "g++", "python{}-dev", "make", "python{}-venv"),
    "fedora": ("dnf install", "gcc-c++", "python{}-devel", "make", "python{}"),
    "arch": ("pacman -S", "gcc", "python", "make", "python"),
}
CONDA = ("conda install -c conda-forge", "cxx-compiler", "python={}", "make", "python={}")
THINGS = ("compiler", "headers", "make", "venv")


def family() -> str | None:
    """The family of this system, a key of FAMILIES, by its os-release. None for any other."""
    try:
        about = platform.freedesktop_os_release()
    except OSError:
        return None
    names = f"{about['ID']} {about.get('ID_LIKE', '')}".replace("rhel", "fedora").split()
    return next((name for name in names if name in FAMILIES), None)


def how_to_install(thing: str) -> str:
    """The commands that install `thing`, one of THINGS, on this system: with sudo where that is known, and without."""
    python = "{}.{}".format(*sys.version_info)
    known = FAMILIES.get(family() or "")
    without, *names = CONDA
    conda = f"{without} {names[THINGS.index(thing)].format(python)}"
    if known is None:
        return conda
    command, *names = known
    return f"sudo {command} {names[THINGS.index(thing)].format(python)} (without sudo: {conda})"
