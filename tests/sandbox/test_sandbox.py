"""What student code sees of the machine that grades it, and may do there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from classroom import REPOSITORY

from autograde.labs.folder import beside_students, find_labs
from autograde.sandbox import bubblewrap
from autograde.sandbox.resources.limits import Limits

CHECKS = beside_students(find_labs(REPOSITORY)[0].folder)


def inside(script: str, limits: Limits | None = None) -> str:
    """What a shell script in both sandboxes prints, errors included."""
    own, fds = bubblewrap.own_etc()
    command = [*bubblewrap.in_both(CHECKS, limits or Limits(), own), "sh", "-c", script]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=bubblewrap.environment(),
        pass_fds=fds,
        cwd="/",
    )
    for fd in fds:
        os.close(fd)
    return done.stdout


def test_of_the_repository_only_what_probes_import_is_there():
    there = set(inside(f"cd {shlex.quote(str(REPOSITORY))}; ls -A; ls -AR autograde").split())
    assert {"course", "autograde", "prober.py", "check.py", "subject.py"} <= there
    hidden = {"solutions", "labs", "class", "tests", ".git", "build", "classroom", "examine.py", "rubric"}
    assert not there & (hidden | {"schema.py", "criterion.py"})


def test_there_is_no_home_no_account_and_no_secret_of_the_person_who_grades(monkeypatch, tmp_path):
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "a secret")
    (tmp_path / "file").write_text("a secret")
    home = Path.home()
    seen = inside(f"env; cat {tmp_path}/file; ls -A {home} /home /root /var /etc/shadow; cat /etc/passwd")
    assert "a secret" not in seen
    assert not {".bashrc", ".ssh", ".cache", ".profile"} & set(seen.split())
    accounts = [line for line in seen.splitlines() if line.count(":") == 6 and "=" not in line]
    assert accounts == ["student:x:1000:1000::/tmp/work:/bin/sh"]


def test_there_is_no_network_but_its_own_loopback():
    devices = [line.split(":")[0].strip() for line in inside("cat /proc/net/dev").splitlines()[2:]]
    assert devices == ["lo"]


def test_the_processes_of_the_machine_are_not_there():
    assert len([entry for entry in inside("ls /proc").split() if entry.isdigit()]) <= 4


def test_nothing_can_be_written_but_two_folders_of_limited_size():
    for path in ["/x", "/usr/x", "/etc/x", f"{REPOSITORY}/course/x", "/proc/sys/kernel/hostname", "/proc/mtrr"]:
        said = inside(f"echo x > {path} && echo WRITTEN")
        assert "WRITTEN" not in said and re.search("Read-only file system|Permission denied|No such file", said), path
    limits = Limits(disk=2**20)
    for folder in ("/tmp", "/dev/shm"):
        said = inside(f"head -c 3000000 /dev/zero > {folder}/x; wc -c < {folder}/x", limits)
        assert "No space left on device" in said
        assert int(said.split()[-1]) <= 2**20


def test_no_setting_of_the_machine_can_be_written():
    others = "! -type l ! -type p ! -path '/proc/[0-9]*' ! -path '/dev/shm*'"
    writable = f"find /proc /dev /etc /usr/lib -xdev -writable {others}"
    found = [
        path for path in inside(f"{writable} 2>/dev/null").split() if not path.startswith(("/proc/self", "/proc/t"))
    ]
    devices = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"}
    assert {path for path in found if not path.startswith("/dev/pts")} <= devices


def test_no_further_namespace_can_be_made():
    assert "MADE" not in inside("unshare --user echo MADE")


@pytest.mark.parametrize("missing", ["bwrap", "permission"])
def test_a_refusal_says_why_and_what_to_do(missing, monkeypatch, tmp_path):
    (tmp_path / "mpiexec").symlink_to("/bin/true")
    if missing == "permission":
        (tmp_path / "bwrap").write_text("#!/bin/sh\necho No permissions to create new namespace >&2\nexit 1\n")
        (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    said = bubblewrap.refusal()
    assert "--no-sandbox" in said
    assert ("apt install bubblewrap" in said) == (missing == "bwrap")
    assert ("No permissions to create new namespace" in said) == (missing == "permission")
