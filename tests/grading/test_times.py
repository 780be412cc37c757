"""When work was handed in is read rightly in every zone, and an extension keeps the time of day."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from dateutil import tz
from small_course import LAB, make_course

from autograde.classroom.nbgrader_course import Course
from autograde.classroom.pending import bad_timestamp
from autograde.classroom.submissions.times import course_zone, later, utc_time
from autograde.labs.folder import find_lab

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2025-07-01 11:30:00.000000 UTC", "11:30"),
        ("2025-07-01 11:30:00", "11:30"),
        ("2025-07-01 13:30:00.000000 CEST", "11:30"),
        ("2025-07-01 13:30:00.000000 +0200", "11:30"),
        ("2025-07-01T13:30:00+02:00", "11:30"),
        ("2025-07-01 13:30:00 UTC+2", "11:30"),
        ("2025-07-01 07:30:00 EDT", "11:30"),
        ("2025-07-01 07:30:00 EST5EDT", "11:30"),
        ("2025-07-01 12:30 CET", "11:30"),
        ("2025-07-01 11:30:00 utc", "11:30"),
        ("2025-07-01 13:30:00 Europe/Berlin", "11:30"),
        ("2025-07-01 20:30:00.000000 JST", "11:30"),
    ],
)
def test_a_time_is_the_same_in_every_zone(text, told):
    assert f"{utc_time(text, UTC):%Y-%m-%d %H:%M}" == f"2025-07-01 {told}"


@pytest.mark.parametrize(("zone", "hour"), [("America/Chicago", 17), ("Asia/Shanghai", 3)])
def test_of_zones_with_the_same_name_the_courses_own_counts(zone, hour):
    assert utc_time("2025-01-01 11:30:00 CST", ZoneInfo(zone)).hour == hour


def test_every_zone_that_nbgrader_writes_is_read():
    """It writes the abbreviation that its `Exchange.timezone` has at that time."""
    moment = datetime(2025, 7, 1, 11, 30, tzinfo=UTC)
    for name in (
        "UTC",
        "Asia/Kolkata",
        "America/Los_Angeles",
        "Australia/Sydney",
        "America/Sao_Paulo",
        "Asia/Kathmandu",
    ):
        written = moment.astimezone(tz.gettz(name)).strftime("%Y-%m-%d %H:%M:%S.%f %Z")
        assert utc_time(written, course_zone(name)) == moment.replace(tzinfo=None), name


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("yesterday", "is not a date and time"),
        ("2025-13-01 11:30:00", "is not a date and time"),
        ("2025-07-01 11:30:00 XYZ", "there is no such zone"),
        ("2025-01-01 11:30:00 CST", "there are several of this name"),
        ("2025-07-01 11:30:00 +9900", "."),
    ],
)
def test_what_cannot_be_read_says_why(text, why):
    with pytest.raises(ValueError, match=why):
        utc_time(text, UTC)


@pytest.mark.parametrize(
    ("due", "days", "hours", "ends"),
    [
        ("2027-10-30 21:59", 1, 0, "2027-10-31 22:59"),  # Saturday 23:59, summer time ends
        ("2027-03-27 22:59", 7, 0, "2027-04-03 21:59"),
        ("2027-10-30 21:59", 0, 24, "2027-10-31 21:59"),
        ("2027-06-01 21:59", 2, 0, "2027-06-03 21:59"),
    ],
)
def test_days_keep_the_time_of_day(due, days, hours, ends):
    assert later(datetime.fromisoformat(due), days, hours, BERLIN) == datetime.fromisoformat(ends)


def test_nbgrader_gets_the_time_in_utc_and_what_it_reads_rightly_stays(tmp_path):
    root = make_course(tmp_path / "course")
    course, lab = Course(root), find_lab(root, LAB)
    folder = course.folder("submitted", "ada", lab.name)
    folder.mkdir(parents=True)
    for text, kept in (
        ("2025-07-01 13:30:00.000000 CEST", "2025-07-01 11:30:00.000000 UTC"),
        ("2025-07-01 11:30:00.000000 UTC\n", "2025-07-01 11:30:00.000000 UTC\n"),
    ):
        (folder / "timestamp.txt").write_text(text)
        assert bad_timestamp(course, lab, "ada") is None
        assert (folder / "timestamp.txt").read_text() == kept
    (folder / "timestamp.txt").write_text("2025-07-01 11:30:00 XYZ")
    assert "no such zone; write the time in UTC; correct or delete it" in bad_timestamp(course, lab, "ada")
