"""What others can read on a hub's machine that is not for them: homes, classes, solutions in labs' own folders."""

from __future__ import annotations

import pwd
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from course.jupyterhub.courses import Course, everybody
from course.jupyterhub.place import Place
from course.lab_choice import ChoiceError, labs_in


def readable(place: Place, courses: list[Course]) -> Iterator[tuple[str, str]]:
    """What can be read by others, and the command that ends it. What this account cannot see is left out."""
    for name, home in homes(place, courses).items():
        with suppress(OSError):
            if home.stat().st_mode & stat.S_IROTH:
                yield f"{home}, the home of {name}, can be read by others", f"sudo chmod o-rwx {home}"
    for course in courses:
        of_class = place.course(course) / "class"
        for path in (of_class, of_class / "gradebook.db"):
            with suppress(OSError):
                if path.stat().st_mode & stat.S_IROTH and (path == of_class or open_to_all(of_class, stat.S_IXOTH)):
                    yield f"{path} can be read by others", f"sudo chmod go-rwx {path}"
        for folder in course.choice.folders:
            with suppress(ChoiceError, OSError):
                for lab in labs_in(Path(folder), "labs_folders"):
                    if open_to_all(lab / "lab.py", stat.S_IROTH):
                        seen = f"{lab}, with its solutions, can be read by all students"
                        yield seen, f"sudo chown -R :{course.grader} {lab} && sudo chmod -R g+rX,o-rwx {lab}"


def homes(place: Place, courses: list[Course]) -> dict[str, Path]:
    """The homes of everybody on the hub, by name."""
    if place.root.stat().st_uid:
        return {path.name: path for path in place.homes.glob("*")}
    found = {}
    for name in everybody(courses):
        with suppress(KeyError):  # without an account; that is said elsewhere
            found[name] = Path(pwd.getpwnam(name).pw_dir)
    return found


def open_to_all(path: Path, wanted: int) -> bool:
    """Whether the permission bit `wanted` is set, and every account can enter all folders above."""
    path = path.resolve()
    return bool(path.stat().st_mode & wanted) and all(each.stat().st_mode & stat.S_IXOTH for each in path.parents)
