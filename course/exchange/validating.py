"""How long nbgrader waits where it runs a notebook from top to bottom, for students and for instructors the same."""

from __future__ import annotations

from traitlets.config import Config

CELL = 600  # seconds: a cell may train, on a machine that is crowded with a class


def wait_for_cells(c: Config) -> None:
    """Set `c` so that validating a notebook gives each cell the time that it needs."""
    c.Execute.timeout = CELL
