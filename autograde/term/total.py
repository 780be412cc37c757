"""How a student's labs make a total: the sum of all points, unless `nbgrader_config.py` says otherwise.

    c.Total.drop_lowest = 1                             # each student's weakest lab does not count
    c.Total.weights = {"12_beyond_data_parallel": 2}    # it counts twice; 1 is usual, and 0 leaves a lab out

With one of them a total is in percent: the mean of what was reached in each lab, as often as the lab counts.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field

from traitlets import Dict, Float, Integer, TraitError, Unicode
from traitlets.config import Config, Configurable

from autograde.classroom.errors import StepFailed
from autograde.classroom.grades import number


class Total(Configurable):
    """What `nbgrader_config.py` can set."""

    drop_lowest = Integer(0, min=0, help="How many of a student's weakest labs do not count").tag(config=True)
    weights = Dict(
        value_trait=Float(min=0), key_trait=Unicode(), help="How often a lab counts, by its name; others count once"
    ).tag(config=True)


@dataclass(frozen=True)
class Rule:
    """How labs make a total. drop: how many do not count. weights: how often a lab counts, if not once."""

    drop: int = 0
    weights: dict[str, float] = field(default_factory=dict)

    @property
    def percent(self) -> bool:
        """Whether totals are in percent; else they are points."""
        return bool(self.drop or self.weights)

    def weight(self, lab: str) -> float:
        """How often a lab counts."""
        return self.weights.get(lab, 1.0)


@dataclass(frozen=True)
class Reached:
    """What a student reached in a lab. settled: whether that will stay, as all is graded, or the deadline is over."""

    lab: str
    score: float
    points: float
    settled: bool

    @property
    def share(self) -> float:
        """In percent of the lab's points."""
        return 100 * max(0.0, self.score) / self.points


@dataclass(frozen=True)
class Sum:
    """A total. score: None if nothing counts yet. dropped: labs left out. how: the arithmetic, if there is any."""

    score: float | None
    dropped: frozenset[str] = frozenset()
    how: str = ""


def rule_of(config: Config, labs: Collection[str]) -> Rule:
    """The rule that a course's configuration sets. labs: names of those that there are. Raises StepFailed."""
    known = {"drop_lowest", "weights"}
    if unknown := sorted(set(config.Total) - known):
        raise StepFailed(f"c.Total has drop_lowest and weights, and nothing else; not {unknown[0]}")
    try:
        total = Total(config=config)
    except TraitError as error:
        raise StepFailed(f"c.Total in nbgrader_config.py: {' '.join(str(error).split())}") from error
    for lab, weight in total.weights.items():
        if lab not in labs:
            raise StepFailed(f"c.Total.weights names {lab!r}, which is no lab here; there are: {', '.join(labs)}")
        if not math.isfinite(weight):
            raise StepFailed(f"c.Total.weights: {lab} cannot count {weight} times")
    if labs and not any(total.weights.get(lab, 1) for lab in labs):
        raise StepFailed("c.Total.weights leaves out all labs; one at least has to count")
    return Rule(total.drop_lowest, dict(total.weights))


def total(rule: Rule, reached: list[Reached]) -> Sum:
    """A student's total.

    In percent, only labs that are settled count, and one of them always does; of two in which as much was reached the
    one that counts more is dropped.
    """
    if not rule.percent:
        return Sum(sum(one.score for one in reached) if reached else None)
    counted = [one for one in reached if one.settled and one.points and rule.weight(one.lab)]
    if not counted:
        return Sum(None)
    weakest = sorted(counted, key=lambda one: (one.share, -rule.weight(one.lab)))
    dropped = frozenset(one.lab for one in weakest[: min(rule.drop, len(counted) - 1)])
    kept = [one for one in counted if one.lab not in dropped]
    often = sum(rule.weight(one.lab) for one in kept)
    score = sum(rule.weight(one.lab) * one.share for one in kept) / often
    terms = [
        ("" if (weight := rule.weight(one.lab)) == 1 else f"{weight:g} × ") + number(round(one.share, 2))
        for one in kept
    ]
    return Sum(score, dropped, f"({' + '.join(terms)}) / {often:g}" if len(kept) > 1 else "")
