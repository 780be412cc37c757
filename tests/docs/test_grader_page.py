"""The page on the grader says what holds: its table of limits, and the tests and dates of its claims."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from autograde.labs.places import REPOSITORY
from autograde.sandbox.resources.limits import GIB, MIB, Limits

LABS = REPOSITORY / "solutions"
PAGE = (REPOSITORY / "docs" / "grader.md").read_text(encoding="utf-8")
UNITS = {"GiB": GIB, "MiB": MIB, "s": 1, "": 1}
LIMIT = re.compile(r"^\| [^|]+ \| (\d+) ?(GiB|MiB|s|) \| `(\w+)` \|$", re.MULTILINE)
CLAIMS = re.compile(r"^\| claim \| test \| run \|\n\|.*\n((?:\|.*\n)+)", re.MULTILINE)


def test_the_table_of_limits_has_each_limit_as_it_is() -> None:
    told = {name: int(number) * UNITS[unit] for number, unit, name in LIMIT.findall(PAGE)}
    assert told == {each.name: each.default for each in fields(Limits)}


def test_each_claim_names_its_test_and_what_was_run() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for table in CLAIMS.findall(PAGE)
        for line in table.splitlines()
    ]
    assert len(rows) >= 10
    for claim, test, run in rows:
        in_a_lab = re.fullmatch(r"`(test_\w+\.py)` in lab (\d\d)", test)
        assert in_a_lab or re.fullmatch(r"`tests/[\w/]+\.py`(, `tests/[\w/]+\.py`)*", test), claim
        if in_a_lab:  # whoever deletes the lab deletes its tests
            assert all(Path(folder, "tests", in_a_lab[1]).is_file() for folder in LABS.glob(f"{in_a_lab[2]}_*")), claim
        assert run in ("all", "sample", "left to `--all`"), claim
