"""Judges of a reduction: that there is one, that it is the only one, and that the result comes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from autograde.rubric.communication.calls import among_ranks, events_of, finished, named, of_library, wrong_group
from autograde.rubric.communication.origin import Due, carried, unseen
from autograde.rubric.judge import Call, first_of, of_record
from autograde.rubric.values.numbers import float32, half_precision
from autograde.rubric.words import Words, Wrong

words = Words("""
no-reduction: No rank communicates with another one, so each of {size:rank} knows its own part only. How do the other
ranks' parts get to it?

allreduce-in-the-loop: One call of your function makes {n:reduction}, and each of them keeps all ranks waiting. What
could a rank add up by itself first?

reduce-not-allreduce: The ranks call {ops}, after which only one rank has the result. Every rank has to return it.

other-communication: The ranks call {ops}. A single reduction that gives every rank the result does everything that is
needed.

too-many-bytes: The reduction carries {bytes:byte} a rank. One number, of 8 bytes, is all that a rank has to contribute.

whole-numbers-reduced: The ranks reduce a number of type {dtype}, where a float64 is expected. What is left of a number
with a fraction, and how large may it become?

another-group: Your function makes a process group of its own. All ranks have to communicate for that, and every call
leaves another group behind. Which group is there already?
""")


def one_allreduce(
    library: str, right: Callable[[Call], bool], *, floats: bool = False
) -> Callable[[Call], Wrong | None]:
    """Exactly one all-reduce of one number, in this library, and no other communication; a single rank needs none.

    library: "mpi4py", "torch" or "horovod". right: whether a call's result is right on all ranks: then they know of
    each other, however that was. floats: whether the number has to be a float64, and no integer.
    """
    as_due = first_of(of_library(library), finished, single, in_double_precision)

    @of_record
    def judge(call: Call) -> Wrong | None:
        if wrong := wrong_group(call.events):
            return wrong
        logs = [[event for event in log if event["times"] is None] for log in among_ranks(call.events)]
        if not any(logs) and call.size > 1:
            return unseen() if right(call) else words("no-reduction", absent=True, size=call.size)
        return as_due(replace(call, events=logs)) or of_another_group(call) or (of_floats(call) if floats else None)

    return judge


def single(call: Call) -> Wrong | None:
    """The ranks call nothing but one all-reduce."""
    events = events_of(call.events)
    kinds = {event["kind"] for event in events} - {"allreduce"}
    if kinds:
        alone = all(event["kind"] == "reduce" for event in events)
        return words("reduce-not-allreduce" if alone else "other-communication", ops=named(events))
    most = max(map(len, call.events))
    return words("allreduce-in-the-loop", n=most) if most > 1 else None


def in_double_precision(call: Call) -> Wrong | None:
    """What is reduced is one number of no fewer digits than a float64."""
    events = events_of(call.events)
    dtypes = [event["dtype"] for event in events]
    if "float32" in dtypes:
        return float32("The ranks communicate float32")
    if half := next((dtype for dtype in dtypes if dtype in ("float16", "bfloat16")), ""):
        return half_precision(f"The ranks communicate {half}")
    sent = max((event["bytes"] or 0 for event in events), default=0)
    return words("too-many-bytes", bytes=sent) if sent > 8 else None


def of_another_group(call: Call) -> Wrong | None:
    """The function makes no process group of its own."""
    own = any(event["library"] == "torch" and event["context"] for event in events_of(call.events))
    return words("another-group") if own else None


def of_floats(call: Call) -> Wrong | None:
    """What is reduced is no integer."""
    dtypes = {event["dtype"] or "" for event in events_of(call.events) if event["kind"] == "allreduce"}
    whole = sorted(each for each in dtypes if each.startswith(("int", "uint")))
    return words("whole-numbers-reduced", dtype=whole[0]) if whole else None


def result_of_reduction(
    due: Callable[[Call], Due | None], parts: Callable[[Call], Sequence[Sequence[float]]]
) -> Callable[[Call], Wrong | None]:
    """A right result follows from what the ranks put into their reduction, and what they put in from their own work.

    due: of a call, what is known of the right result, see `Due`; None: the result is not right, so nothing is judged.
    parts: of a call, forms of what each rank's own work gives, each a number by rank.
    """

    @of_record
    def judge(call: Call) -> Wrong | None:
        known = due(call)
        return None if known is None else carried(call.events, *parts(call), due=known)

    return judge
