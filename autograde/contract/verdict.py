"""Diagnoses of known mistakes, and what comes of those of all cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from autograde.contract.result import Finding


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
    """The findings of all cases, each key once; those of diagnoses first.

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
        once.setdefault(finding.key, finding)
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
