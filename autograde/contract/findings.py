"""Findings written as one text, so that a lab's teacher reads and edits them in one place."""

from __future__ import annotations

from typing import Any

from autograde.contract.verdict import Finding


class Findings:
    """Makes findings by key.

    text: a paragraph for each. Its first line has key and points, the rest is the message, with fields to be filled::

        average-for-sum 2
        On {size} ranks the result is {size} times too small.

    Raises ValueError for a paragraph of another form.
    """

    def __init__(self, text: str) -> None:
        self.known: dict[str, tuple[float, str]] = {}
        for paragraph in text.strip().split("\n\n"):
            head, _, message = paragraph.partition("\n")
            key, _, points = head.strip().partition(" ")
            if not message.strip() or key in self.known:
                raise ValueError(f"A finding is `key points` and then its message, once: {head!r}")
            self.known[key] = (float(points), " ".join(message.split()))

    def __call__(self, key: str, report: str = "", **seen: Any) -> Finding:
        """The finding `key`, its message filled in with what was seen. report: what each rank did."""
        points, message = self.known[key]
        return Finding(key, message.format(**seen), points, report)
