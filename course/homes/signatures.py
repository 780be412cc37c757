"""Which notebooks are trusted. Jupyter keeps that in the home; where it cannot be kept, notebooks open all the same."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_data_dir
from nbformat.sign import SQLiteSignatureStore


class Signatures(SQLiteSignatureStore):
    """Signatures in a database, of which what cannot be written is forgotten."""

    def check_signature(self, digest: str, algorithm: str) -> bool:
        """Whether a signature is known."""
        with suppress(sqlite3.Error):
            return super().check_signature(digest, algorithm)
        with suppress(sqlite3.Error):
            self.db.rollback()
        return False

    def store_signature(self, digest: str, algorithm: str) -> None:
        """Keep a signature."""
        try:
            super().store_signature(digest, algorithm)
        except sqlite3.Error:
            with suppress(sqlite3.Error):
                self.db.rollback()


def secret(file: Path) -> bytes:
    """What signatures are made with: what is in the file, which is made if it is missing."""
    new = os.urandom(1024)
    with suppress(OSError):
        if known := file.read_bytes():
            return known
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as made:
            made.write(new)
    return new


def keep_signatures(c: Any) -> None:
    """Configure Jupyter Server so. c: its configuration."""
    folder = Path(jupyter_data_dir())
    c.NotebookNotary.store_factory = lambda: Signatures(str(folder / "nbsignatures.db"))
    c.NotebookNotary.secret = secret(folder / "notebook_secret")
