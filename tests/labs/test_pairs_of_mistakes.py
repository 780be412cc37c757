"""Worse is never cheaper: an answer that makes two mistakes costs at least what the dearer one costs alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import pytest
from case_by_case import checks_of, results_by_case
from known import read_known
from labs_under_test import LABS, Worlds
from mistake_pairs import Pair, pairs
from seeds import SEED

from autograde.contract import show
from autograde.contract.check import Check
from autograde.labs.folder import Lab, load_variants
from autograde.labs.variants import Wrong
from course.world import World


@cache
def mistakes_of(lab: Lab) -> Mapping[str, Mapping[str, Wrong]]:
    """The known mistakes of a lab by TODO and name."""
    return load_variants(lab.variants)[1]


@cache
def pairs_of(lab: Lab, todo: str) -> list[Pair]:
    """The pairs of mistakes of one TODO, but for those that are moot."""
    moot = read_known(lab).moot.get(todo, {})
    return [pair for pair in pairs(mistakes_of(lab)[todo]) if f"{pair.one} {pair.other}" not in moot]


def costs(world: World, check: Check, source: str, most: int | None) -> Iterator[tuple[float, str]]:
    """What an answer costs by its first case, by its first two, and so on, `most` at most; and the result's text."""
    for result in results_by_case(world, check, source, most):
        yield result.points - result.score, show.text(result)


class Alone:
    """What known mistakes cost alone; each is tried once. most: of the cases, None for all."""

    def __init__(self, worlds: Worlds, most: int | None = None) -> None:
        self.worlds, self.most = worlds, most
        self.known: dict[tuple[str, str, str], float] = {}

    def cost(self, lab: Lab, todo: str, name: str) -> float:
        """Of one mistake."""
        key = lab.name, todo, name
        if key not in self.known:
            source = mistakes_of(lab)[todo][name].source
            *_, (self.known[key], _) = costs(self.worlds.of(lab), checks_of(lab)[todo], source, self.most)
        return self.known[key]

    def cheaper(self, lab: Lab, todo: str, pair: Pair) -> str:
        """Empty, or what is said to both mistakes together where they cost less than the dearer one."""
        dearer = max(self.cost(lab, todo, name) for name in (pair.one, pair.other))
        together = [(0.0, "")]
        for each in costs(self.worlds.of(lab), checks_of(lab)[todo], pair.source, self.most):
            together.append(each)
            if each[0] > dearer - 1e-9:
                return ""
        return f"{pair.one} {pair.other}: less than {dearer:g}\n{together[-1][1]}"


@pytest.fixture(scope="module")
def alone(worlds: Worlds) -> Alone:
    return Alone(worlds)


@pytest.mark.parametrize(
    ("lab", "todo", "one", "other"),
    [
        pytest.param(lab, todo, *names, id=f"{lab.name}-{todo}-{'-'.join(names)}")
        for lab in LABS
        for todo, known in read_known(lab).each_time.items()
        for names in known
    ],
)
def test_a_finding_hides_no_dearer_one(worlds, lab, todo, one, other):
    """By the first case, which shows all of these mistakes."""
    pair = next(pair for pair in pairs_of(lab, todo) if {pair.one, pair.other} == {one, other})
    alone = Alone(worlds, most=1)
    assert alone.cost(lab, todo, one) and alone.cost(lab, todo, other)
    assert not alone.cheaper(lab, todo, pair)


@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("lab", "todo", "name"),
    [
        pytest.param(lab, todo, name, id=f"{lab.name}-{todo}-{name}")
        for lab in LABS
        for todo, mistakes in mistakes_of(lab).items()
        for name in mistakes
    ],
)
def test_with_another_mistake_an_answer_costs_no_less(alone, lab, todo, name):
    found = [alone.cheaper(lab, todo, pair) for pair in pairs_of(lab, todo) if pair.one == name]
    cheaper = [each for each in found if each]
    assert not cheaper, f"seed {SEED}\n" + "\n".join(cheaper)
