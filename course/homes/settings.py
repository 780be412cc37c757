"""JupyterLab's settings and workspaces in a home: where one file was cut off, on a full disk say, it does not open."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import json5
from jupyterlab.commands import get_user_settings_dir, get_workspaces_dir

KINDS = ((get_user_settings_dir, "*.jupyterlab-settings"), (get_workspaces_dir, "*.jupyterlab-workspace"))
ASIDE = ".damaged"  # ends the new name of such a file


def put_damaged_aside(kinds: tuple[tuple[Callable[[], str], str], ...] = KINDS) -> None:
    """Give the files that cannot be read names that JupyterLab does not look for: it then takes what it has without."""
    for folder, pattern in kinds:
        for path in Path(folder()).rglob(pattern):
            if not is_read(path):
                with suppress(OSError):
                    os.replace(path, f"{path}{ASIDE}")


def is_read(path: Path) -> bool:
    """Whether a file has settings: an object, in JSON with comments."""
    try:
        return isinstance(json5.loads(path.read_text(encoding="utf-8")), dict)
    except (OSError, ValueError, RecursionError):
        return False
