"""Programs that take the cores, for tests of what is fair beside them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from course.processes.surroundings.machine import cores


@contextmanager
def busy_programs(per_core: int) -> Iterator[None]:
    """So many programs for each core that compute beside us.

    Each is in a session of its own, as those of other people are: Linux shares the cores out among sessions.
    """
    command = [sys.executable, "-c", "while True: pass"]
    programs = [subprocess.Popen(command, start_new_session=True) for _ in range(per_core * cores())]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()
