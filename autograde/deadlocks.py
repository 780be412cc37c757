"""Verdict on a run with Horovod that did not come to its end: what a deadlock there says."""

from __future__ import annotations

from autograde.check import Finding, trouble
from autograde.findings import Findings

finding = Findings("""
collective-on-some-ranks 9
{detail} A collective call needs every rank. Which line do some ranks leave out?

calls-do-not-match 9
{detail} Each waits for the others. Horovod matches the ranks' calls by a name, which may come from an object's type.
""")


def stuck(evidence: dict, points: float) -> list[Finding]:
    """`trouble`, in which a deadlock has a finding of its own."""
    if evidence["state"] != "hang":
        return trouble(evidence, points)
    calls = {rank["call"] for rank in evidence["ranks"]}
    key = "calls-do-not-match" if len(calls) == 1 else "collective-on-some-ranks"
    return [finding(key, evidence["report"], detail=f"A deadlock: {evidence['detail']}")]
