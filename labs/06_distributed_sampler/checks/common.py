"""What several TODOs of lab 06 share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from operator import index
from typing import Any

from autograde.contract.findings import Findings
from autograde.contract.schema import array, integer, optional, record, string
from autograde.contract.verdict import Finding

finding = Findings("""
not-a-list 1
The function returns a value of type {type}; expected is a list.

not-ints 1
Some samples are of type {kinds}; expected are `int`s. Other code may look them up in a dictionary, or write them to a
file.
""")


def listed(values: Any, most: int) -> dict:
    """The first `most` entries of what should be a list of ints, as plain data; a list may also be an iterator.

    Returns ``{"type": name, "ids": [the whole number of each entry, or None], "kinds": [types that are no int]}``.
    What cannot be gone through has no entries.
    """
    kinds: dict[str, None] = {}
    ids: list[int | None] = []
    for value in islice(values, most) if isinstance(values, Iterable) else ():
        if type(value) is not int:
            kinds[kind_of(value)] = None
        try:
            ids.append(index(value))
        except Exception:  # whatever a value raises, it is no whole number
            ids.append(None)
    return {"type": kind_of(values), "ids": ids, "kinds": [*kinds]}


def kind_of(value: Any) -> str:
    """The type of a value in words, of a tensor or numpy's with its dtype."""
    kind = type(value).__name__
    return f"{kind} of {value.dtype}" if hasattr(value, "dtype") and kind != str(value.dtype) else kind


def listed_value() -> dict:
    """A list of ids as `listed` gives it."""
    return record(type=string(), ids=array(optional(integer())), kinds=array(string()))


def not_ints(entries: Sequence[dict]) -> list[Finding]:
    """A finding if lists, as `listed` gives them, hold what is no int."""
    kinds = sorted({kind for entry in entries for kind in entry["kinds"]})
    return [finding("not-ints", kinds=" and ".join(kinds[:3]))] if kinds else []
