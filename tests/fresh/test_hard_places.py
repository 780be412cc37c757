"""What `./lockstep` says on a system where it cannot work: one error that names the thing and the next step."""

from __future__ import annotations

import os
import re

from fresh_system import copy_kit


def test_without_python_it_names_packages_that_this_system_has(bare):
    status, output = bare.run("./lockstep", "lab")
    assert status == 1
    assert "Python 3.11, 3.12 or 3.13 is needed" in output
    packages = re.search(r"sudo apt install (.+)", output)[1].split()
    status, output = bare.run("apt-get", "install", "--simulate", *packages, user=0)
    assert status == 0, output
    assert re.search(rf"^Inst python{re.escape(bare.distribution.python)} ", output, re.MULTILINE), output


def test_without_a_compiler_it_names_a_package_that_this_system_has(bare):
    status, output = bare.run("apt-get", "install", "-qq", "--no-install-recommends", "python3", user=0)
    assert status == 0, output
    status, output = bare.run("./lockstep", "lab")
    assert status == 1
    assert "a C++ compiler is needed" in output
    (package,) = re.search(r"sudo apt install (\S+) ", output).groups()
    assert bare.run("apt-get", "install", "--simulate", package, user=0)[0] == 0


def test_a_disk_without_space_is_named(fresh):
    small = ("--size", str(200 * 2**20), "--perms", "1777", "--tmpfs", "/home/student/lockstep/.venv")
    status, output = fresh.run("./lockstep", "setup", options=small)
    assert status == 1
    assert "the disk is full" in output
    assert "mend:  free " in output


def test_a_clone_that_cannot_be_written_is_named(fresh):
    own = fresh.root / "opt" / "lockstep"
    copy_kit(own)
    os.chown(own, 0, 0)
    status, output = fresh.run("./lockstep", "lab", options=("--chdir", "/opt/lockstep"))
    assert status == 1, output
    assert "not allowed to write" in output
    assert "/opt/lockstep" in output


def test_a_home_on_another_file_system_will_do(fresh):
    cache = str(fresh.root / "home" / "student" / ".cache")
    other = ("--perms", "0777", "--tmpfs", "/mnt", "--bind", cache, "/mnt/.cache", "--setenv", "HOME", "/mnt")
    (stamp,) = (fresh.root / fresh.kit[1:] / ".venv").glob("lockstep.lab")
    stamp.unlink()
    status, output = fresh.run("./lockstep", "doctor", options=other)
    assert status == 0, output
    assert "installing Horovod" in output and "compiling" not in output


def test_a_path_with_a_space_is_named(fresh):
    spaced = fresh.root / "home" / "student" / "my courses"
    copy_kit(spaced)
    status, output = fresh.run("./lockstep", "lab", options=("--chdir", "/home/student/my courses"))
    assert status == 1
    assert "a path with a space: /home/student/my courses" in output
