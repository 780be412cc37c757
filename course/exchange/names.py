"""Names of submissions: STUDENT+LAB+TIME for the student's receipt, with +RANDOM appended in the exchange."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import unquote

from nbgrader.utils import parse_utc

TIMESTAMP = "timestamp.txt"  # in a submission's folder: when it was handed in
SECRET = "submission_secret.txt"  # beside it: names the student's feedback
UNCLEAR = "no submission's name ends like this"


@dataclass(frozen=True)
class Name:
    """A submission's name, parsed. time: as in the name; when: the same as naive UTC."""

    student: str
    time: str
    when: datetime


def read_name(name: str, lab: str) -> Name | None:
    """Parse the name of a folder; None if it is not that of a submission of `lab`."""
    parts = name.rsplit("+", 3)  # a student's id may contain a "+"
    try:
        student, named, time = parts[:3]
        return Name(student, time, parse_utc(time)) if named == lab and student else None
    except (ValueError, OverflowError):
        return None


def lab_of(receipt: str) -> str:
    """The lab in the name of a receipt; empty if it is no such name."""
    _, _, lab = receipt.rpartition("+")[0].rpartition("+")
    return lab if read_receipt(receipt, lab) else ""


def read_receipt(receipt: str, lab: str) -> Name | None:
    """Parse the name of a receipt, likewise."""
    return read_name(f"{receipt}+", lab)


def is_unclear(name: str, lab: str) -> bool:
    """Whether a name looks like that of a submission of `lab`, but lacks a student or a valid time."""
    return f"+{lab}+" in name[1:] and read_name(name, lab) is None


def receipt_of(name: str) -> str:
    """The name of the receipt of what the exchange calls `name`: the same without the random part."""
    return name.rsplit("+", 1)[0]


def hidden(name: str) -> str:
    """The name of a submission that is not complete yet: without "+", none of nbgrader's patterns matches it."""
    return "." + name.replace("%", "%25").replace("+", "%2B")


HIDDEN = ".*%2B*"  # glob pattern of such names


def shown(name: str) -> str:
    """The inverse of `hidden`."""
    return unquote(name[1:])
