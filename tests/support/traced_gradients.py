"""A trace of Horovod's, as one of a training step on four ranks."""

from __future__ import annotations


def trace(late: float = 0.02, groups: tuple[int, ...] = (2, 6)) -> list[dict]:
    """As `read_trace` gives it, of gradients that are reduced in groups of so many."""
    names = ["9.bias", "9.weight", "7.bias", "7.weight", "3.weight", "3.bias", "0.weight", "encoder.layers.0.bias"]
    entries, now = [], late
    for count in groups:
        for name in names[:count]:
            times = {"negotiate": (0.0, now), "copy together": (now, now + 1e-5), "all-reduce": (now, now + 0.004)}
            times["copy apart"] = (now + 0.004, now + 0.00401)
            ranks = {0: 0.0, 3: 1e-4, 1: 2e-4, 2: late}
            entries += [
                {
                    "tensor": name,
                    "phase": phase,
                    "start": start,
                    "end": end,
                    "ranks": ranks if phase == "negotiate" else {},
                }
                for phase, (start, end) in times.items()
            ]
        names, now = names[count:], now + 0.005
    return sorted(entries, key=lambda entry: entry["start"])
