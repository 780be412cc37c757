"""Errors of a command in one line, as an instructor reads them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def errors_in_one_line(*more: type[Exception]) -> Iterator[None]:
    """Turn what can go wrong with a course or its gradebook, and `more` errors, into ClickException."""
    log = logging.getLogger("tornado.application")  # nbgrader's, for tracebacks of what it raises as well
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    except Exception as error:
        from autograde.classroom.errors import StepFailed, describe  # only now: what succeeds need not wait for them
        from autograde.classroom.gradebook.locked import Locked
        from autograde.labs.folder import LabError

        if isinstance(error, (LabError, StepFailed, Locked, *more)):
            raise click.ClickException(str(error)) from error
        # a full disk, an unreadable file or gradebook; and what nbgrader makes of the latter
        if isinstance(error, (OSError, *gradebook_errors())):
            raise click.ClickException(describe(error)) from error
        raise
    finally:
        log.setLevel(level)


def gradebook_errors() -> tuple[type[Exception], ...]:
    """SQLAlchemy's errors and nbgrader's. Before they are imported, nobody can have raised one."""
    if "nbgrader.api" not in sys.modules:
        return ()
    from nbgrader.api import InvalidEntry, MissingEntry
    from sqlalchemy.exc import SQLAlchemyError

    return InvalidEntry, MissingEntry, SQLAlchemyError
