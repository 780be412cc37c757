"""Unix accounts for tests: people with homes and passwords, and commands as one of them. Only root can make them."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
NEEDED = ("useradd", "userdel", "chpasswd", "bwrap", "setpriv")

with_accounts = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make accounts"),
    pytest.mark.skipif(not all(map(shutil.which, NEEDED)), reason=f"not all installed: {', '.join(NEEDED)}"),
]


class Account:
    """An account that is there."""

    def __init__(self, name: str) -> None:
        entry = pwd.getpwnam(name)
        self.name, self.home, self.uid, self.gid = name, Path(entry.pw_dir), entry.pw_uid, entry.pw_gid

    def command(self, *words: object) -> list[str]:
        """What root runs so that `words` run as this account, with its groups and a Python that it can read."""
        identity = ["--reuid", str(self.uid), "--regid", str(self.gid), "--init-groups"]
        return [*with_python(), "setpriv", *identity, *map(str, words)]

    def environment(self, **more: object) -> dict[str, str]:
        """The environment of a login, this environment's programs first on PATH, and what else is given."""
        path = os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"])
        known = {"PATH": path, "HOME": self.home, "USER": self.name, "LANG": "C.UTF-8", "PYTHONPATH": REPOSITORY}
        return {name: str(value) for name, value in (known | more).items()}

    def run(self, *words: object, cwd: Path | None = None, **more: object) -> subprocess.CompletedProcess[str]:
        """Run a command as this account, in its home, whatever comes of it; `more` is environment."""
        settings = {"cwd": cwd or self.home, "env": self.environment(**more), "timeout": 240}
        return subprocess.run(self.command(*words), capture_output=True, text=True, **settings)


class User(Account):
    """An account with a home folder that only it enters, a group of its own, and its name as password."""

    def __init__(self, name: str, homes: Path) -> None:
        command("useradd", "--create-home", "--base-dir", str(homes), "--user-group", "--shell", "/bin/bash", name)
        command("chpasswd", given=f"{name}:{name}\n")
        super().__init__(name)
        self.home.chmod(0o700)

    def own(self, path: Path) -> None:
        """Give this account a file or a folder with all that is in it."""
        for one in (path, *path.rglob("*")):
            os.chown(one, self.uid, self.gid, follow_symlinks=False)

    def remove(self) -> None:
        """Remove the account and its home."""
        command("userdel", "--remove", "--force", self.name)


@contextmanager
def users(*names: str) -> Iterator[list[User]]:
    """Accounts of these names, made longer so that no machine has them already. Their homes are in a folder of /tmp."""
    homes = Path(tempfile.mkdtemp(prefix="homes-"))  # not pytest's, which others cannot enter
    homes.chmod(0o755)
    made: list[User] = []
    try:
        for name in names:
            made.append(User(f"{name}-{os.getpid()}", homes))
        yield made
    finally:
        for user in made:
            user.remove()
        shutil.rmtree(homes)


def with_python() -> list[str]:
    """A command prefix for root, below which all accounts can run this Python.

    Where it lies below a closed folder (as /root), that is replaced by one that has the Python and nothing else.
    """
    base = Path(sys.base_prefix)
    folders = [*reversed(base.parents), base]
    closed = [number for number, path in enumerate(folders) if not path.stat().st_mode & stat.S_IXOTH]
    if not closed:
        return []
    first, *below = map(str, folders[closed[0] : -1])
    made = ["--perms", "0755", "--tmpfs", first, *(word for one in below for word in ("--perms", "0755", "--dir", one))]
    return ["bwrap", "--dev-bind", "/", "/", *made, "--ro-bind", str(base), str(base), "--"]


def command(*words: str, given: str | None = None) -> None:
    """Run one of the system's programs, which must succeed."""
    done = subprocess.run(words, input=given, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}: {done.stderr}"
