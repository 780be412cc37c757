"""What it means that a rank dies, or an error comes of a storage, where storages are freed and filled."""

from autograde.rubric import Words

words = Words("""
freed-memory-used: {what}. A tensor whose storage is freed, or smaller than its numbers, still has its shape: whoever
computes with it, or writes into it, does so in nobody's memory. When does it get its memory, how many bytes of it, and
when does it go?
""")


def died(run):
    """The words for a rank that died, or was told by PyTorch that a storage is too small; None for anything else."""
    if run.state == "rank-died":
        return words("freed-memory-used", run.report, what="A rank died, as programs do of memory that is not theirs")
    found = next((error for error in run.errors.values() if "storage of size" in error or "no memory" in error), None)
    return words("freed-memory-used", run.report, what=f"An error: {found.partition(': ')[2]}") if found else None
