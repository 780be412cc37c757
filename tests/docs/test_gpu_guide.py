"""What docs/gpu.md says of the labs: each stands in the table once, and those that check devices are named."""

from __future__ import annotations

import re

from autograde.labs.folder import find_labs, load_checks
from autograde.labs.places import REPOSITORY
from autograde.rubric import DeviceCriterion

GUIDE = (REPOSITORY / "docs" / "gpu.md").read_text(encoding="utf-8")
LABS = find_labs(REPOSITORY)
THERE = [lab.name[:2] for lab in LABS]  # the page may name one that was deleted


def numbers(text: str) -> list[str]:
    """The labs that a text names, also as a span: `06` to `11`."""
    spans = re.sub(r"`(\d\d)`\s+to\s+`(\d\d)`", lambda span: each_of(int(span[1]), int(span[2])), text)
    return re.findall(r"`(\d\d)`", spans)


def each_of(first: int, last: int) -> str:
    """The labs of a span."""
    return ", ".join(f"`{number:02}`" for number in range(first, last + 1))


def test_each_lab_stands_in_the_table_once() -> None:
    rows = re.findall(r"^\| (`\d\d`[^|]*) \| [^|]+ \|$", GUIDE, re.MULTILINE)
    in_table = [number for row in rows for number in numbers(row)]
    assert sorted(number for number in in_table if number in THERE) == THERE


def test_the_labs_that_look_for_tensors_on_another_device_are_named() -> None:
    named = numbers(re.search(r"In checks, labs (.*?) also run", GUIDE, re.DOTALL)[1])
    looking = [
        lab.name[:2]
        for lab in LABS
        if any(isinstance(each, DeviceCriterion) for check in load_checks(lab.checks) for each in check.criteria)
    ]
    assert [number for number in named if number in THERE] == looking
