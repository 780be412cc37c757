"""Judges of a reduction: that there is one, that it is the only one, and that the result comes of it; and of a gradient
that is put together from those of micro-batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autograde.contract.verdict import Diagnosis
from autograde.rubric.breaks import first_finding, of_finding
from autograde.rubric.judge import Call, of_record
from autograde.rubric.words import Words, Wrong
from autograde.verdicts import collectives, one_process, reductions
from autograde.verdicts.reductions import Due

words = Words("""
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

    def otherwise(call: Call) -> Wrong | None:
        if any(event["library"] == "torch" and event["context"] for log in call.events for event in log):
            return words("another-group")
        dtypes = {event["dtype"] or "" for log in call.events for event in log if event["kind"] == "allreduce"}
        whole = sorted(each for each in dtypes if each.startswith(("int", "uint")))
        return words("whole-numbers-reduced", dtype=whole[0]) if floats and whole else None

    @of_record
    def judge(call: Call) -> Wrong | None:
        sizes = collectives.group_sizes(call.events)
        found = collectives.wrong_group(call.size, sizes)
        return first_finding(found or collectives.one_allreduce(library, call.events, right(call))) or otherwise(call)

    return judge


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
        return None if known is None else first_finding(reductions.carried(call.events, *parts(call), due=known))

    return judge


def mean_gradient(
    parts: Sequence[one_process.Part],
    gradients: Sequence[Sequence[float | None]],
    left: Sequence[Any] = (),
    items: str = "samples",
) -> list[Wrong]:
    """Of each rank's gradient, numbers in a row: it is that of the mean loss over the samples of all micro-batches.

    parts: the micro-batches of all ranks. left: rows [d] that may have lain in `.grad` before, and count for nothing;
    that they do count is told by itself, as `gradient-carried-over`. items: what there are, if no samples.
    """
    found = one_process.gradient_mistakes(parts, [*map(one_process.row_of, gradients)], left, items)
    told = [(*each.explained, each.otherwise)[0] if isinstance(each, Diagnosis) else each for each in found]
    return [of_finding(each) for each in told if each is not None]
