"""Calls of `in_turn`, with an action that lasts a moment."""

import time

from autograde.contract.call_probe import CallProbe
from autograde.contract.evidence import Evidence, Number, judged_in_places
from course.watch.notes import note

LASTS = 0.08  # seconds that an action takes
LONG = 200  # entries of a long result, more than fits into a message that says nothing but "your turn"
MOST = 9  # actions of which the times are kept
BEGINS = "action begins"  # a note among the events of a rank


@judged_in_places(actions="of these times only the order matters")
class Seen(Evidence):
    """Begin and end of each action, in seconds, and what was returned: of a long result its number."""

    actions: list[tuple[float, float]]
    value: Number


def call(in_turn, rank, call):
    """One call. Results are numbers, or `long` lists of one number; the last rank's action takes no time."""
    times, last, result = [], rank.rank == rank.size - 1, call["results"][rank.rank]

    def action():
        note(rank.comm, BEGINS)
        began = time.time()
        time.sleep(0 if last else LASTS)
        times.append((began, time.time()))
        return [result] * LONG if call["long"] else result

    value = in_turn(rank.comm, action)
    if call["long"] and isinstance(value, list) and len(value) == LONG and len({*map(repr, value)}) == 1:
        value = value[0]
    return Seen(times[:MOST], Number.of(value))


PROBE = CallProbe(Seen, call)
