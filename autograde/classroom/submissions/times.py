"""When a submission was handed in, in UTC, whichever zone that is written in.

nbgrader writes `timestamp.txt` with the abbreviation of its `Exchange.timezone`, such as CEST, and reads abbreviations
other than UTC as UTC, and +0200 as 200 seconds.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from dateutil import tz

TIME = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)\s*(.*)", re.DOTALL)
OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d\d?)(?::?(\d\d))?")
FORMAT = "%Y-%m-%d %H:%M:%S.%f UTC"


def course_zone(name: str | None) -> tzinfo:
    """The zone of a course by nbgrader's `Exchange.timezone`; this machine's, if there is none of this name."""
    return (tz.gettz(name) if name else None) or tz.tzlocal()


def utc_time(text: str, zone: tzinfo) -> datetime:
    """The time that `text` tells, naive UTC. zone: of the course, for abbreviations that several zones have.

    A time without a zone is UTC, as for nbgrader. Raises ValueError, with what is wrong as the end of a sentence.
    """
    found = TIME.fullmatch(text.strip())
    if not found:
        raise ValueError("is not a date and time")
    try:
        local = datetime.fromisoformat(found[1].replace(",", "."))
    except ValueError:
        raise ValueError("is not a date and time") from None
    if local.year < 1970 or local.year > 9000:
        raise ValueError("is not a date and time")
    return local - offset(found[2].strip(), local, zone)


def offset(name: str, local: datetime, zone: tzinfo) -> timedelta:
    """How far a zone is ahead of UTC at a local time. name: of the zone, or its offset. Raises ValueError."""
    if name.upper() in ("", "Z", "UTC", "GMT"):
        return timedelta()
    if numbers := OFFSET.fullmatch(name):
        ahead = timedelta(hours=int(numbers[2]), minutes=int(numbers[3] or 0))
        timezone(ahead)  # raises ValueError for a day and more
        return ahead if numbers[1] == "+" else -ahead
    if local.replace(tzinfo=zone).tzname() == name:
        return local.replace(tzinfo=zone).utcoffset()
    if "/" in name and name in available_timezones():
        return local.replace(tzinfo=ZoneInfo(name)).utcoffset()
    known = {there.utcoffset() for each in zones() if (there := local.replace(tzinfo=each)).tzname() == name}
    if not known and name in available_timezones():  # as EST5EDT; CET is an abbreviation first
        known = {local.replace(tzinfo=ZoneInfo(name)).utcoffset()}
    if len(known) != 1:
        why = "there are several of this name" if known else "there is no such zone"
        raise ValueError(f"has the time zone {name[:40]!a}, and {why}; write the time in UTC")
    return known.pop()


@cache
def zones() -> tuple[ZoneInfo, ...]:
    """All zones that have a place."""
    return tuple(ZoneInfo(name) for name in sorted(available_timezones()) if "/" in name and name[:3] != "Etc")


def later(moment: datetime, days: int, hours: int, zone: tzinfo) -> datetime:
    """A naive UTC time so much later; days keep the local time of day, also over a change of clocks."""
    local = moment.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None) + timedelta(days=days)
    moved = local.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None) if days else moment
    return moved + timedelta(hours=hours)
