"""What several TODOs of lab 06 share."""

from __future__ import annotations

from autograde.contract.findings import Findings

finding = Findings("""
not-a-list 1
The function returns a value of type {type}; expected is a list.
""")
