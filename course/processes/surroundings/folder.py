"""The current folder and Python's path: what lies beside a notebook must not be taken for a library.

`python -m` looks into the current folder first. There, a student's random.py hides Python's own module from all that a
rank imports. So the programs of a world are started by `python -P`, and look there last.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path

SAFE_PATH = "PYTHONSAFEPATH"  # what `python -P` is as a variable
KIT = Path(__file__).resolve().parents[3]  # where `course` is
# Python's modules that no library imports, by whose names people call files of their own.
UNUSED = {"test", "this", "antigravity", "turtle", "turtledemo", "idlelib"}


def folder_last() -> None:
    """Let this process import from the current folder, after everything else; it was started by `python -P`."""
    os.environ.pop(SAFE_PATH, None)
    sys.path[:] = [path for path in sys.path if path] + [""]


def search_path() -> list[str]:
    """Where this process looks for modules, without the current folder (unless that is the kit's)."""
    return [path for path in sys.path if path and (not same_folder(path, ".") or same_folder(path, str(KIT)))]


def here() -> str | None:
    """The current folder; None where somebody has deleted it."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None


def same_folder(one: str, other: str) -> bool:
    """Whether two paths are one folder; False where there is none."""
    return os.path.isdir(one) and os.path.isdir(other) and os.path.samefile(one, other)


def hidden(folder: str = ".") -> dict[str, str]:
    """Files and packages in `folder` that hide a module by their name: each with what it hides, in words."""
    path = [each for each in sys.path if each and not same_folder(each, folder)]
    found = {}
    for name, shown in modules_in(folder):
        if name in UNUSED or not name.isidentifier():
            continue
        if name in sys.stdlib_module_names:
            found[shown] = f"Python's own module {name}"
        elif elsewhere(name, path, folder):
            found[shown] = f"the library {name}"
    return found


def modules_in(folder: str) -> list[tuple[str, str]]:
    """Names of the modules in a folder, each with the file or folder that it is there. None where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(
                (entry.name.partition(".")[0], entry.name + "/" * entry.is_dir())
                for entry in entries
                if (entry.is_file() and entry.name.endswith((".py", ".so")))
                or os.path.isfile(os.path.join(folder, entry.name, "__init__.py"))
            )
    except OSError:
        return []


def elsewhere(name: str, path: Sequence[str], folder: str) -> bool:
    """Whether a library of this name is on `path`, or in the kit where that is not `folder` itself."""
    if (KIT / name / "__init__.py").is_file():
        return not same_folder(str(KIT), folder)
    spec = PathFinder.find_spec(name, path)
    return spec is not None and spec.origin is not None


def sentences(hides: dict[str, str]) -> list[str]:
    """What to do about each of these files. hides: from `hidden`."""
    return [f"{name} in this folder hides {what}: give it another name." for name, what in hides.items()]


def libraries_hidden_here() -> list[str]:
    """What to do about the files by which this process, unlike its ranks, takes a library for what is beside it."""
    if not any(not path or same_folder(path, ".") for path in sys.path):
        return []
    return sentences({name: what for name, what in hidden().items() if what.startswith("the library")})


@contextmanager
def named_if_hidden() -> Iterator[None]:
    """If an import fails in this block, its error tells which files of the current folder hide modules."""
    try:
        yield
    except Exception as error:
        for sentence in sentences(hidden()):
            error.add_note(sentence)
        raise
