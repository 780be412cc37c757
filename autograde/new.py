"""`lockstep new`: makes the folder of a new lab, from the examples in solutions/README.md."""

from __future__ import annotations

import re
from pathlib import Path

from autograde.contract.labs import LabError

GUIDE = Path(__file__).resolve().parents[1] / "solutions" / "README.md"
NAME = re.compile(r"[0-9]{2}_[a-z][a-z0-9_]*")
EXAMPLE = re.compile(r"^```(?:python|toml) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def make_lab(root: Path, name: str, parent: Path | None = None) -> Path:
    """Make a lab's folder in `parent`, by default `solutions/` of the course at `root`.

    Returns it. Raises LabError if the name is bad or taken.
    """
    if not NAME.fullmatch(name):
        raise LabError(
            f"{name!r} cannot be the name of a lab; it has two digits, `_` and small letters, e.g. 13_my_lab"
        )
    if not GUIDE.is_file():
        raise LabError("a bundle cannot make labs: that takes solutions/README.md; use a clone of Lockstep")
    folder = (parent or root / "solutions") / name
    if folder.exists():
        raise LabError(f"{folder} is there already; choose another name")
    number, title = name[:2], name[3:].replace("_", " ").capitalize()
    for file, text in EXAMPLE.findall(GUIDE.read_text(encoding="utf-8")):
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            text.replace("13 My lab", f"{number} {title}").replace("lab 13", f"lab {number}"), encoding="utf-8"
        )
    return folder
