"""What a check finds: findings, diagnoses of known mistakes, and what comes of those of all cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

LONGEST = 4000  # characters of a finding's message or report
NOT_DONE = "not-done"  # key of the finding on a TODO that still is as it was released
NO_PRICES: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True)
class Finding:
    """One thing a check saw.

    key: what kind of mistake, stable and short: small letters and hyphens.
    message: what was seen and what it means, for the student. Never the answer.
    points: what it costs.
    report: what each rank did, where that helps.
    """

    key: str
    message: str
    points: float
    report: str = ""


@dataclass(frozen=True)
class Hiding(Finding):
    """A finding after which a check cannot see others.

    hidden: those that there may be, besides. Whoever makes two mistakes is not to lose less than for one of them, so it
    costs at least what the dearest of these would.
    """

    hidden: tuple[Finding, ...] = ()


def hiding(found: Finding, *hidden: Finding) -> Hiding:
    """`found` as one that hides others, besides those that it hides already.

    hidden: as of `Hiding`; their messages do not matter.
    """
    before = found.hidden if isinstance(found, Hiding) else ()
    return Hiding(found.key, found.message, found.points, found.report, (*before, *hidden))


@dataclass(frozen=True)
class Diagnosis:
    """What known mistakes say to one comparison of a case. Those of all cases with one subject are settled together.

    subject: what is compared, e.g. ``gradient``. explained: findings of the mistakes that give just what was seen here,
    the most likely first. ruled_out: keys of those that would have given something else. otherwise: the finding where
    no mistake explains all that was seen; None where what was seen here is right.
    """

    subject: str
    explained: tuple[Finding, ...] = ()
    ruled_out: frozenset[str] = frozenset()
    otherwise: Finding | None = None


def settle(verdicts: Iterable[Iterable[Finding | Diagnosis]]) -> list[Finding]:
    """The findings of all cases, each key once, at its dearest; those of diagnoses first.

    A mistake is told only where nothing of its subject rules it out: it explains every comparison that can tell it from
    others. Where none does, the first of the generic findings stands.
    """
    parts = [part for verdict in verdicts for part in verdict]
    by_subject: dict[str, list[Diagnosis]] = {}
    for part in parts:
        if isinstance(part, Diagnosis):
            by_subject.setdefault(part.subject, []).append(part)
    found = [finding for same in by_subject.values() for finding in settled(same)]
    once: dict[str, Finding] = {}
    for finding in [*found, *(part for part in parts if isinstance(part, Finding))]:
        if finding.key not in once or cost(finding) > cost(once[finding.key]):
            once[finding.key] = finding
    return [*once.values()]


def settled(same: list[Diagnosis]) -> list[Finding]:
    """What comes of the diagnoses of one subject."""
    ruled_out = frozenset().union(*(each.ruled_out for each in same))
    wrong = [each for each in same if each.otherwise is not None]
    explained = [finding for each in wrong for finding in each.explained if finding.key not in ruled_out]
    # The most likely is the first of those that explain most comparisons: one that is not always a candidate has less.
    times = Counter(finding.key for finding in explained)
    best = max(explained, key=lambda finding: times[finding.key], default=None)
    return [best] if best else [each.otherwise for each in wrong[:1]]


def cost(finding: Finding, prices: Mapping[str, float] = NO_PRICES) -> float:
    """What a finding costs where findings of some keys have other prices."""
    hidden = finding.hidden if isinstance(finding, Hiding) else ()
    return max(prices.get(each.key, each.points) for each in (finding, *hidden))


def cut(text: str) -> str:
    """`text`, shortened in its middle if it is very long: parts of it may be the student's."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]} [...] {text[-half:]}"
