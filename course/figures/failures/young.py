"""The share of the time that saving and redoing take, by Young's approximation.

John W. Young: A first order approximation to the optimum checkpoint interval. CACM 17 (1974), 530-531.
"""

from __future__ import annotations

from math import ceil, floor, isfinite, log10, sqrt


def share_saving(k: float, step_seconds: float, save_seconds: float) -> float:
    """The share that goes into saves, one after every k steps."""
    return save_seconds / (k * step_seconds)


def share_redoing(k: float, step_seconds: float, mtbf_seconds: float) -> float:
    """The share that goes into steps made again: on average half of those between two saves, in each failure."""
    return k * step_seconds / (2 * mtbf_seconds)


def share_lost(k: float, step_seconds: float, save_seconds: float, mtbf_seconds: float) -> float:
    """Both shares. mtbf_seconds: mean time between failures of the whole job."""
    return share_saving(k, step_seconds, save_seconds) + share_redoing(k, step_seconds, mtbf_seconds)


def least(step_seconds: float, save_seconds: float, mtbf_seconds: float) -> int:
    """The whole number of steps, at least 1, with which least is lost."""
    ideal = sqrt(2 * save_seconds * mtbf_seconds) / step_seconds
    around = {max(1, floor(ideal)), max(1, ceil(ideal))}
    return min(sorted(around), key=lambda k: share_lost(k, step_seconds, save_seconds, mtbf_seconds))


def percent(share: float) -> str:
    """A share in words, with two digits that count, however small it is."""
    value = 100 * share
    digits = 0 if value >= 10 or value <= 0 else 1 - floor(log10(value))
    return f"{value:.{digits}f}%"


def seconds_in_words(seconds: float) -> str:
    """A time in the unit that suits it, for example "12 ms", "30 s", "4 h"."""
    units = (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3))
    name, unit = next((each for each in units if seconds >= each[1]), units[-1])
    return f"{seconds / unit:.3g} {name}"


def is_count(k: object) -> bool:
    """Whether what a student's function returned is a number of steps."""
    return isinstance(k, (int, float)) and isfinite(k) and k >= 1
