"""What in `labs/` is not as `build` makes it: for `lockstep build --check`, and for what is left over there."""

from __future__ import annotations

from pathlib import Path

from autograde.making.archive import ignored
from autograde.making.build import Built, beside_labs, same
from course.lab_archive import ARCHIVE


def differences(builts: list[Built], root: Path) -> list[str]:
    """One line for each file of `labs/` that is missing, or differs from what `build` makes; archives, which git does
    not keep, left out."""
    files = [(f"labs/{built.lab.name}/{name}", file) for built in builts for name, file in built.student.items()]
    files = [(name, file) for name, file in files if not name.endswith(f"/{ARCHIVE}")]
    files += {f"labs/{name}": file for built in builts for name, file in beside_labs(built.lab).items()}.items()
    return [
        f"{name} {'is not what its source makes' if (root / name).exists() else 'is missing'}; run `lockstep build`"
        for name, file in files
        if not same(root / name, file)
    ]


def foreign_files(builts: list[Built], root: Path) -> list[str]:
    """One line for each folder or file in `labs/` that belongs to no lab of `builts`. Deletes nothing."""
    folders = {built.lab.name: built.student for built in builts}
    shared = {name for built in builts for name in beside_labs(built.lab)}
    lines = []
    for path in sorted((root / "labs").glob("*")):
        if ignored(Path(path.name)) or path.name in shared:
            continue
        if path.name not in folders:
            lines.append(f"labs/{path.name} is made by no lab of this course; if it is left over, delete it")
        for inside in sorted(path.rglob("*")) if path.name in folders else []:
            name = inside.relative_to(path)
            if inside.is_file() and not ignored(name) and name.as_posix() not in folders[path.name]:
                lines.append(f"labs/{path.name}/{name} is not made by `lockstep build`, and is not released")
    return lines
