"""Collects submissions from nbgrader's exchange, and only what students put there.

A student owns the folder that was handed in, and may put links into it, also while it is copied. nbgrader follows them
with the instructor's rights: the solution, the gradebook or another's submission would come back as the student's own
work, and as feedback. Here no link is followed, of no file and no folder, and pipes and devices are not opened.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from nbgrader.exchange.default import ExchangeCollect
from nbgrader.utils import ignore_patterns


class PlainCollect(ExchangeCollect):
    """nbgrader's collect, but for the copying. It is nbgrader's own where our nbgrader_config.py is read."""

    def do_copy(self, src: str, dest: str, log: object = None) -> None:
        """Copy the regular files below `src`. What is left out is named in the log."""
        ignored = ignore_patterns(
            exclude=self.coursedir.ignore,
            include=self.coursedir.include,
            max_file_size=self.coursedir.max_file_size,
            log=self.log,
        )
        os.mkdir(dest)
        for folder, folders, files, place in os.fwalk(src, follow_symlinks=False):
            skipped = ignored(folder, folders + files)
            folders[:] = [name for name in folders if name not in skipped]
            target = Path(dest, os.path.relpath(folder, src))
            target.mkdir(exist_ok=True)
            for name in files:
                if name in skipped:
                    continue
                with regular(name, place) as file:
                    if file is None:
                        self.log.warning("%s is not collected: it is no regular file", Path(folder, name))
                        continue
                    with open(target / name, "wb") as copy:
                        shutil.copyfileobj(file, copy)


@contextmanager
def regular(name: str, place: int) -> Iterator[IO[bytes] | None]:
    """The file called `name` in an open folder, open for reading; None if it is anything but a regular file."""
    try:
        opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
    except OSError:  # a link, a socket, a file that may not be read
        yield None
        return
    with os.fdopen(opened, "rb") as file:
        yield file if stat.S_ISREG(os.fstat(opened).st_mode) else None
