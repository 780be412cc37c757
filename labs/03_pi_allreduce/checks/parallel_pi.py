"""The check of `parallel_pi`."""

from __future__ import annotations

from .common import ParallelPi

CONSOLIDATION = (
    "One all-reduce of eight bytes a rank makes the whole out of the parts, on every rank. Because you ask the "
    "communicator who takes part, the function works in any group of ranks."
)

CHECK = ParallelPi("parallel_pi", "mpi4py", CONSOLIDATION)
