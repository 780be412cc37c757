"""What becomes of a file while a rank writes it anew: which files it touches, and what a crash would leave behind.

A process that is killed leaves the folder as it is just then. So the folder is looked at whenever something in it
changes, also in the middle of what `torch.save` writes.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch

MOST = 60  # moments that are kept


@contextmanager
def watched_folder(path: str, look: Callable[[str], Any], delay: float = 0.0) -> Iterator[dict]:
    """Note what this rank does in the folder of the file `path` until the block ends.

    Gives `touched`, names of files that were written, renamed or removed, and `moments`, for each change
    ``{"file": look(path), "others": names of the other files}``, those in a folder below as "folder/name", and the
    folder itself as "folder/". delay: seconds that each change takes longer, so that
    those who do not wait for it are seen. The folder is on a disk of its own: nothing can be renamed into it from
    elsewhere, but from beside it.
    """
    seen: dict[str, list] = {"touched": [], "moments": []}
    folder = os.path.dirname(os.path.abspath(path))
    with ExitStack() as stack:
        watch = Watch(folder, path, look, delay, seen)
        opened = watch.opening(builtins.open)
        for module in (builtins, io):
            stack.enter_context(mock.patch.object(module, "open", opened))
        stack.enter_context(mock.patch.object(os, "open", watch.opening_descriptor(os.open)))
        for name in ("rename", "replace", "link", "symlink"):
            stack.enter_context(mock.patch.object(os, name, watch.moving(getattr(os, name))))
        for name in ("remove", "unlink", "truncate"):
            stack.enter_context(mock.patch.object(os, name, watch.changing(getattr(os, name))))
        saving = watch.saving(torch.save)
        for module in (torch, torch.serialization):
            stack.enter_context(mock.patch.object(module, "save", saving))
        yield seen


class Watch:
    """Puts itself around functions that change files. The attributes are the arguments of `watched_folder`."""

    def __init__(self, folder: str, path: str, look: Callable[[str], Any], delay: float, seen: dict) -> None:
        self.folder = folder
        self.path = path
        self.look = look
        self.delay = delay
        self.seen = seen
        self.open = open

    def inside(self, path: Any) -> bool:
        """Whether a path is in the folder."""
        return isinstance(path, (str, bytes, os.PathLike)) and self.folder == os.path.dirname(whole(path))

    def near(self, path: Any) -> bool:
        """Whether a path is on the folder's disk: in it, below it, or beside it."""
        return whole(path).startswith(os.path.dirname(self.folder) + os.sep)

    def changed(self, *paths: Any) -> None:
        """Note that these files changed, and how the folder looks now."""
        self.seen["touched"] += [os.path.basename(whole(path)) for path in paths if self.inside(path)]
        others = sorted({*below(self.folder)} - {os.path.basename(self.path)})
        if len(self.seen["moments"]) < MOST:
            self.seen["moments"].append({"file": self.look(self.path), "others": others})

    def opening(self, function: Callable) -> Callable:
        """Around `open`."""

        def opened(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            result = function(file, mode, *args, **kwargs)
            if set(mode) & set("wax+") and self.inside(file):
                self.changed(file)
                time.sleep(self.delay)
            return result

        return opened

    def opening_descriptor(self, function: Callable) -> Callable:
        """Around `os.open`."""

        def opened(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
            result = function(path, flags, *args, **kwargs)
            if flags & (os.O_WRONLY | os.O_RDWR) and self.inside(path):
                self.changed(path)
            return result

        return opened

    def moving(self, function: Callable) -> Callable:
        """Around `os.rename` and its like, which cannot leave a disk."""

        def moved(source: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            if not (self.inside(source) or self.inside(target)):
                return function(source, target, *args, **kwargs)
            if function.__name__ != "symlink" and not (self.near(source) and self.near(target)):
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(source), None, str(target))
            if os.path.dirname(os.path.dirname(whole(source))) == self.folder:
                self.changed()  # what is in a folder below was not looked at while it was written
            time.sleep(self.delay)
            result = function(source, target, *args, **kwargs)
            self.changed(source, target)
            return result

        return moved

    def changing(self, function: Callable) -> Callable:
        """Around `os.remove` and its like."""

        def change(path: Any, *args: Any, **kwargs: Any) -> Any:
            result = function(path, *args, **kwargs)
            if self.inside(path):
                self.changed(path)
            return result

        return change

    def saving(self, function: Callable) -> Callable:
        """Around `torch.save`, whose writing to a path Python does not see: it is stopped half-way for a look."""

        def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
            if not self.inside(f):
                function(obj, f, *args, **kwargs)
                return
            content = io.BytesIO()
            function(obj, content, *args, **kwargs)
            written, half = content.getvalue(), content.tell() // 2
            with self.open(f, "wb") as file:
                file.write(written[:half])
                file.flush()
                self.changed(f)
                time.sleep(self.delay)
                file.write(written[half:])
            self.changed(f)

        return save


def whole(path: Any) -> str:
    """A path as absolute text."""
    return os.path.abspath(os.fsdecode(path))


def below(folder: str) -> Iterator[str]:
    """Names of what is in a folder, and in the folders there; these end in a stroke."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            yield f"{entry.name}/" if entry.is_dir() else entry.name
            if entry.is_dir():
                yield from (f"{entry.name}/{name}" for name in os.listdir(entry.path))


def leave_half(folder: Path, name: str) -> None:
    """Leave what a crash in the middle of writing leaves of a file, or of a folder. name: see `below`."""
    path = folder / name
    (path if name.endswith("/") else path.parent).mkdir(exist_ok=True)
    if not name.endswith("/"):
        half_a_file(path)


def half_a_file(path: Path) -> None:
    """Leave what a crash in the middle of writing leaves."""
    path.write_bytes(b"PK\x03\x04 half of a checkpoint")
