"""The texts of a lab that were released: each is kept in the exchange, and the notebook says of which one it is.

    outbound/.LAB.releases/2026-11-28T153400Z+STAMP/    the files of a release, as students got them

The stamp, a digest of all files, is in the notebook's metadata, as `lockstep.release`. It stays there whatever a
student writes. A notebook without it, such as one from a clone, is of the release with which it has most cells in
common.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat

from course.corrections.cells import mark
from course.notebook_file import as_bytes
from course.overview.cells import OWN_METADATA, NoNotebook, own_metadata, read_notebook

TIME = "%Y-%m-%dT%H%M%SZ"


@dataclass(frozen=True)
class Release:
    """A text of a lab. folder: with its files. when: it was first released, naive UTC."""

    lab: str
    folder: Path
    when: datetime
    stamp: str

    @cached_property
    def notebook(self) -> dict[str, Any]:
        """Its notebook. Raises OSError, NoNotebook."""
        return read_notebook((self.folder / f"{self.lab}.ipynb").read_bytes())

    @cached_property
    def files(self) -> dict[str, Path]:
        """Its other files, by path in the lab's folder."""
        found = {path.relative_to(self.folder).as_posix(): path for path in sorted(self.folder.rglob("*"))}
        return {name: path for name, path in found.items() if path.is_file() and name != f"{self.lab}.ipynb"}


def stamp_of(files: Mapping[str, bytes]) -> str:
    """The stamp of a release with these files, by path, of which no notebook has one yet."""
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def with_stamp(notebook: bytes, stamp: str) -> bytes:
    """The notebook with a stamp in its metadata."""
    read = nbformat.reads(notebook.decode(), as_version=4)
    read.metadata.setdefault(OWN_METADATA, {})["release"] = stamp
    return as_bytes(read)


def stamp_in(notebook: dict[str, Any]) -> str:
    """The stamp in a notebook; empty if it has none."""
    return own_metadata(notebook).get("release", "")


def released_stamp(root: Path | str, course: str, lab: str) -> str:
    """The stamp of what is released now in the exchange at `root`; empty if it has none, or nothing is."""
    try:
        return stamp_in(read_notebook(Path(root, course, "outbound", lab, f"{lab}.ipynb").read_bytes()))
    except (OSError, NoNotebook):
        return ""


def folder_of(root: Path | str, course: str, lab: str) -> Path:
    """Where the releases of a lab are kept. Neither nbgrader's `list` nor its `fetch` looks there."""
    return Path(root, course, "outbound", f".{lab}.releases")


def kept(root: Path | str, course: str, lab: str) -> list[Release]:
    """The releases of a lab, oldest first; none if there are none."""
    found = []
    for folder in folder_of(root, course, lab).glob("[!.]*+*"):
        time, _, stamp = folder.name.partition("+")
        try:
            found.append(Release(lab, folder, datetime.strptime(time, TIME), stamp))
        except ValueError:
            continue
    return sorted(found, key=lambda release: release.when)


def current(root: Path | str, course: str, lab: str) -> Release | None:
    """The release that students get now; None if it is not known."""
    stamp = released_stamp(root, course, lab)
    return next((release for release in reversed(kept(root, course, lab)) if stamp and release.stamp == stamp), None)


def keep(root: Path | str, course: str, lab: str) -> bool:
    """Keep what is released now, unless that is the last that was kept. Returns whether it is new. Raises OSError."""
    stamp, before = released_stamp(root, course, lab), kept(root, course, lab)
    if not stamp or (before and before[-1].stamp == stamp):
        return False
    place = folder_of(root, course, lab)
    place.mkdir(exist_ok=True)
    part = place / ".part"
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(Path(root, course, "outbound", lab), part)
    for path in (place, part, *part.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    now = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
    if before:  # in the same second, or before a clock was set
        now = max(now, before[-1].when + timedelta(seconds=1))
    part.rename(place / f"{now.strftime(TIME)}+{stamp}")
    return True


def release_of(notebook: dict[str, Any], releases: Iterable[Release]) -> Release | None:
    """Of which of the releases, oldest first, a student's notebook is; None if that is not known."""
    releases = list(releases)
    if stamp := stamp_in(notebook):
        return next((release for release in reversed(releases) if release.stamp == stamp), None)
    texts = [{mark(cell) for cell in release.notebook["cells"]} for release in releases]
    own = {mark(cell) for cell in notebook["cells"]} & set().union(*texts)
    if not own:
        return None
    differing = [len(text ^ own) for text in texts]
    return next(
        release for release, number in reversed([*zip(releases, differing, strict=True)]) if number == min(differing)
    )
