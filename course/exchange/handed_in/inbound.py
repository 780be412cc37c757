"""What was handed in of a lab through an exchange, by the names that are there: anybody can have put them there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from course.exchange.names import Name, is_unclear, read_name


@dataclass(frozen=True)
class HandIn:
    """A submission's folder in the exchange, and what its name says."""

    path: Path
    name: Name


def hand_ins(inbound: Path, lab: str) -> list[HandIn]:
    """All of a lab, by whomever, in a course's folder `inbound`; the oldest first. Raises OSError."""
    found = [HandIn(inbound / each, name) for each in sorted(os.listdir(inbound)) if (name := read_name(each, lab))]
    return sorted(found, key=lambda each: each.name.when)


def last_hand_ins(inbound: Path, lab: str) -> dict[str, HandIn]:
    """The last one of each student; none where this account cannot look."""
    try:
        return {each.name.student: each for each in hand_ins(inbound, lab)}
    except OSError:
        return {}


def unclear(inbound: Path, lab: str) -> list[Path]:
    """What looks like one of a lab, but lacks a student or a valid time. Raises OSError."""
    return [inbound / each for each in sorted(os.listdir(inbound)) if is_unclear(each, lab)]
