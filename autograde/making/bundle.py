"""`lockstep bundle`: packs a lab for a JupyterHub that is not ours, or for a laptop: no nbgrader, no exchange.

    LAB.tar.gz --> LAB-bundle/README.txt    how to install and open it
                              LAB/          what students get: notebook, checks, glossary; the deadline, if it has one
                              kit/          the packages that the notebook imports, and the script that sets them up

No solution, variant or test goes into it. Every byte follows from the sources, as with `lockstep build`.

`python -m autograde.making.bundle FOLDER` writes the same kit with all labs into a folder: what the containers of
students have. Containerfile and slurm/lockstep.def run it.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import sys
import tarfile
from datetime import datetime
from pathlib import Path

from autograde.labs.folder import Lab, find_labs
from autograde.labs.places import LABS, REPOSITORY
from autograde.making.archive import ignored
from autograde.making.build import File, beside_labs, build, write_file
from course.exchange.due import BESIDE, FORMAT, content_of
from course.files import write_whole

PACKAGES = ("autograde", "course")
FILES = ("LICENSE", "LICENSE-CC-BY-4.0", "environment.yml", "lockstep", "pyproject.toml")  # those that there are
LEFT_OUT = ("course/pictures/",)  # of README.md and docs/
README = """{name}

This folder holds a lab on distributed training, and the software that it runs on. You need Linux, some GB of disk, and
1 GB of memory for four ranks; a GPU is not needed.

1. Set up the kit, once. It goes into kit/.venv and changes nothing else:

       cd kit
       ./lockstep setup

   It takes some minutes and needs the network. If something is missing, it says what, and how to get it.
   Where you have conda and GPUs, take the other way:

       conda env create -f environment.yml && conda activate lockstep && pip install --no-deps .

2. Tell Jupyter about it (with conda: python instead of .venv/bin/python):

       .venv/bin/python -m ipykernel install --user --name lockstep --display-name Lockstep

   For all users of a hub, an admin leaves --user out, and puts the folder where all can read it.

3. Open {name}/{notebook} in JupyterLab, choose the kernel "Lockstep" at the top right, and run the cells from
   top to bottom. Without a Jupyter of your own: .venv/bin/jupyter lab

Checks give feedback in the notebook. To hand in, send the notebook to your instructor as your course does it{due}.

For instructors: only the folder {name} is for students to change. It may be copied to each student; the kit is needed
once for each machine.
"""


class BundleError(Exception):
    """A bundle cannot be written. The message names the file and says what to do."""


def kit_files() -> dict[str, File]:
    """The files of the kit that students get, by path in it."""
    found = [REPOSITORY / name for name in FILES]
    found += [path for package in PACKAGES for path in (REPOSITORY / package).rglob("*")]
    files = {}
    for path in sorted(found):
        name = path.relative_to(REPOSITORY)
        if path.is_file() and not ignored(name) and not name.as_posix().startswith(LEFT_OUT):
            files[name.as_posix()] = File(path.read_bytes(), bool(path.stat().st_mode & 0o100))
    return files


def bundle_files(lab: Lab, deadline: datetime | None) -> dict[str, File]:
    """The files of the lab's bundle, by path in it. deadline: the class's, naive UTC. Raises LabError."""
    due = f",\nby {deadline.strftime(FORMAT)} unless it has told you otherwise" if deadline else ""
    text = README.format(name=lab.name, notebook=lab.notebook, due=due)
    files = {"README.txt": File(text.encode())}
    if deadline:
        files[f"{lab.name}/{BESIDE}"] = File(content_of(deadline))
    files |= {f"{lab.name}/{name}": file for name, file in build(lab).student.items()}
    return files | {f"kit/{name}": file for name, file in kit_files().items()}


def write_students_clone(labs: list[Lab], folder: Path) -> None:
    """Write the kit and `labs`, as students get them, into `folder`. Raises LabError."""
    files = kit_files()
    for lab in labs:
        files |= {f"{LABS}/{lab.name}/{name}": file for name, file in build(lab).student.items()}
        files |= {f"{LABS}/{name}": file for name, file in beside_labs(lab).items()}
    for name, file in files.items():
        write_file(folder / name, file)


def packed(folder: str, files: dict[str, File]) -> bytes:
    """A .tar.gz of the files in one `folder`, without dates or names of users."""
    content = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=content, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as archive,
    ):
        for name, file in sorted(files.items()):
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size, member.mode = len(file.content), 0o755 if file.executable else 0o644
            archive.addfile(member, io.BytesIO(file.content))
    return content.getvalue()


def write_bundle(lab: Lab, target: Path, deadline: datetime | None = None) -> Path:
    """Write the lab's bundle to the file `target`, or into it if it is a folder. Returns the file's path.

    deadline: the class's, naive UTC; README.txt and the notebook tell it. Raises LabError if
    the lab cannot be built, BundleError if the file is there already or cannot be written.
    """
    path = target / f"{lab.name}.tar.gz" if target.is_dir() else target
    if os.path.lexists(path):
        raise BundleError(f"{path} is there already; move it away, or name another file")
    content = packed(f"{lab.name}-bundle", bundle_files(lab, deadline))
    try:
        write_whole(path, content)
    except OSError as error:
        room = f"; it takes {len(content) / 2**20:.1f} MiB" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise BundleError(f"{path} is not written: {error.strerror}{room}") from error
    return path


if __name__ == "__main__":
    write_students_clone(find_labs(REPOSITORY), Path(sys.argv[1]))
