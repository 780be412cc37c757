"""What to install is told in the words of this system."""

from __future__ import annotations

import platform
import sys

import pytest

from autograde.install.machine.system import THINGS, how_to_install

PYTHON = "{}.{}".format(*sys.version_info)


@pytest.mark.parametrize(
    ("system", "compiler", "headers"),
    [
        ({"ID": "debian"}, "sudo apt install g++ (", f"sudo apt install python{PYTHON}-dev ("),
        ({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"}, "sudo apt install g++ (", "sudo apt install python"),
        ({"ID": "fedora"}, "sudo dnf install gcc-c++ (", f"sudo dnf install python{PYTHON}-devel ("),
        ({"ID": "rhel"}, "sudo dnf install gcc-c++ (", "sudo dnf install python"),
        ({"ID": "rocky", "ID_LIKE": "rhel centos fedora"}, "sudo dnf install gcc-c++ (", "sudo dnf install python"),
        ({"ID": "arch"}, "sudo pacman -S gcc (", "sudo pacman -S python ("),
        ({"ID": "nixos"}, "conda install -c conda-forge cxx-compiler", "conda install -c conda-forge python="),
    ],
)
def test_each_family_gets_its_own_command_and_names(monkeypatch, system, compiler, headers):
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: system)
    assert how_to_install("compiler").startswith(compiler)
    assert how_to_install("headers").startswith(headers)
    assert all("conda install" in how_to_install(thing) for thing in THINGS)


def test_a_system_that_says_nothing_of_itself_gets_conda(monkeypatch):
    def nothing():
        raise OSError("no os-release")

    monkeypatch.setattr(platform, "freedesktop_os_release", nothing)
    assert how_to_install("make") == "conda install -c conda-forge make"
