"""How to run a notebook's kernel without network ports."""

from __future__ import annotations

from pathlib import Path

from traitlets.config import Config


def over_files(folder: Path) -> Config:
    """Settings for a NotebookClient whose kernel is reached by sockets in `folder`, a short path.

    No other user of this machine can open them. And they cannot be taken: Jupyter chooses a port first, and its kernel
    opens it a second later, when some other program may have it.
    """
    return Config({"KernelManager": {"transport": "ipc", "ip": str(folder / "kernel")}})
