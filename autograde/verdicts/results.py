"""Verdicts on results of earlier calls, as `autograde.probes.results` finds them later."""

from __future__ import annotations

from collections.abc import Sequence

from autograde.contract.findings import Findings
from autograde.contract.verdict import Finding

finding = Findings("""
earlier-result-changed 1
On rank {rank}, a later call changes what an earlier call of your function returned. Whoever keeps the first result
finds another one in it. What do the two calls share?
""")


def overwritten(changed: Sequence[bool]) -> list[Finding]:
    """A finding if an earlier result has changed on a rank. changed: by rank."""
    return [finding("earlier-result-changed", rank=[*changed].index(True))] if any(changed) else []
