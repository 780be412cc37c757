"""The check of `parallel_pi`."""

from __future__ import annotations

from .common import ParallelPi

CHECK = ParallelPi("parallel_pi", "mpi4py")
