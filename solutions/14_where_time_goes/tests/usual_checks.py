"""Checks of the usual kind, each of which lets one of this lab's known mistakes pass; see `lab.toml`."""

from __future__ import annotations

from autograde.cells.subject import Subject
from course.profiles.spans import Span
from course.world import World


def parts_of_operations_in_a_row_are_right(world: World, mistaken: Subject, solution: Subject) -> bool:
    times = [("compute", 0, 4), ("communication", 3, 6), ("compute", 7, 9), ("communication", 8, 10)]
    spans = [Span(kind, float(start), float(end), kind) for kind, start, end in times]
    return mistaken.load()(spans) == solution.load()(spans)


# By the variant that each lets pass: of a world, of the subject with the mistake, and of the solution's.
USUAL_CHECKS = {
    "durations_added": parts_of_operations_in_a_row_are_right,
}
