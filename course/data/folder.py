"""The folder of the large data sets, which LOCKSTEP_DATA names and `lockstep data` fills."""

from __future__ import annotations

import os
from pathlib import Path


class DataError(ValueError):
    """Data cannot be used. The message names the file, what was expected of it, and the next step."""


def data_folder(folder: Path | str | None = None) -> Path | None:
    """`folder`, else the one that LOCKSTEP_DATA names, else None. Raises DataError if it does not exist."""
    named = folder or os.environ.get("LOCKSTEP_DATA")
    if not named:
        return None
    found = Path(named).expanduser()
    if not found.is_dir():
        whose = "LOCKSTEP_DATA names" if folder is None else "the data is to come from"
        raise DataError(f"{whose} {found}, but that is no folder: correct it, or make it by `lockstep data {found}`")
    return found
