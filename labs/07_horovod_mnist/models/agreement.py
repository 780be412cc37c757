"""Checks that all ranks hold the same data: a node with different files would silently spoil the training."""

from __future__ import annotations

from course.data.folder import DataError


def same_on_all_ranks(comm, fingerprint: str, what: str) -> None:
    """Raise DataError on every rank, naming the ranks that differ, unless all hold data with the same fingerprint.

    comm: an mpi4py communicator; all its ranks must call this, for one all-gather. fingerprint: of this rank's data, as
    `Digits.fingerprint`. what: e.g. "digits", "sentence pairs".
    """
    fingerprints = comm.allgather(fingerprint)
    others = [str(rank) for rank, other in enumerate(fingerprints) if other != fingerprints[0]]
    if others:
        ranks = f"rank {others[0]} holds" if len(others) == 1 else f"ranks {', '.join(others)} hold"
        raise DataError(
            f"{ranks} other {what} than rank 0. LOCKSTEP_DATA must name a folder with the same files on every node: "
            "compare what `source` says on each."
        )
