"""Homes as they are at times: full, read-only, another account's, with old settings. Only root can make them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SOMEBODY = 1_000_740_000  # a user id as OpenShift gives it, of group 0, which no account has
BIG = "big"


@contextmanager
def enterable() -> Iterator[Path]:
    """A folder that all accounts can enter, unlike pytest's."""
    folder = Path(tempfile.mkdtemp(prefix="homes-"))
    try:
        folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def volume(folder: Path, size: str, uid: int = SOMEBODY, gid: int = 0, process: str | None = None) -> Iterator[Path]:
    """A home of so many bytes, which belongs to an account. Its path here.

    process: of those that see it, if they have mounts of their own.
    """
    home = Path(f"/proc/{process}/root{folder}") if process else folder
    home.mkdir(exist_ok=True)
    inside = ["nsenter", f"--target={process}", "--mount"] if process else []
    subprocess.run([*inside, "mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", folder], check=True)
    try:
        os.chown(home, uid, gid)
        yield home
    finally:
        subprocess.run([*inside, "umount", "--lazy", folder], check=True)


def remount(home: Path, options: str) -> None:
    """Change the volume: its size say."""
    inside = []
    if home.is_relative_to("/proc"):
        inside, home = ["nsenter", f"--target={home.parts[2]}", "--mount"], Path("/", *home.parts[4:])
    subprocess.run([*inside, "mount", "-o", f"remount,{options}", home], check=True)


def fill(home: Path) -> None:
    """Leave no room in a home, by a file of its owner's."""
    with (home / BIG).open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    own(home, BIG)


def write(home: Path, **texts: str) -> None:
    """Write files of its owner's into a home, by path."""
    for name, text in texts.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
        own(home, name)


def own(home: Path, name: str) -> None:
    """Give the home's owner a path in it, and the folders above."""
    there = home.stat()
    for path in (home / name, *(home / name).parents):
        if path.is_relative_to(home):
            os.chown(path, there.st_uid, there.st_gid, follow_symlinks=False)


def links_that_lead_nowhere(home: Path) -> None:
    """Links as they are left in a home whose disk was another one."""
    for name in (".jupyter", ".ipython", ".local", ".cache", ".config", "course"):
        (home / name).symlink_to("/nonexistent/place")
        own(home, name)


def not_ones_own(home: Path) -> None:
    """The home belongs to another account."""
    os.chown(home, 1000, 1000)
    home.chmod(0o755)


def roots_folders(home: Path) -> None:
    """What is left of a Jupyter that somebody started by sudo."""
    for name in (".jupyter", ".ipython/profile_default", ".local/share/jupyter", ".cache/matplotlib"):
        (home / name).mkdir(parents=True)
        own(home, str(Path(name).parent))
        (home / name).chmod(0o700)


def damaged_settings(home: Path) -> None:
    """What a disk that was full at times leaves, and settings for servers elsewhere."""
    packages = ".local/lib/python3.11/site-packages"
    write(
        home,
        **{
            ".jupyter/lab/workspaces/a.jupyterlab-workspace": "{broken",
            ".jupyter/lab/workspaces/b.jupyterlab-workspace": "",
            ".jupyter/lab/user-settings/@jupyterlab/apputils-extension/themes.jupyterlab-settings": "{broken",
            ".jupyter/lab/user-settings/@jupyterlab/notebook-extension/tracker.jupyterlab-settings": "\0\0",
            ".local/share/jupyter/labextensions/other/package.json": "{broken",
            ".local/share/jupyter/nbsignatures.db": "no database" * 500,
            ".local/share/jupyter/notebook_secret": "",
            ".local/share/jupyter/kernels/python3/kernel.json": '{"argv": ["/gone"], "display_name": "Python"}',
            ".jupyter/jupyter_lab_config.py": "import sys; sys.exit(3)",
            ".jupyter/jupyter_server_config.py": "this is ( not Python",
            ".jupyter/jupyter_server_config.json": "{broken",
            ".jupyter/jupyter_server_config.d/other.json": "{broken",
            ".jupyter/labconfig/page_config.json": "{broken",
            ".ipython/profile_default/ipython_kernel_config.py": "raise SystemExit(3)",
            ".ipython/profile_default/startup/00.py": "raise SystemExit(4)",
            f"{packages}/IPython/__init__.py": "raise ImportError('of another Python')",
            f"{packages}/other.pth": "import sys; sys.exit(5)",
            ".bashrc": "echo hello; exit 3",
            ".profile": "echo hello; exit 3",
        },
    )


def files_for_folders(home: Path) -> None:
    """Files where programs have folders, and where the kit has them."""
    for name in (".jupyter", ".ipython", ".local", ".cache", ".config", "labs"):
        write(home, **{name: "mine"})


# Before the first start: what is done to an empty home, and what is said of it. An empty text: nothing.
ODD: dict[str, tuple[Callable[[Path], None], str]] = {
    "full": (fill, "is full: 0.0 of 40 MiB are free"),
    "damaged settings": (damaged_settings, ""),
    "no inodes": (lambda home: remount(home, "nr_inodes=1"), "can take no more files"),
    "read-only": (lambda home: remount(home, "ro"), "is read-only"),
    "not one's own": (not_ones_own, f"cannot be written by the account {SOMEBODY}"),
    "files for folders": (files_for_folders, "labs is a file, where the kit has a folder"),
    "links that lead nowhere": (links_that_lead_nowhere, "course is a link that leads nowhere"),
    "root's folders": (roots_folders, ""),
}
