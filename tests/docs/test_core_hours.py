"""The core-hours that docs/clusters.md tells to apply for follow from the seconds that are told elsewhere."""

from __future__ import annotations

import re

import pytest

from autograde.labs.places import REPOSITORY

STUDENTS, CORES, TRIES, LIMIT = 30, 4, 5, 600
IN_JOBS = ("07", "08", "10")


def page(name: str) -> str:
    """The text of a page."""
    return (REPOSITORY / name).read_text(encoding="utf-8")


def section(name: str, title: str) -> str:
    """The text below a heading, up to the next one."""
    return re.search(rf"^#+ {title}\n(.*?)(?=^#|\Z)", page(name), re.MULTILINE | re.DOTALL)[1]


def told() -> tuple[str, list[float]]:
    """The section, and the core-hours of its rows."""
    text = section("docs/clusters.md", "Core-hours")
    return text, [float(number) for number in re.findall(r"\| (\d+) \|$", text, re.MULTILINE)]


def test_the_sums_are_those_of_the_seconds_that_were_measured() -> None:
    rows = re.findall(r"^\| \[(\d\d) .* \| (\d+) \|$", page("labs/README.md"), re.MULTILINE)
    in_jobs = sum(int(seconds) for lab, seconds in rows if lab in IN_JOBS)
    graded = re.findall(r"^\| `\d\d` \| 8 \| ([\d.]+) ", section("docs/measurements.md", "A term"), re.MULTILINE)
    grading = round(sum(map(float, graded)))
    hours = int(re.search(r"The fourteen labs take about (\d+) hours", page("docs/instructors.md"))[1])
    seconds = [TRIES * in_jobs, TRIES * len(IN_JOBS) * LIMIT, grading, hours * 3600]
    if len(graded) > len(rows):
        pytest.skip("the page is of more labs than there are")
    text, core_hours = told()
    assert core_hours == pytest.approx([STUDENTS * CORES * each / 3600 for each in seconds], abs=0.5)
    assert len(graded) == len(rows), "a lab was not in the term that was measured"
    assert text.count(f"{in_jobs} s") == 2 and text.count(f"{grading} s") == 2


def test_what_to_ask_for_covers_what_is_used() -> None:
    text, (tries, until_the_limit, grading, servers) = told()
    asked = [
        int(number.replace(",", ""))
        for number in re.search(r"ask for (\d+) .*?for ([\d,]+) ", text, re.DOTALL).groups()
    ]
    assert 2 * (tries + grading) <= asked[0] and servers + until_the_limit + grading <= asked[1]
