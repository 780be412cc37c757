"""Which tests `./lockstep test` runs each time, and how `--all` is dealt into parts.

Run each time: all but those that are marked

- `alone`: they measure how soon something answers, or take the whole machine;
- `thorough`: they are long, and what they find is mostly found by others; or they ask a clock;
- `sample(first, *parameters)`: of these, the first `first` for each value of the parameters.

The choice follows from the order in which tests are written, so it is the same each time. tests/test_chosen.py holds
that every kind of test is among the chosen.
"""

from __future__ import annotations

from collections import Counter

import pytest


def chosen(items: list[pytest.Item]) -> list[pytest.Item]:
    """Those of `items` that are run each time, in their order."""
    taken, kept = Counter(), []
    for item in items:
        if item.get_closest_marker("alone") or item.get_closest_marker("thorough"):
            continue
        if sample := item.get_closest_marker("sample"):
            first, *parameters = sample.args
            values = [getattr(value := item.callspec.params[name], "name", value) for name in parameters]
            key = (item.nodeid.partition("[")[0], *values)
            taken[key] += 1
            if taken[key] > first:
                continue
        kept.append(item)
    return kept


def part_of(groups: list[str], part: str) -> set[str]:
    """The groups of the part `K/N`: dealt in turn, as the long ones come first."""
    number, parts = (int(text) for text in part.split("/"))
    return set(groups[number - 1 :: parts])
