"""The check of `parallel_pi`."""

from __future__ import annotations

from ..probes import parallel_pi as probe
from .pi import ParallelPi

CONSOLIDATION = (
    "One all-reduce of eight bytes a rank makes the whole out of the parts, on every rank. Because you ask the "
    "communicator who takes part, the function works in any group of ranks."
)

CHECK = ParallelPi("parallel_pi", probe, "mpi4py", CONSOLIDATION)
