"""A gradebook that another program writes to is waited for, with a word, and not longer than a minute.

SQLite has one writer at a time. The formgrader, or `lockstep` in another terminal, is done in an instant; a program
that was stopped, or hangs, is not.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import click

PATIENCE = 60.0  # seconds
AT_ONCE = 2.0  # seconds without a word
WHO = "another program writes to the gradebook (the formgrader, a command in another terminal)"
LOCKED = f"the gradebook is locked: {WHO}; end it, or try again when it is done"


class Locked(Exception):
    """The gradebook is locked, and stays so. The message is one line."""


def wait_until_free(url: str) -> None:
    """Wait until one can write to the gradebook at `url`. Raises Locked after PATIENCE seconds. Creates no file."""
    from sqlalchemy.engine import make_url  # only here: who only looks at an error needs no SQLAlchemy

    known = make_url(url)
    if known.get_backend_name() != "sqlite" or not known.database or not Path(known.database).exists():
        return
    if free(known.database, AT_ONCE):
        return
    click.echo(f"{WHO}; waiting for it, a minute at most", err=True)
    if not free(known.database, PATIENCE - AT_ONCE):
        raise Locked(LOCKED)


def free(path: str, seconds: float) -> bool:
    """Whether one can write to the database at `path` within so many seconds. What else is wrong is told by its use."""
    try:
        with closing(sqlite3.connect(path, timeout=seconds, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        return "locked" not in str(error)
    except sqlite3.Error:
        pass
    return True


def is_locked(error: BaseException) -> bool:
    """Whether this error of nbgrader's or SQLAlchemy's says that the gradebook is locked."""
    return "database is locked" in str(error)
