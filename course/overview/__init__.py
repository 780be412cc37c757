"""The course at a glance: its labs and lectures in order, and how far a student is with each."""

import hashlib

RESULT = "lockstep"  # in the metadata of a check's output: its result, as {"passed": true, "checked": text_mark(...)}


def text_mark(source: str) -> str:
    """A value that tells the text of one cell from others, and from itself once it is changed."""
    return hashlib.sha256(source.strip().encode(errors="replace")).hexdigest()[:16]
