"""Packs what a lab's `check()` and the given cells of its notebook need into one archive, see `course.lab_archive`.

    solutions/NN/{checks,probes,shared,figures,models}/,
    solutions/NN/{hints,questions}.toml                 --> .check.zip in build/solutions/NN/ and in labs/NN/

The bytes follow from these files: there are no dates, and nothing is compressed, as that differs between versions of
zlib.

`python -m autograde.making.archive` writes the archives in a course's `labs/` that are missing or not as their sources
are. `./lockstep lab` and `setup` do it each time, so that a new clone works, and one that was pulled. It needs the
standard library only.
"""

from __future__ import annotations

import io
import os
import sys
import zipfile
from pathlib import Path

from autograde.labs.places import LABS, REPOSITORY
from course.files import write_whole
from course.lab_archive import ARCHIVE, PACKED
from course.lab_choice import FILE, ChoiceError, all_labs, chosen, named_folders, read_choice

DATE = (1980, 1, 1, 0, 0, 0)  # the first that the format has


def ignored(name: Path) -> bool:
    """Whether a file is a tool's leftover: hidden, or compiled Python."""
    return any(part.startswith(".") or part == "__pycache__" for part in name.parts)


def packed(folder: Path) -> bytes:
    """The archive of the lab whose source is in `folder`. Raises OSError."""
    names = (path.relative_to(folder) for name in PACKED for path in (folder / name, *(folder / name).rglob("*")))
    files = {name.as_posix(): folder / name for name in names if (folder / name).is_file() and not ignored(name)}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name, path in sorted(files.items()):
            member = zipfile.ZipInfo(name, DATE)
            member.create_system = 3  # Unix, whatever system packs
            member.external_attr = 0o644 << 16
            archive.writestr(member, path.read_bytes())
    return content.getvalue()


def renew(root: Path) -> list[Path]:
    """Write the archives of the labs in `labs/` of the course at `root` where they are not as their sources are.

    Returns those that it wrote. Raises ChoiceError, OSError.
    """
    choice, written = read_choice(root), []
    for name, folder in chosen(all_labs(root, choice.folders, named_folders()), choice, str(root / FILE)).items():
        path = root / LABS / name / ARCHIVE
        if path.parent.is_dir():
            content = packed(folder)
            if not path.is_file() or path.read_bytes() != content:
                write_whole(path, content)
                path.chmod(0o644)
                written.append(path)
    return written


def main() -> None:
    """See the module. What cannot be written is told, and is no reason not to start what comes next."""
    try:
        renew(Path(os.environ.get("LOCKSTEP_COURSE") or REPOSITORY).resolve())
    except (ChoiceError, OSError) as error:
        print(f"lockstep: the checks of the labs may be missing or old: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
