"""What is said before something is handed in again: that it is the same, or that it replaces what one would keep."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from nbgrader.exchange import ExchangeError
from nbgrader.utils import parse_utc

from course.exchange.deadlines import how_late
from course.exchange.due import to_the_minute
from course.exchange.handed_in.given import graded
from course.exchange.receipts import Receipts, content_in, secret_of, work_of


class Unchanged(ExchangeError):
    """What is to be handed in is what was handed in. The message says which one stands."""


class ConfirmationNeeded(ExchangeError):
    """What is to be handed in needs a second word. question: what the student is asked, in sentences."""

    def __init__(self, question: str, nothing: str) -> None:
        where = "choose *Hand in again* on the page *Your labs*, or " if "JUPYTERHUB_USER" in os.environ else ""
        super().__init__(
            f"{question} {nothing} To hand it in all the same, {where}add --PrivateSubmit.confirmed=True to "
            "`nbgrader submit`."
        )
        self.question = question


def unchanged(receipts: Receipts, lab: str, content: str, chosen: str) -> str:
    """What stands, if what is to be handed in is as the last one; else empty.

    content: its digest. chosen: the time of the hand-in that an instructor chose, or empty. What is not in the exchange
    any more can be handed in again.
    """
    receipt, when = last(receipts, lab)
    if receipt is None or content_in(receipt) != content or not (receipts.inbound / work_of(receipt)).is_dir():
        return ""
    said = f"It is as you handed it in at {to_the_minute(when)}: nothing was handed in again."
    return " ".join(filter(None, [said, by_choice(chosen)]))


def question(receipts: Receipts, lab: str, now: str, deadline: datetime | None, chosen: str) -> str:
    """What to ask before something is handed in; empty if there is nothing to ask. now: as nbgrader writes times."""
    if chosen:
        return (
            f"{by_choice(chosen)} What you hand in now does not count, unless your instructor lets it. Hand it in all "
            "the same?"
        )
    receipt, when = last(receipts, lab)
    late = how_late(now, deadline)
    if receipt is None or not late:
        return ""
    root, course = receipts.inbound.parent.parent, receipts.inbound.parent.name
    in_time, marks = when <= deadline, graded(root, course, lab, secret_of(receipt))
    if not in_time and not marks:
        return ""
    told = ", ".join(filter(None, ["in time" if in_time else "", marks]))
    return (
        f"This would be {late} late, and replace what you handed in at {to_the_minute(when)}, {told}. Hand it in all "
        "the same?"
    )


def by_choice(chosen: str) -> str:
    """That an instructor chose the hand-in of this time; empty if none was chosen."""
    return (
        f"What you handed in at {to_the_minute(parse_utc(chosen))} counts, by your instructor's choice."
        if chosen
        else ""
    )


def last(receipts: Receipts, lab: str) -> tuple[Path | None, datetime | None]:
    """The receipt of what was handed in last, and when that was; None, None if nothing was."""
    return next(((path, name.when) for path, name in reversed(receipts.of(lab).items())), (None, None))
