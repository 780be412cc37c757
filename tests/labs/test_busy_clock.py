"""Lab 08's clock on a machine that others use: an answer whose rank had to wait for a core is asked again."""

from __future__ import annotations

import pytest
from labs_under_test import LABS

from autograde.contract import check as contract
from autograde.contract.labs import load_checks, load_variants
from autograde.contract.subject import Subject

RUN = "    run(steps)\n"
CLOCK = "took = torch.tensor([time.monotonic()"
HELD_UP = """    from pathlib import Path
    held_up = Path({folder!r}) / str(0 if alone else dist.get_rank())
    if not held_up.exists():
        held_up.touch()
        time.sleep(0.05)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("lab", [lab for lab in LABS if lab.name == "08_ddp_cnn"], ids=lambda lab: lab.name)
def test_a_rank_that_was_held_up_beside_its_clock_is_asked_again(worlds, lab, tmp_path):
    check = next(each for each in load_checks(lab.checks) if each.todo == "images_per_second")
    source = load_variants(lab.variants)[0][check.todo]["with_a_barrier"]
    assert source.count(RUN) == 1 and CLOCK in source
    slowed = source.replace(RUN, RUN + HELD_UP.format(folder=str(tmp_path)))
    report = contract.run(check, worlds.of(lab), Subject(check.todo, slowed), 1)
    assert report.score == check.points, report.findings
    assert len(list(tmp_path.iterdir())) == 4  # each of the ranks was held up once
