"""The check of `parallel_pi_torch`."""

from __future__ import annotations

from .common import ParallelPi

CHECK = ParallelPi("parallel_pi_torch", "torch")
