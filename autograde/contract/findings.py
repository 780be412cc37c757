"""Findings written as one text, so that a lab's teacher reads and edits them in one place."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any

from autograde.contract.cell_code import ALONE, lacks_name
from autograde.contract.result import Finding

# "1 steps", as a number is filled in; but not in "on rank 1 samples are missing", nor in "ranks 0 and 1".
NOUNS = "batche|byte|call|epoch|file|gradient|message|midpoint|node|parameter|passe|point|rank|round|row|sample|step"
NOUNS += "|time|token"
ONE_OF_MANY = re.compile(rf"(?<![\d.,/*^+=-])(?<!ank )(?<!anks )(?<!\d and )(?<!\d or )\b1 ({NOUNS})s\b")

# "ranks 1 and 2 does", where the text has one verb for one rank or for many; but not in "the file of ranks 1 and 2 is".
MANY = re.compile(
    r"(?P<before>\b\w+ )?(?P<who>\b[Rr]anks \d+(?:-\d+)?(?:(?:, | and )\d+(?:-\d+)?)*|\bSIG\w+ and SIG\w+)"
    r"(?P<still> (?:still |also |only )?)(?P<verb>\w+)\b"
)
FOR_MANY = MappingProxyType(
    {"does": "do", "has": "have", "is": "are", "was": "were"}
    | {f"{verb}s": verb for verb in ("begin", "call", "get", "reduce", "send", "wait")}
)
OF_ANOTHER = frozenset(("at", "between", "by", "for", "from", "in", "like", "of", "on", "than", "to", "with"))


class Findings:
    """Makes findings by key.

    text: a paragraph for each. Its first line has key and points, the rest is the message, with fields to be filled::

        average-for-sum 2
        On {size} ranks the result is {size} times too small.

    Raises ValueError for a paragraph of another form.
    """

    def __init__(self, text: str) -> None:
        self.known: dict[str, str] = {}
        for paragraph in text.strip().split("\n\n"):
            head, _, message = paragraph.partition("\n")
            key, _, points = head.strip().partition(" ")
            float(points)
            if not message.strip() or key in self.known:
                raise ValueError(f"A finding is `key points` and then its message, once: {head!r}")
            self.known[key] = " ".join(message.split())

    def __call__(self, key: str, report: str = "", **seen: Any) -> Finding:
        """The finding `key`, its message filled in with what was seen. report: what each rank did."""
        message = self.known[key]
        said = MANY.sub(plural, ONE_OF_MANY.sub(singular, message.format(**seen)))
        return Finding(key, f"{said} {ALONE}" if lacks_name(said) else said, report)


def singular(match: re.Match) -> str:
    """One of what ONE_OF_MANY found."""
    return f"1 {match[1].removesuffix('e') if match[1] in ('batche', 'passe') else match[1]}"


def plural(match: re.Match) -> str:
    """The verb for many in what MANY found, if these are its subject."""
    before, who, still, verb = match["before"] or "", match["who"], match["still"], match["verb"]
    subject = before.strip().lower() not in OF_ANOTHER
    return before + who + still + (FOR_MANY.get(verb, verb) if subject else verb)
