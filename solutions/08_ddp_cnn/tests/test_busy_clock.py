"""Lab 08's clock on a machine that others use: an answer whose rank had to wait for a core is asked again."""

from __future__ import annotations

import pytest

from autograde.cells.subject import Subject
from autograde.contract import check as contract
from autograde.labs.folder import find_lab, load_checks, load_variants
from autograde.labs.places import REPOSITORY

from ..shared import timeline

RUN = "    run(steps)\n"
CLOCK = "took = torch.tensor([time.monotonic()"
HELD_UP = """    from pathlib import Path
    held_up = Path({folder!r}) / str(0 if alone else dist.get_rank())
    if not held_up.exists():
        held_up.touch()
        time.sleep(0.05)
"""


def noted(*spans: tuple[str, float, float]) -> list[dict]:
    """The record of a rank that made these steps and waits, and then returned."""
    notes = [note for name, begin, end in spans for note in ((name, begin), (f"{name} over", end))]
    notes.append(("returned", spans[-1][2]))
    return [{"kind": "note", "op": name, "start": at} for name, at in notes]


@pytest.mark.parametrize(("gap", "beside"), [("before", True), ("behind", True), ("between", False)])
def test_a_rank_is_held_up_where_it_does_nothing_beside_its_clock(gap, beside):
    late = {name: 0.5 * (name == gap) for name in ("before", "behind", "between")}
    begin = 1.1 + late["before"]
    second = begin + 0.1 + late["between"]
    steps = [("step", 0.9, 1.0), ("wait", 1.0, 1.1), ("step", begin, begin + 0.1), ("step", second, second + 0.1)]
    log = noted(*steps, ("wait", second + 0.1, second + 0.2))
    log[-1]["start"] += late["behind"]
    own = timeline.Timeline(log, {"warmup": 1, "steps": 2})
    assert (own.begin, own.end) == pytest.approx((begin, second + 0.2))
    assert own.held_up == pytest.approx(0.5 if beside else 0.0)


@pytest.mark.thorough
def test_a_rank_that_was_held_up_beside_its_clock_is_asked_again(worlds, tmp_path):
    lab = find_lab(REPOSITORY, "08_ddp_cnn")
    check = next(each for each in load_checks(lab.checks) if each.todo == "images_per_second")
    source = load_variants(lab.variants)[0][check.todo]["with_a_barrier"]
    assert source.count(RUN) == 1 and CLOCK in source
    slowed = source.replace(RUN, RUN + HELD_UP.format(folder=str(tmp_path)))
    report = contract.run(check, worlds.of(lab), Subject(check.todo, slowed), 1)
    assert report.score == check.points, report.findings
    assert len(list(tmp_path.iterdir())) == 4  # each of the ranks was held up once
