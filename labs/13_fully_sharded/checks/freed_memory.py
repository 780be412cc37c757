"""What it means that a rank dies, or an error comes of a storage, where storages are freed and filled."""

from __future__ import annotations

from autograde.rubric import Run, Words, Wrong

words = Words("""
freed-memory-used: {what}. A tensor whose storage has been freed still has its shape: whoever computes with it, or
writes into it, does so in nobody's memory. When do the weights come, and when do they go?
""")


def died(run: Run) -> Wrong | None:
    """The words for a rank that died, or was told by PyTorch that a storage is empty; None where there is neither."""
    errors = [rank["error"]["message"] for rank in run.ranks if rank["error"]]
    if run.state == "rank-died":
        return words("freed-memory-used", run.report, what="A rank died, as programs do of memory that is not theirs")
    empty = next((each for each in errors if "storage of size 0" in each), None)
    return words("freed-memory-used", run.report, what=f"An error: {empty[:200]}") if empty else None
