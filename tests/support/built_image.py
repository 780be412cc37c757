"""Images of the Containerfile, built and run by buildah, which needs no daemon and no namespaces of its own.

The base image is made by mmdebstrap, as registries cannot be reached from everywhere.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from fresh_system import CERTIFICATES, DISTRIBUTIONS, ROOT, copy_kit

SECONDS = 3600
HOME = "/home/jovyan"
ISOLATION = ("--isolation", "chroot")
(DEBIAN_13,) = (distribution for distribution in DISTRIBUTIONS if distribution.suite == "trixie")


def lacking() -> str:
    """What this machine lacks to build images; empty if nothing."""
    return DEBIAN_13.lacks or ("" if shutil.which("buildah") else "apt install buildah")


@dataclass(frozen=True)
class Store:
    """Where buildah keeps images, and what reaches the network from inside a build."""

    folder: Path

    def buildah(self, command: str, *arguments: str, seconds: float = SECONDS) -> str:
        """Run a buildah command: what it said. It has to succeed."""
        status, output = self.tried(command, *arguments, seconds=seconds)
        assert status == 0, output[-8000:]
        return output

    def tried(self, command: str, *arguments: str, seconds: float = SECONDS) -> tuple[int, str]:
        """Run a buildah command: its status, and what it said."""
        places = ["--root", self.folder / "images", "--runroot", self.folder / "run", "--storage-driver", "overlay"]
        done = subprocess.run(
            ["buildah", *places, command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=seconds,
        )
        return done.returncode, done.stdout

    def make_base(self) -> None:
        """Make the image that the Containerfile begins with, under the name that it has there."""
        name = re.search(r"^FROM (\S+)", (ROOT / "Containerfile").read_text(), re.MULTILINE)[1]
        archive = self.folder / "base.tar"
        options = ["--quiet", "--variant=minbase", "--include=ca-certificates", f"--keyring={DEBIAN_13.keyring}"]
        subprocess.run(["mmdebstrap", *options, DEBIAN_13.suite, archive, DEBIAN_13.mirror], check=True)
        container = self.buildah("from", "scratch").strip()
        self.buildah("add", "--quiet", container, str(archive), "/")
        self.buildah("commit", "--quiet", container, name)
        self.buildah("rm", container)
        archive.unlink()

    def build(self, kit: Path, target: str) -> str:
        """Build a target of the Containerfile from the clone `kit`: what was said. The image's name is the target's."""
        options = [*ISOLATION, "--layers", "--target", target, "--tag", target, *self.network()]
        return self.buildah("build", *options, str(kit))

    def network(self) -> list[str]:
        """What a build or a container needs to reach the package index as this machine does."""
        names = [name for name in os.environ if re.match(r"PIP_INDEX|PIP_PROXY|https?_proxy", name)]
        settings = [f"{name}={os.environ[name]}" for name in names] + [f"PIP_CERT={CERTIFICATES}"]
        return [
            *(word for setting in settings for word in ("--env", setting)),
            *("--volume", f"{CERTIFICATES}:{CERTIFICATES}:ro"),
        ]

    def size(self, image: str) -> str:
        """An image's size, as buildah tells it: `5.3 GB`."""
        return self.buildah("images", "--format", "{{.Size}}", image).strip()


@dataclass(frozen=True)
class Running:
    """A container of an image, with the folder `home` as its home: a volume, empty at first."""

    store: Store
    container: str
    home: Path

    def tried(self, script: str, seconds: float = SECONDS, user: str = "1000:1000") -> tuple[int, str]:
        """Run a bash script by the image's entrypoint: its status, and what it said."""
        volume = ["--volume", f"{self.home}:{HOME}", "--env", f"HOME={HOME}", "--user", user]
        command = ["/opt/lockstep/course/container/entrypoint", "bash", "-c", script]
        return self.store.tried("run", *ISOLATION, *volume, self.container, "--", *command, seconds=seconds)

    def run(self, script: str, seconds: float = SECONDS) -> str:
        """Like `tried`, but it has to succeed."""
        status, output = self.tried(script, seconds)
        assert status == 0, f"{script}\n{output[-8000:]}"
        return output


def start(store: Store, image: str, home: Path) -> Running:
    """A container of `image` with an empty home."""
    home.mkdir()
    os.chown(home, 1000, 1000)
    return Running(store, store.buildah("from", image).strip(), home)


def copy_of_the_kit(folder: Path) -> Path:
    """A copy of this repository, for a build to change."""
    copy_kit(folder)
    return folder
