"""Checks of TODOs in which ranks exchange arrays by messages: what they have in common.

The probe draws a call's arrays by `autograde.fixtures.drawn_arrays.array_of`, and shows `result`, an `Array`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np

from autograde.contract.call_probe import SENDS_WAIT
from autograde.fixtures.drawn_arrays import array_of, arrays_of
from autograde.rubric.communication.messages import messages_alone
from autograde.rubric.communication.ring import Ring
from autograde.rubric.conduct import arrays_stay
from autograde.rubric.criterion import Criterion
from autograde.rubric.judge import Call, first_of
from autograde.rubric.mistakes import Mistakes
from autograde.rubric.values.arrays import EachRankReturnsArray

# What a criterion on the messages of a ring says.
ONE_CHUNK = "every rank sends one chunk a round, to rank + 1 only (the last one to rank 0), in a buffer message"


def arrays(call: Call) -> list[np.ndarray]:
    """The arrays, or chunks, that the ranks bring."""
    return arrays_of(call.arguments, call.size)


def total(call: Call) -> np.ndarray:
    """The sum."""
    return np.asarray(sum(arrays(call)))


def longest_chunk(call: Call) -> int:
    """Bytes of the largest chunk, as np.array_split cuts."""
    own = array_of(call.arguments, 0)
    return ceil(own.size / call.size) * own.itemsize


def bytes_of_array(call: Call) -> int:
    """Bytes of a rank's array."""
    return array_of(call.arguments, 0).nbytes


def ring_criteria(
    name: str,
    points: tuple[float, float, float, float],
    says: tuple[str, str],
    ring: Ring,
    expected: Callable[[Call], Any],
    mistakes: Mistakes,
    *,
    rounds: str,
    argument: str = "array",
) -> tuple[Criterion, ...]:
    """The criteria of a TODO on a ring. name: of the one on what is returned. says: sentences on this and on the
    messages. rounds: how many, for the student. argument: name of the array."""
    returned = first_of(messages_alone, EachRankReturnsArray(expected), ring.something_sent)
    both = (
        f"a rank sends and receives at the same time, in at most {rounds} rounds, and it also works where each send "
        "waits for its receive"
    )
    conduct = f"`{argument}` stays as it is; the result is a new array, which stays, too"
    return (
        Criterion(name, points[0], says[0], returned, mistakes),
        Criterion("ring", points[1], says[1], ring),
        Criterion("both-ways", points[2], both, ring.both_ways(returned), after=(name, "ring"), sends="both"),
        Criterion("conduct", points[3], conduct, arrays_stay),
    )


def array_cases(
    *tried: list[tuple], arguments: Callable[..., dict] | None = None, **more: Any
) -> Callable[[random.Random], list[tuple]]:
    """What a check's `cases` may be: more entries than ranks, fewer and none; what divides evenly and not.

    tried: what describes the calls on 4, 3, 2 ranks and one; then on 4 and 3, with sends that wait and many numbers.
    arguments: of the random generator, the number of ranks and what describes a call, its arguments; None: `described`.
    more: arguments of each call.
    """

    def cases(rng: random.Random) -> list[tuple]:
        order = rng.sample(range(4), 4)
        places = [0, 1, 2, 3], order[:3], order[::-2], order[:1], order, order[:3]
        made = []
        for ranks, calls, waits in zip(places, tried, [{}] * 4 + [{SENDS_WAIT: True}] * 2, strict=True):
            drawn = [(arguments or described)(rng, len(ranks), *each) for each in calls]
            made.append((ranks, *({**each, **more, **waits} for each in drawn)))
        return made

    return cases


def described(rng: random.Random, size: int, shape: int | tuple[int, ...], dtype: str, *transposed: str) -> dict:
    """Arguments of a call by which `array_of` draws the arrays."""
    return {"shape": [shape] if isinstance(shape, int) else [*shape], "dtype": dtype, "transposed": bool(transposed)}
