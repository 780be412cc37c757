"""The current folder and Python's path: what lies beside a notebook must not be taken for a library.

`python -m` looks into the current folder first. There, a student's random.py hides Python's own module from all that a
rank imports. So the programs of a world are started by `python -P`, and look there last.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder, all_suffixes
from pathlib import Path

SAFE_PATH = "PYTHONSAFEPATH"  # what `python -P` is as a variable
KIT = Path(__file__).resolve().parents[3]  # where `course` is
DISTRIBUTIONS = ("lockstep-course", "horovod")  # the kit's, and one that is installed without being required
# Python's modules that no library imports, by whose names people call files of their own.
UNUSED = {"test", "this", "antigravity", "turtle", "turtledemo", "idlelib"}


class HidingFile(ImportError):
    """A file of the current folder was imported instead of a library that the kit needs. Says which, in a line each."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def libraries_first() -> None:
    """Let this process import from the current folder after everything else. Raises HidingFile if it has taken what
    the kit needs from there before."""
    if same_folder(".", str(KIT)) or not (those := [path for path in sys.path if not path or same_folder(path, ".")]):
        return
    if hiding := taken():
        raise HidingFile("\n".join(f"{sentence[:-1]}, and restart the kernel." for sentence in sentences(hiding)))
    last(those)


def folder_last() -> None:
    """The same for a process that was started by `python -P`."""
    os.environ.pop(SAFE_PATH, None)
    last([""])


def last(paths: list[str]) -> None:
    """Have Python look there last: also after the kit, which it may find by other means than a path."""
    libraries = [path for path in sys.path if path and path not in paths]
    sys.path[:] = list(dict.fromkeys([*libraries, str(KIT), *paths]))


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
            found = [(entry.name, entry.is_dir()) for entry in entries]
    except OSError:
        return []
    modules = []
    for name, is_folder in found:
        if is_folder and any(os.path.isfile(os.path.join(folder, name, f"__init__{end}")) for end in all_suffixes()):
            modules.append((name, f"{name}/"))
        elif not is_folder and (end := next((end for end in all_suffixes() if name.endswith(end)), None)):
            modules.append((name.removesuffix(end), name))
    return sorted(modules)


def elsewhere(name: str, path: Sequence[str], folder: str) -> bool:
    """Whether a library of this name is on `path`, or in the kit where that is not `folder` itself."""
    if (KIT / name / "__init__.py").is_file():
        return not same_folder(str(KIT), folder)
    spec = PathFinder.find_spec(name, path)
    return spec is not None and spec.origin is not None


def sentences(hides: dict[str, str]) -> list[str]:
    """What to do about each of these files. hides: from `hidden`."""
    return [f"{name} in this folder hides {what}: give it another name." for name, what in hides.items()]


def taken() -> dict[str, str]:
    """Of the files and packages of the current folder that hide a module, those which this process has imported instead
    of one that the kit needs."""
    found = {shown: what for shown, what in hidden().items() if from_folder(shown.partition(".")[0].rstrip("/"))}
    if not found:
        return {}
    names = needed()
    return {shown: what for shown, what in found.items() if what.rpartition(" ")[2] in names}


def from_folder(name: str) -> bool:
    """Whether this process has imported a module of this name from the current folder."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        return False
    place = Path(file).parent
    return same_folder(str(place.parent if Path(file).stem.partition(".")[0] == "__init__" else place), ".")


def needed() -> set[str]:
    """Names of the modules that the kit needs: Python's, its own, and those of the libraries that it requires."""
    from importlib import metadata  # not at the top: each process imports this module, and few need that

    waiting, known = [*DISTRIBUTIONS], set()
    while waiting:
        name = normal(waiting.pop())
        if name in known:
            continue
        known.add(name)
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        waiting += [re.match(r"[\w.-]+", line)[0] for line in lines if "extra ==" not in line]
    libraries = metadata.packages_distributions().items()
    modules = {module for module, names in libraries if any(normal(name) in known for name in names)}
    return modules | {"course", "autograde"} | sys.stdlib_module_names


def normal(name: str) -> str:
    """A distribution's name as the packaging guide normalizes it."""
    return re.sub(r"[-_.]+", "-", name).lower()
