"""Which steps a call of `train` makes: from which place on, and with which samples."""

from __future__ import annotations

from autograde.rubric import Call, Words, Wrong, once

from .history import due_in

words = Words("""
forward-without-step: The model is run {forwards:time} for {n:step}. Each pass draws random numbers for dropout, and
nothing is learnt from it.

other-places: The passes of a call begin at {actual} (epoch, consumed); expected are {expected}.

other-samples: In step {step} of a call a rank trains on samples {actual}; expected are {expected}.

other-steps: The training makes {n:step} in a call; expected are {expected}.
""")


@once
def places(call: Call) -> Wrong | None:
    """The steps are those that are left; nothing if another checkpoint was there than should be."""
    due, first = due_in(call), call.seen[0]
    if not due.begins:
        return None
    if len(first.forwards) > first.steps:
        return words("forward-without-step", forwards=len(first.forwards), n=first.steps)
    actual, expected = due.passes, due.walk(*due.place, due.epochs)
    if actual != expected:
        second = str(actual[1]) if len(actual) > 1 else "none"
        about = {"start": str(due.place), "until": due.epochs, "second": second}
        return words("other-places", compared=True, actual=str(actual[:8]), expected=str(expected), **about)
    for at, (_, ids) in enumerate(due.steps[due.start :][: due.count]):
        drawn = [seen.forwards[at].ids if at < len(seen.forwards) else [] for seen in call.seen]
        if drawn != ids:
            return words("other-samples", step=at + 1, actual=str(drawn), expected=str(ids))
    if first.steps < due.count or (first.steps > due.count and not due.leaves):
        return words("other-steps", n=first.steps, expected=due.count)
    return None
