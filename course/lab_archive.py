"""The archive in a lab's folder, with all that `check()` and the given cells of its notebook import or read.

Python finds modules in it as in a folder. Its name begins with a dot, so JupyterLab's file browser does not show it.
`lockstep build` makes it, and `./lockstep lab` and `setup` where it is missing or old; git does not keep it.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

ARCHIVE = ".check.zip"
# The packages that a lab may have in it: those that run beside a student's code, those that a check is made of, and
# those that the given cells import.
BESIDE_STUDENTS = ("probes", "shared", "models")
JUDGING = ("checks", *BESIDE_STUDENTS)
GIVEN = ("figures", "models")
HINTS, QUESTIONS = "hints.toml", "questions.toml"
PACKED = frozenset({*JUDGING, *GIVEN, HINTS, QUESTIONS})
MAKE = "`./lockstep setup` makes {one} in a clone of Lockstep; elsewhere, {otherwise}fetch the lab again."


class ArchiveError(ImportError):
    """A lab's archive is missing or damaged. The message is one sentence, with what to do."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def archive_files(folder: Path | str) -> dict[str, bytes]:
    """The contents of the archive of the lab in `folder`, by path in it. All of it is read. Raises ArchiveError."""
    path = Path(folder).absolute() / ARCHIVE
    try:
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except FileNotFoundError:
        how = MAKE.format(one="it", otherwise="")
        raise ArchiveError(f"There is no {ARCHIVE} in {path.parent}, with the checks of the lab: {how}") from None
    except Exception as error:  # zipfile raises many kinds for what is no whole archive
        how = MAKE.format(one="a new one", otherwise="delete it and ")
        raise ArchiveError(f"{path}, with the checks of the lab, cannot be read ({error}): {how}") from None
