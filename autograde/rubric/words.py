"""Sentences to the student, written as one text, so that a lab's teacher reads and edits them in one place.

Fields are filled in as by `str.format`. A noun behind the colon counts it, and a pair of verbs agrees with ranks::

    On {size:rank}, {who:has|have} the array {n:time}: {actual:.6g} in place of {expected:.6g}.

gives "On 4 ranks, rank 2 has the array 2 times: ...". A sentence begins with a capital, whatever its first field is.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from autograde.cells.cell_code import ALONE, lacks_name
from course.watch.wording import enumerate_words, name_ranks

NOTHING: Mapping[str, Any] = MappingProxyType({})
BEGINS = re.compile(r"(^|[.?!] )([a-z])(?=anks? \d)")


@dataclass(frozen=True)
class Wrong:
    """What is wrong with one call, or with a run.

    key: of the words; small letters and hyphens. message: what was seen and what it means, for the student; never the
    answer. facts: what the words of a mistake may use. report: what each rank did, where that helps. compared: whether
    a value was compared, so that a mistake may explain it by the value it gives. absent: whether something was missing
    in what the ranks communicated, which an unrecorded call would refute. call: in which it was seen, if it was in one.
    """

    key: str
    message: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    report: str = ""
    compared: bool = False
    absent: bool = False
    call: Any = None


class Ranks(tuple):
    """Numbers of ranks, as text "rank 2" or "ranks 0 and 1"."""

    def __new__(cls, numbers: Iterable[int]) -> Ranks:
        """The ranks of these numbers."""
        return super().__new__(cls, numbers)

    def __format__(self, verbs: str) -> str:
        """verbs: "" or a pair, for one rank and for many, such as "is|are"."""
        one, _, many = verbs.partition("|")
        verb = one if len(self) == 1 else many
        return f"{name_ranks([*self])} {verb}".strip()


class Filler(string.Formatter):
    """`str.format` with nouns that are counted."""

    def format_field(self, value: Any, spec: str) -> str:
        """One field. spec: as of `format`, or a noun of two letters or more in the singular."""
        if isinstance(value, (int, float)) and not isinstance(value, bool) and len(spec) > 1 and spec.isalpha():
            return (
                f"{value:g} {spec if value == 1 else plural(spec)}"
                if isinstance(value, float)
                else counted(value, spec)
            )
        if isinstance(value, (list, tuple)) and not isinstance(value, Ranks) and spec == "":
            return enumerate_words([*map(str, value)])
        return super().format_field(value, spec)


def counted(number: int, noun: str) -> str:
    """ "1 message", "3 messages"."""
    return f"{number} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """An English noun's regular plural."""
    if re.search("(s|x|(?<!epo)ch|sh)$", noun):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if re.search("[^aeiou]y$", noun) else f"{noun}s"


class Words:
    """Messages by key.

    text: a paragraph for each, ``key: message``, where the message may go on over several lines. Raises ValueError for
    a paragraph of another form, or a key that is there twice.
    """

    def __init__(self, text: str) -> None:
        self.messages: dict[str, str] = {}
        for paragraph in filter(None, re.split(r"\n\s*\n", text.strip())):
            key, colon, message = " ".join(paragraph.split()).partition(": ")
            if not colon or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", key) or key in self.messages:
                raise ValueError(
                    f"A message is `key: text`, with a key in small letters that is there once: {paragraph!r}"
                )
            self.messages[key] = message

    def __call__(
        self, key: str, report: str = "", *, compared: bool = False, absent: bool = False, **facts: Any
    ) -> Wrong:
        """The message `key`, filled in with facts. report, compared, absent: as of `Wrong`."""
        return Wrong(key, self.fill(key, facts), facts, report, compared, absent)

    def on_ranks(self, key: str, ranks: Iterable[int], report: str = "", **facts: Any) -> Wrong | None:
        """The message `key` with these ranks as `who`; None if there are none."""
        who = Ranks(ranks)
        return self(key, report, who=who, **facts) if who else None

    def fill(self, key: str, facts: Mapping[str, Any]) -> str:
        """The text of a message, with its fields filled in. Raises KeyError for a fact that is missing."""
        text = Filler().vformat(self.messages[key], (), facts)
        text = BEGINS.sub(lambda match: f"{match[1]}{match[2].upper()}", text)
        text = text[:1].upper() + text[1:]
        return f"{text} {ALONE}" if lacks_name(text) else text
