"""The check of `parallel_pi_torch`."""

from __future__ import annotations

from ..probes import parallel_pi_torch as probe
from .pi import ParallelPi

CONSOLIDATION = (
    "The same collective, for tensors: the dtype decides how many digits survive, and the backend where the tensor "
    "has to be. The group stands in for the communicator."
)

CHECK = ParallelPi("parallel_pi_torch", probe, "torch", CONSOLIDATION)
