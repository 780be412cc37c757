"""A fresh system: a root file system with a distribution's smallest set of packages and those that README.md names.

mmdebstrap makes it in half a minute; bubblewrap runs commands in it, as another machine would: its own processes, its
own /dev/shm, and nothing of this machine but the network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lockstep" / "fresh"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
STUDENT = 1000


@dataclass(frozen=True)
class Distribution:
    """What mmdebstrap makes a system of.

    python: the Python that it brings.
    """

    suite: str
    python: str
    mirror: str
    keyring: str
    components: str = "main"

    @property
    def lacks(self) -> str:
        """What this machine lacks to make and enter such a system; empty if nothing."""
        programs = [name for name in ("mmdebstrap", "bwrap", "setpriv") if not shutil.which(name)]
        if os.geteuid():
            return "only root can make a root file system"
        if programs:
            return f"apt install {' '.join(programs)}"
        return "" if Path(self.keyring).exists() else f"there is no {self.keyring}"


DEBIAN = ("http://deb.debian.org/debian", "/usr/share/keyrings/debian-archive-keyring.gpg")
UBUNTU = ("http://archive.ubuntu.com/ubuntu", "/usr/share/keyrings/ubuntu-archive-keyring.gpg")
DISTRIBUTIONS = (
    Distribution("bookworm", "3.11", *DEBIAN),
    Distribution("noble", "3.12", *UBUNTU, "main,universe"),
    Distribution("trixie", "3.13", *DEBIAN),
)


def packages_that_the_readme_names() -> list[str]:
    """The packages of README.md's first `sudo apt install`."""
    return re.search(r"sudo apt install (.+)", (ROOT / "README.md").read_text())[1].split()


def make_root(distribution: Distribution, packages: list[str], folder: Path) -> None:
    """Make a root file system with `packages` in `folder`, and an account in it, `student`."""
    folder.mkdir(parents=True)
    include = ",".join(["apt", "ca-certificates", *packages])
    command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={include}", "--format=directory"]
    command += [f"--components={distribution.components}", f"--keyring={distribution.keyring}"]
    # As an installed system has them: what it could install.
    command += ["--skip=cleanup/apt/lists"]
    subprocess.run([*command, distribution.suite, folder, distribution.mirror], check=True)
    for name, line in {
        "passwd": f"student:x:{STUDENT}:{STUDENT}::/home/student:/bin/bash",
        "group": f"student:x:{STUDENT}:",
    }.items():
        with (folder / "etc" / name).open("a") as file:
            file.write(line + "\n")
    (folder / "home" / "student").mkdir(exist_ok=True)
    os.chown(folder / "home" / "student", STUDENT, STUDENT)


def copy_kit(folder: Path) -> None:
    """Copy the files of this repository that git knows or would add to `folder`, for the account `student`."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, STUDENT, STUDENT, follow_symlinks=False)


@dataclass(frozen=True)
class FreshSystem:
    """A system whose root file system is `root`, with the kit at `kit`, a path in it."""

    root: Path
    distribution: Distribution
    kit: str = "/home/student/lockstep"

    def command(self, *arguments: str, user: int = STUDENT, options: tuple[str, ...] = ()) -> list[str]:
        """The command line that runs `arguments` in the kit's folder. options: more of bubblewrap's."""
        downloads = CACHE / "pip"
        downloads.mkdir(parents=True, exist_ok=True)
        os.chown(downloads, STUDENT, STUDENT)
        settings = {
            "HOME": "/home/student" if user else "/root",
            "USER": "student" if user else "root",
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C.UTF-8",
            "PIP_CACHE_DIR": "/var/cache/pip",
            "MAKEFLAGS": os.environ.get("MAKEFLAGS", "-j2"),
            "PIP_CERT": str(CERTIFICATES),
            # Those by which this machine reaches the package index.
            **{name: os.environ[name] for name in os.environ if re.match(r"PIP_INDEX|PIP_PROXY|https?_proxy", name)},
        }
        (self.root / "var" / "cache" / "pip").mkdir(exist_ok=True)
        return [
            *("bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname", "fresh"),
            *("--bind", str(self.root), "/", "--dev", "/dev", "--dir", "/proc", "--cap-add", "ALL", "--clearenv"),
            *(
                "--ro-bind",
                "/sys",
                "/sys",
                "--ro-bind",
                "/etc/resolv.conf",
                "/etc/resolv.conf",
                "--bind",
                str(downloads),
                "/var/cache/pip",
            ),
            *("--ro-bind-try", str(CERTIFICATES), str(CERTIFICATES)),
            *(word for name, value in settings.items() for word in ("--setenv", name, value)),
            *("--chdir", self.kit, *options),
            # bubblewrap's own /proc is covered in part, and the kernel then refuses one to the sandboxes inside.
            *("sh", "-c", 'mount -t proc proc /proc && exec "$@"', "sh"),
            *("setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", "--", *arguments),
        ]

    def run(
        self, *arguments: str, seconds: float = 600, user: int = STUDENT, options: tuple[str, ...] = ()
    ) -> tuple[int, str]:
        """Run `arguments` in the kit's folder: the exit status and what was said. See `command`."""
        done = subprocess.run(
            self.command(*arguments, user=user, options=options),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=seconds,
        )
        return done.returncode, done.stdout
