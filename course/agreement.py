"""Ranks that are to train together must hold the same data: a node with another copy of it spoils the run silently."""

from __future__ import annotations

from course.data_folder import DataError


def same_on_all_ranks(comm, fingerprint: str, what: str) -> None:
    """Raise DataError on every rank, which names the ranks that differ, unless all hold one `fingerprint` of `what`.

    comm: an mpi4py communicator; all its ranks call this, for one all-gather. fingerprint: as `Digits.fingerprint`.
    what: "digits", "sentence pairs".
    """
    everyone = comm.allgather(fingerprint)
    others = [str(rank) for rank, theirs in enumerate(everyone) if theirs != everyone[0]]
    if others:
        ranks = f"rank {others[0]} holds" if len(others) == 1 else f"ranks {', '.join(others)} hold"
        raise DataError(
            f"{ranks} other {what} than rank 0. LOCKSTEP_DATA must name a folder with the same files on every node: "
            "compare what `source` says on each."
        )
