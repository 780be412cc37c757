"""Steps and checkpoints of an attempt at a training, for pictures."""

from __future__ import annotations

from course.figures.failures.attempts import Attempt

RANKS = 4


def steps(begin: float, first: int, last: int) -> list[list[tuple[float, int, float]]]:
    """By rank, a step each tenth of a second."""
    whens = {number: begin + 0.1 * (number - first + 1) for number in range(first, last + 1)}
    return [[(when + 0.001 * rank, number, 3 / number) for number, when in whens.items()] for rank in range(RANKS)]


def saves(begin: float, first: int, last: int, every: int) -> list[tuple[float, int]]:
    """A checkpoint a hundredth of a second after each `every`-th step."""
    return [(begin + 0.1 * (n - first + 1) + 0.01, n) for n in range(first, last + 1) if n % every == 0]


KILLED = Attempt(99.0, 99.9, 100, steps(100, 1, 10), saves(100, 1, 10, 4), killed=(101.05, 2), noticed=101.25)
AGAIN = Attempt(101.3, 103.25, 103.5, steps(103.5, 9, 16), saves(103.5, 9, 16, 4))
