"""With what a mistake was seen: the input of one call, so that a student can make that call in a cell of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from autograde.rubric.words import counted

LONGEST = 60  # characters of a value; a longer one nobody types
WHO = re.compile(r"\b[Rr]anks? \d+(?:(?:, | and )\d+)*")  # numbers that are no input


def seen_with(message: str, arguments: Mapping[str, Any], names: Sequence[str], size: int | None) -> str:
    """The message with a last sentence on the input, such as "Seen with intervals=46 on 4 ranks."

    arguments: of the call. names: of those that are told. size: how many ranks made it; None if it runs on none.
    Nothing is added where the message has all of it already.
    """
    texts = {name: as_text(arguments[name]) for name in names if name in arguments}
    values = {name: text for name, text in texts.items() if text and len(text) <= LONGEST}
    ranks = "" if size is None else counted(size, "rank")
    if all(is_in(text, message) for text in (*values.values(), ranks) if text):
        return message
    parts = [f"with {', '.join(f'{name}={text}' for name, text in values.items())}"] if values else []
    parts += [f"on {ranks}"] if ranks else []
    return f"{message} Seen {' '.join(parts)}."


def as_text(value: Any) -> str:
    """A value in short; empty for one that is no number, text, or list of such."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        texts = [repr(each) if isinstance(each, str) else as_text(each) for each in value]
        return f"[{', '.join(texts)}]" if all(texts) else ""
    return str(value) if isinstance(value, (int, str)) else ""


def is_in(text: str, message: str) -> bool:
    """Whether a message has a value by itself, and not as a part of a longer one, or as a rank's number."""
    return re.search(rf"(?<![\w.]){re.escape(text)}(?!\w|\.\d)", WHO.sub("", message)) is not None
