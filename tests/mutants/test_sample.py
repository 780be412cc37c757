"""Mutants of the course's own labs: a random sample of them loses points, and what is listed as equivalent exists."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from known import read_known
from labs_under_test import COURSE, LABS
from seeds import SEED

from autograde.labs.folder import Lab
from autograde.labs.places import REPOSITORY
from autograde.mutants.answers import Mutant, mutants
from autograde.mutants.equivalent import read_equivalent, reason_of, stale
from autograde.mutants.grading import grade_source, grader
from autograde.sandbox.examine import Examination

SAMPLE = 40


def settled(lab: Lab) -> list[Mutant]:
    """The mutants that must lose points, wherever they run."""
    reasons, answer = read_equivalent(lab), read_known(lab).mutants_of
    return [
        mutant
        for mutant in mutants(lab)
        if not mutant.on_device and not reason_of(mutant, reasons) and answer in (None, mutant.answer.variant)
    ]


def kept_points(lab: Lab, sample: list[Mutant]) -> list[str]:
    """Those of a sample that keep all points, in words."""
    if not sample:
        return []
    with grader(lab, SEED, 1) as graders, Examination(graders.sandboxes, SEED) as examination:
        outcomes = [grade_source(examination, graders.checks[one.answer.todo], one.source) for one in sample]
    return [
        f"{lab.name}, {one.answer.todo}, {one.answer.variant}: {one.change} ({outcome.unjudged or 'all points'})"
        for one, outcome in zip(sample, outcomes, strict=True)
        if not outcome.refused
    ]


@pytest.mark.thorough
@pytest.mark.skipif(COURSE != REPOSITORY, reason="the labs of another course: ./lockstep mutants grades their mutants")
def test_a_random_sample_of_mutants_loses_points(capsys):
    everything = [(lab, mutant) for lab in LABS for mutant in settled(lab)]
    sample = random.Random(SEED).sample(everything, SAMPLE)
    with capsys.disabled():
        print(f"\n{SAMPLE} of {len(everything)} mutants, drawn with seed {SEED}")
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda lab: kept_points(lab, [one for of, one in sample if of == lab]), LABS)
    assert [line for lines in found for line in lines] == [], f"seed {SEED}"


@pytest.mark.sample(2)
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_what_is_listed_as_equivalent_is_a_mutant_and_seldom(lab):
    made, reasons = mutants(lab), read_equivalent(lab)
    assert stale(made, reasons) == []
    listed = [mutant for mutant in made if reason_of(mutant, reasons)]
    assert len(listed) < 0.08 * len(made)
