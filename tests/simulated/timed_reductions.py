"""Cells that take the time of all-reduces on a simulated network, and what they cost.

Other programs use this machine, so a rank may wake late: a time is the best of three, with something to spare upwards.
"""

from __future__ import annotations

LATENCY, BANDWIDTH = 20e-3, 5e6  # seconds; bytes per second
COUNT = 100_000  # numbers, of 4 bytes

SIMULATED = f"""
    import time
    import torch
    import torch.distributed as dist
    from course.simulated.all_reduce import late_all_reduce, quick_all_reduce, slow_all_reduce

    # From when all ranks have begun, in seconds, three times.
    def timed(reduce):
        times = []
        with slow_all_reduce({LATENCY}, {BANDWIDTH}):
            for _ in range(3):
                dist.barrier()
                began = time.monotonic()
                assert torch.equal(reduce(torch.full(({COUNT},), dist.get_rank() + 1.0)), TOTAL), "numbers are real"
                times.append((began, time.monotonic()))
        return times
    """


def cost(size: int, count: int = COUNT) -> float:
    """Seconds that a ring all-reduce of so many numbers takes."""
    return 2 * (size - 1) * (LATENCY + 4 * count / size / BANDWIDTH)


def takes(results: list, seconds: float, spare: float) -> bool:
    """Whether all ranks together took so long, in the best try. spare: see `timed_messages.UPWARDS`."""
    tries = zip(*results, strict=True)
    shortest = min(max(end for _, end in times) - min(began for began, _ in times) for times in tries)
    return seconds <= shortest <= seconds * spare
