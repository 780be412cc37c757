"""`lockstep new`: makes the folder of a new lab, from the examples in solutions/README.md."""

from __future__ import annotations

import contextlib
import os
import re
from keyword import iskeyword
from pathlib import Path

from autograde.labs.folder import LabError
from autograde.labs.places import REPOSITORY
from course.lab_choice import FILE, read_choice

GUIDE = Path("solutions", "README.md")
TODO = "pass_on"  # of the example
NAME = re.compile(r"[0-9]{2}_[a-z][a-z0-9_]*")
EXAMPLE = re.compile(r"^```(?:python|toml) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def make_lab(root: Path, name: str, parent: Path | None = None, todo: str = TODO) -> Path:
    """Make a lab's folder in `parent`, by default `solutions/` of the course at `root`. todo: what its one TODO is
    called.

    Returns it. Raises LabError if a name is bad or taken.
    """
    if not NAME.fullmatch(name):
        raise LabError(
            f"{name!r} cannot be the name of a lab; it has two digits, `_` and small letters, e.g. 15_my_lab"
        )
    if not todo.isidentifier() or iskeyword(todo):
        raise LabError(f"{todo!r} cannot be the name of a TODO, which is that of a function: e.g. pass_on")
    examples = read_examples(root)
    folder = (parent or root / "solutions") / name
    if folder.exists():
        raise LabError(f"{folder} is there already; choose another name")
    number, title = name[:2], name[3:].replace("_", " ").capitalize()
    for file, text in examples:
        path = folder / file.replace(TODO, todo)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            text.replace("15 My lab", f"{number} {title}").replace("lab 15", f"lab {number}").replace(TODO, todo),
            encoding="utf-8",
        )
    return folder


def read_examples(root: Path) -> list[tuple[str, str]]:
    """The example lab's files and their texts, of the clone's guide; on a hub, where only root reads that, of the
    course's copy. Raises LabError if there is neither."""
    for place in (REPOSITORY, root):
        with contextlib.suppress(OSError):
            if examples := EXAMPLE.findall((place / GUIDE).read_text(encoding="utf-8")):
                return examples
    raise LabError(
        "a bundle cannot make labs: that takes solutions/README.md; use a clone of Lockstep, or on a hub the course's "
        "terminal"
    )


def next_steps(root: Path, name: str, parent: Path | None = None, todo: str = TODO) -> str:
    """What to do with a lab that was made in `parent`, or in `solutions/` of the course at `root`. Raises
    ChoiceError."""
    steps = [f"export LOCKSTEP_LABS={parent.absolute()}"] if parent else []
    chosen = read_choice(root).labs
    if chosen is not None and name not in chosen:
        steps.append(f'put "{name}" into the line `labs` of {root / FILE}')
    steps.append(f"./lockstep build {name}")
    if os.access(REPOSITORY / "tests", os.R_OK | os.X_OK):  # not on a hub, where they are closed as solutions are
        steps += [f"./lockstep try {name} {todo}", f"./lockstep test --lab {name}"]
    return ", then ".join(steps)
