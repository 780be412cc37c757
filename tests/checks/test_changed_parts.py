"""Of a check that looks at too little, the part of the evidence is named that nobody looks at."""

from __future__ import annotations

import random

from changed_parts import overlooked

from autograde.contract.call_probe import CallProbe
from autograde.contract.evidence import Evidence, Number, judged_in_calls, judged_in_places, unjudged
from autograde.rubric import CallCheck, Criterion, Words, lacking
from autograde.rubric.judge import Call

words = Words("""
other: Something else is expected.
""")


class Seen(Evidence):
    """What the function returned, whether it did it well, and its notes."""

    value: Number
    well: bool
    notes: list[int]


class Clock(Seen):
    """And how long it took."""

    seconds: float


def of(judge):
    """A judge that finds a call right if this is true of what each rank shows."""
    return lambda call: None if all(map(judge, call.seen)) else words("other")


VALUE = Criterion("value", 1, "the value", of(lambda seen: seen.value.value == 3))
WELL = Criterion("well", 1, "well", of(lambda seen: seen.well))
NOTES = Criterion("notes", 1, "notes", of(lambda seen: seen.notes == [1, 2]))
USUAL = Criterion("usual", 1, "the value", VALUE.judge, on=lacking("odd"))
BOTH = Criterion("both", 1, "notes", of(lambda seen: seen.notes[:1] == [1]))


def found(*criteria: Criterion, seen: type[Seen] = Seen, **more: float) -> list[str]:
    """What nobody looks at, by name. Two calls are made, the second one odd."""
    check = CallCheck.of("double", CallProbe(seen, lambda *_: None), lambda rng: [], *criteria)
    shown = [[seen(Number.of(3), True, [1, 2], **more)] * 2 for _ in range(2)]
    calls = [Call({}, number, {"odd": bool(number)}, each) for number, each in enumerate(shown)]
    return [each.partition(", as with")[0] for each in overlooked(check, calls, random.Random(1))]


def test_where_all_is_judged_nothing_is_found():
    assert found(VALUE, WELL, NOTES) == []


def test_what_no_criterion_looks_at_is_named():
    assert found(WELL, NOTES) == ["Seen.value > Number.value is shifted, 4 times"]
    assert found(VALUE, NOTES) == ["Seen.well is turned, 4 times"]
    assert found(VALUE, WELL) == ["Seen.notes is shortened, 4 times", "Seen.notes is shifted, 4 times"]


def test_a_number_that_is_judged_in_some_calls_or_places_only_is_named():
    assert found(USUAL, WELL, NOTES) == ["Seen.value > Number.value is shifted, 2 times"]
    assert found(VALUE, WELL, BOTH)[-1].startswith("Seen.notes is shifted")


def test_what_is_declared_need_not_be_judged():
    assert found(VALUE, WELL, NOTES, seen=Clock, seconds=1.5) == ["Clock.seconds is shifted, 4 times"]

    @unjudged(seconds="a time")
    @judged_in_calls(value="an odd call has none")
    @judged_in_places(notes="the first one counts")
    class Declared(Clock):
        pass

    assert found(USUAL, WELL, BOTH, seen=Declared, seconds=1.5) == []
    assert found(WELL, BOTH, seen=Declared, seconds=1.5) == ["Declared.value > Number.value is shifted, 4 times"]
    assert found(VALUE, WELL, seen=Declared, seconds=1.5) == ["Declared.notes is changed, 4 times"]
