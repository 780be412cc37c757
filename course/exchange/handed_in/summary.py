"""What a student is told of what was just handed in: the file, and how far its TODOs are by what is saved in it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from course.exchange.due import to_the_minute
from course.exchange.limits import NOTEBOOKS
from course.overview.cells import NoNotebook, cells_of
from course.overview.progress import Todo, todos
from course.watch.wording import enumerate_words


def summary(folder: Path, lab: str) -> str:
    """Sentences on what is in a submission's folder. Raises OSError."""
    notebook = folder / f"{lab}.ipynb"
    if not notebook.is_file():
        others = ", ".join(sorted(path.name for path in folder.iterdir() if path.name.lower().endswith(NOTEBOOKS)))
        return f"There is no {notebook.name} in it{f', but {others}' if others else ''}."
    saved = to_the_minute(datetime.fromtimestamp(notebook.stat().st_mtime, UTC).replace(tzinfo=None))
    taken = f"{notebook.name} was taken as it was saved at {saved}."
    try:
        found = todos(cells_of(notebook))
    except NoNotebook as error:
        return f"{taken} It cannot be read: {error}."
    return f"{taken} {how_far(found)}" if found else taken


def how_far(found: list[Todo]) -> str:
    """How many checks have passed, and why the others have not, in a sentence."""
    passed = sum(one.passed for one in found)
    left = [one for one in found if not one.passed]
    kinds = (
        ("is untouched", "are untouched", [one.name for one in left if one.untouched]),
        ("failed its check", "failed their checks", [one.name for one in left if not one.untouched and one.checked]),
        (
            "is not checked as it is now",
            "are not checked as they are now",
            [one.name for one in left if not one.untouched and not one.checked],
        ),
    )
    have = "has" if passed == 1 else "have"
    more = [f"{quoted(names)} {many if len(names) > 1 else one}" for one, many, names in kinds if names]
    return "; ".join([f"{passed} of {len(found)} checks {have} passed in it", *more]) + "."


def quoted(names: list[str]) -> str:
    """Names in a sentence: `a`, `b` and `c`."""
    return enumerate_words([f"`{name}`" for name in names])
