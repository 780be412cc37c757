"""The verdict on a case that was run on a GPU; see `autograde.contract.gpu`."""

from __future__ import annotations

from autograde.contract.findings import Findings
from autograde.contract.gpu import DeviceMistake
from autograde.contract.verdict import Finding

finding = Findings("""
not-on-device 1
On a GPU your code stops with an error: {what}. All that an
operation works on has to be on one device: what has to be moved, and where to?
""")


def device_mistakes(evidence: dict) -> list[Finding]:
    """A finding where a rank stopped because a tensor was not where it had to be; else none, whatever became of it."""
    errors = [rank["error"] for rank in evidence["ranks"] if rank["error"]]
    mistakes = [error["message"] for error in errors if error["type"] == DeviceMistake.__name__]
    return [finding("not-on-device", what=mistakes[0][:500])] if mistakes else []
