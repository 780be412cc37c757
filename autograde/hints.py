"""A lab's hints: three for each TODO, in its `hints.toml`; and the note of those that a student has unfolded.

    [partial_sum]
    question = "Which slices are a rank's own, and how does that follow from its number?"
    pointer = "Lab 03, section 1; numpy's `arange` takes a step."
    skeleton = '''
    def partial_sum(f, intervals, rank, size):
        x = ...
    '''

Students have this file in the lab's archive. The note is `hints_taken.json` beside the notebook, and is handed in with
it. It is for the instructor, and costs no points; a student can delete it, so it is never more than what a student lets
us know.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from autograde.labs.folder import LabError
from course.files import Unreadable, read_plain, write_whole
from course.lab_archive import HINTS

TAKEN = "hints_taken.json"
KINDS = ("question", "pointer", "skeleton")  # the order in which they are unfolded
MAX_TAKEN = 2**16  # bytes
GAPS = "Each `...` is a gap for you to fill."


@dataclass(frozen=True)
class Hints:
    """The hints for one TODO, as Markdown; `skeleton` is Python, with `...` for what is left to write."""

    question: str
    pointer: str
    skeleton: str

    def markdown(self, number: int) -> str:
        """Hint `number`, 1 to 3, as Markdown."""
        kind = KINDS[number - 1]
        title, body = f"**Hint {number} of {len(KINDS)}, a {kind}.**", getattr(self, kind).strip("\n")
        return f"{title} {GAPS}\n\n```python\n{body}\n```" if kind == "skeleton" else f"{title} {body}"


def load_hints(folder: Path, todos: Collection[str]) -> dict[str, Hints]:
    """The hints of the lab in `folder`, by TODO. A lab without `hints.toml` has none.

    Raises LabError, with the place and the next step, unless each of `todos`, and no other name, has the three hints.
    """
    path = Path(folder) / HINTS
    try:
        content = path.read_bytes() if path.exists() else None
    except OSError as error:
        raise LabError(f"{path} cannot be read: {error}") from error
    return read_hints(content, str(path), todos)


def read_hints(content: bytes | None, path: str, todos: Collection[str]) -> dict[str, Hints]:
    """The hints in the `content` of a `hints.toml`, as `load_hints` gives them; none for None. path: for messages."""
    if content is None:
        return {}
    try:
        sections = tomllib.loads(content.decode())
    except ValueError as error:
        raise LabError(f"{path} cannot be read: {error}") from error
    there_are = f"the lab's TODOs are {', '.join(todos)}"
    if unknown := [name for name in sections if name not in todos]:
        raise LabError(f"{path}: there is no TODO `{unknown[0]}`; {there_are}")
    if missing := [todo for todo in todos if todo not in sections]:
        raise LabError(f"{path}: TODO `{missing[0]}` has no hints; add [{missing[0]}] with {', '.join(KINDS)}")
    for todo, section in sections.items():
        texts = section if isinstance(section, dict) else {}
        given = {kind for kind, text in texts.items() if isinstance(text, str) and text.strip()}
        if given != {*KINDS} or len(texts) != len(KINDS):
            raise LabError(f"{path}: [{todo}] must have three texts, {', '.join(KINDS)}, and nothing else")
    return {todo: Hints(**sections[todo]) for todo in todos}


def read_taken(folder: Path) -> dict[str, int]:
    """How many hints were unfolded for each TODO, by the note in `folder`. None where there is no note to believe.

    The note may come from a submission: it is read with caution, and whatever is not as it should be is left out.
    """
    try:
        found = json.loads(read_plain(Path(folder) / TAKEN, MAX_TAKEN))
        entries = found.items()
    except (OSError, Unreadable, ValueError, AttributeError, RecursionError):
        return {}
    return {todo: number for todo, number in entries if type(number) is int and 1 <= number <= len(KINDS)}


def note_taken(folder: Path, todo: str, number: int) -> None:
    """Note in `folder` that hint `number` for `todo` was unfolded. Raises OSError."""
    taken = read_taken(folder)
    taken[todo] = max(number, taken.get(todo, 0))
    write_whole(Path(folder) / TAKEN, f"{json.dumps(taken, indent=1)}\n".encode())


def next_hint(todo: str, taken: int) -> str:
    """Where the next hint is, for below a result that has not passed. taken: how many were unfolded."""
    if taken >= len(KINDS):
        return ""
    if taken:
        call = f'check.hint("{todo}", {taken + 1})'
        return f"Still stuck? `{call}` shows hint {taken + 1} of {len(KINDS)}, a {KINDS[taken]}."
    return (
        f'Stuck? `check.hint("{todo}")`, in a new cell, shows the first of {len(KINDS)} hints. They cost no points; '
        "your instructor sees how many are used."
    )
