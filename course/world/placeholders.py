"""What stands for values that exist only on the ranks."""

from __future__ import annotations

import enum


class Placeholder(enum.Enum):
    """Stands for a value that exists only on the ranks, where `World.run` fills it in."""

    COMM = "the mpi4py communicator of the ranks of this run"
    RANK = "this rank's number among them, from 0"
    SIZE = "the number of these ranks"


COMM, RANK, SIZE = Placeholder.COMM, Placeholder.RANK, Placeholder.SIZE
