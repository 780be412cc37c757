"""What confirms that a lab was handed in: which file was taken, how far it is, how late, and which one counts."""

from __future__ import annotations

from contextlib import suppress

from course.exchange.deadlines import how_late
from course.exchange.due import to_the_minute
from course.exchange.handed_in.again import by_choice
from course.exchange.handed_in.summary import summary
from course.jupyterhub.pages.lab_states import LabState
from course.jupyterhub.pages.student_exchange import StudentExchange

INSTEAD = ", and no longer the one that was in time: if you do not want that, tell your instructor"


def confirmation(exchange: StudentExchange, lab: LabState) -> str:
    """Sentences on what was handed in last."""
    late = how_late(f"{lab.handed_in} UTC", lab.deadline)
    said = [f"That was at {to_the_minute(lab.handed_in)}{f', {late} late' if late else ''}."]
    with suppress(OSError):  # the exchange need not have it any more
        said.append(summary(exchange.last_submission(lab.course, lab.name), lab.name))
    if lab.chosen:
        said.append(by_choice(f"{lab.chosen} UTC"))
    elif lab.times > 1:
        said.append(f"It was time {lab.times}; the last one counts{INSTEAD if late and lab.in_time else ''}.")
    return " ".join([*said, "Your feedback will be here when your instructor gives it back."])
