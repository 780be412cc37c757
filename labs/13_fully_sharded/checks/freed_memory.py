"""What it means that a rank dies where storages are freed and filled."""

from __future__ import annotations

from autograde.rubric.run import Run
from autograde.rubric.words import Words, Wrong

words = Words("""
freed-memory-used: A rank died, as programs do that read or write memory which is not theirs. A tensor whose storage has
been freed still has its shape: whoever computes with it, or writes into it, does so in nobody's memory. When do the
weights come, and when do they go?
""")


def died(run: Run) -> Wrong | None:
    """The words for a rank that died; None if none did."""
    return words("freed-memory-used", run.report) if run.state == "rank-died" else None
