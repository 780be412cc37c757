"""The check of `parallel_pi_horovod`."""

from __future__ import annotations

from ..probes import parallel_pi_horovod as probe
from .pi import ParallelPi

CONSOLIDATION = (
    "Horovod averages unless it is told otherwise, because it was made for gradients. All ranks agree on such a "
    "result in any case, so look a default up before you trust a number."
)

CHECK = ParallelPi("parallel_pi_horovod", probe, "horovod", CONSOLIDATION)
