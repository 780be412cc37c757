"""Which labs a course has, in which order: those of its `solutions/` and of its instructors' own folders, or fewer.

`course.toml` in the course's folder chooses; on a hub it is made from the course's table in courses.toml:

    labs = ["03_pi_allreduce", "20_my_lab"]        # in this order; without this line: all, in order of name
    labs_folders = ["/home/iris/labs"]             # where there are more labs than in solutions/

LOCKSTEP_LABS names more folders, separated by `:`. Each is a lab, with its `lab.py`, or a folder of labs.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VARIABLE = "LOCKSTEP_LABS"
FILE = "course.toml"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")  # becomes a file's name, and a part of one in nbgrader's exchange


class ChoiceError(Exception):
    """A course's choice of labs cannot be had. The message is one line: the place, and what is expected."""


@dataclass(frozen=True)
class Choice:
    """What a course chooses. labs: None means all. folders: paths of more labs."""

    labs: tuple[str, ...] | None = None
    folders: tuple[str, ...] = ()

    def text(self) -> str:
        """As the content of course.toml; empty if all is as it is without that file."""
        lines = [] if self.labs is None else [f"labs = {json.dumps(self.labs)}\n"]
        return "".join(lines + ([f"labs_folders = {json.dumps(self.folders)}\n"] if self.folders else []))


def parse_choice(table: Mapping[str, Any], where: str) -> Choice:
    """The choice in a TOML table, whose other keys are not looked at. where: begins messages. Raises ChoiceError."""
    for key, example in (("labs", "03_pi_allreduce"), ("labs_folders", "/home/iris/labs")):
        value = table.get(key, [example])
        if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
            raise ChoiceError(f'{where}: {key} is a list with at least one text, as ["{example}"]')
    for folder in table.get("labs_folders", []):
        if not os.path.isabs(folder):
            raise ChoiceError(f"{where}: labs_folders: {folder!r} must begin with /")
    labs = tuple(dict.fromkeys(table["labs"])) if "labs" in table else None
    return Choice(labs, tuple(table.get("labs_folders", ())))


def read_choice(root: Path) -> Choice:
    """The choice in the `course.toml` of the course at `root`; all labs if there is none. Raises ChoiceError."""
    path = root / FILE
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Choice()
    except (OSError, ValueError) as error:  # ValueError: not TOML, or not UTF-8
        raise ChoiceError(f"{path} cannot be read: {error}") from error
    if unknown := sorted(table.keys() - {"labs", "labs_folders"}):
        raise ChoiceError(f"{path} has `labs` and `labs_folders`, and nothing else; not `{unknown[0]}`")
    return parse_choice(table, str(path))


def named_folders() -> list[str]:
    """The folders that LOCKSTEP_LABS names."""
    return [folder for folder in os.environ.get(VARIABLE, "").split(os.pathsep) if folder]


def all_labs(root: Path, folders: Iterable[str] = (), named: Iterable[str] = ()) -> dict[str, Path]:
    """The folders of the labs in the course's `solutions/`, in `folders`, and in those `named` by LOCKSTEP_LABS.

    By name, in its order. Raises ChoiceError for a folder without labs, and for two labs of one name.
    """
    found = {path.parent.name: path.parent for path in (root / "solutions").glob("*/lab.py")}
    own = [(folder, "labs_folders") for folder in folders] + [(folder, VARIABLE) for folder in named]
    for folder, source in own:
        for lab in labs_in(Path(folder).absolute(), source):
            known = found.setdefault(lab.name, lab)
            if known.resolve() != lab.resolve():
                raise ChoiceError(f"{source}: two labs are called {lab.name}: {known} and {lab}; rename one of them")
    return dict(sorted(found.items()))


def labs_in(folder: Path, source: str) -> list[Path]:
    """The lab at `folder`, or the labs in it. source: who named it. Raises ChoiceError."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise ChoiceError(f"{source}: {folder} cannot be read: {error.strerror}") from error
    labs = [folder] if "lab.py" in names else [folder / name for name in names if (folder / name / "lab.py").is_file()]
    if not labs:
        raise ChoiceError(f"{source}: {folder} is no lab and has none in it: there is no lab.py")
    for lab in labs:
        if not NAME.fullmatch(lab.name):
            raise ChoiceError(f"{source}: {lab}: a lab's name has letters, digits, _ and - only, e.g. 20_my_lab")
    return labs


def chosen(labs: Mapping[str, Path], choice: Choice, where: str) -> dict[str, Path]:
    """Those of `labs` that are chosen, in that order. where: begins messages. Raises ChoiceError for an unknown one."""
    names = labs if choice.labs is None else choice.labs
    for name in names:
        if name not in labs:
            there_are = f"there are: {', '.join(labs)}" if labs else "there are none"
            raise ChoiceError(f"{where}: no lab `{name}`; {there_are}")
    return {name: labs[name] for name in names}
