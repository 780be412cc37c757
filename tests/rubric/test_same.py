"""The judge of what is shown beside what should be, and mistakes as its reference with something changed."""

from __future__ import annotations

import numpy as np
import pytest

from autograde.contract.evidence import Array, Number, NumbersByName
from autograde.rubric import (
    Call,
    Criterion,
    Gives,
    Mistakes,
    Rounding,
    Same,
    Words,
    changed,
    first_of,
    of_call,
    on_ranks,
)
from autograde.rubric.values.same import differences


def call(seen, **arguments) -> Call:
    return Call({}, 0, arguments, [seen])


def where(call, place) -> str:
    return f"at step {place[0]}, the rate" if place else "The list"


RATES = Same(lambda call: call.seen[0], of_call("due"), where, near=Rounding(1e-9), given=("lr",))


@pytest.mark.parametrize(
    ("seen", "key", "text"),
    [
        ([1.0, 2.0], None, ""),
        ([1.0, 2.5], "another-value", "At step 1, the rate is 2.5, where 2 is expected, with lr = 0.1."),
        ([1.0, 2.0 + 1e-7], "float32", "single precision"),
        ([1.0], "another-length", "The list has 1 entry, where 2 entries are expected"),
        ([1.0, None], "another-kind", "At step 1, the rate is None, where 2 is expected."),
        ([1.0, Number.of("two")], "another-kind", "is of type str"),
        (None, "another-kind", "The list is None, where a list is expected."),
    ],
)
def test_the_first_place_that_differs_is_told_with_what_is_there_and_what_is_expected(seen, key, text):
    wrong = RATES(call(seen, due=[1.0, 2.0], lr=0.1))
    assert (wrong and wrong.key) == key
    assert text in (wrong.message if wrong else "")


def test_form_is_of_kinds_and_lengths_alone():
    assert RATES.form(call([1.0, 9.0], due=[1.0, 2.0], lr=1)) is None
    assert RATES.form(call([1.0], due=[1.0, 2.0], lr=1)).key == "another-length"


def test_arrays_numbers_and_names_are_compared_inside_lists():
    eye = np.eye(2)
    assert [*differences([Array.of(eye), {"a": Number.of(1.0)}], [eye, {"a": 1.0}])] == []
    assert [each.place for each in differences([Array.of(eye), [1]], [2 * eye, [2]])] == [(0, 0), (0, 3), (1, 0)]
    for other, what in (eye[:1], "shape"), (eye.astype("float32"), "dtype"), (None, "kind"):
        assert [each.what for each in differences(Array.of(eye), other)] == [what]
    named = NumbersByName.of({"a": 1.0}, ["a", "b"])
    [missing] = differences(named, {"a": 1.0, "b": 2.0})
    assert (missing.what, missing.actual_text) == ("kind", "a dict with the keys 'a'")


def test_places_on_ranks_are_said_in_words():
    told = on_ranks("the list", "batch")
    assert told(None, (2,)) == "On rank 2, the list"
    assert told(None, (2, 1, 0)) == "On rank 2, batch 1, entry 0 of the list"
    shards = on_ranks("`{}` of shard {}")
    assert shards(None, (2, "grad", 1)) == "On rank 2, `grad` of shard 1"
    assert shards(None, (2, "grad", 1, 5)) == "On rank 2, entry 5 of `grad` of shard 1"


def test_words_of_a_lab_stand_in_place_of_the_librarys():
    def words(call, difference):
        return None if difference.what != "value" else wrong(difference.place)

    def wrong(place):
        return Words("mine: At {at}.")("mine", at=place[0])

    own = Same(lambda call: call.seen[0], of_call("due"), where, otherwise=words)
    assert own(call([1.0, 3.0], due=[1.0, 2.0])).message == "At 1."
    assert own(call([1.0, 3.0], due=[1.0, 2.0])).compared
    assert own(call([1.0], due=[1.0, 2.0])).key == "another-length"


def line(call, factor=1.0, shift=0.0):
    return [factor * x + shift for x in call.arguments["x"]]


MISTAKES = Mistakes(
    """
    doubled: You take {factor} of it.

    shifted: The line begins elsewhere.

    nothing: Nothing is added up.
    """,
    changed(
        line,
        doubled=lambda call: Gives(line(call, 2), factor="twice"),
        shifted=[{"shift": 1.0}, {"shift": lambda call: call.arguments["by"]}],
        nothing=lambda call: [0.0] if len(call.arguments["x"]) > 1 else None,
    ),
)
LINE = Criterion("line", 1, "it is a line", Same(lambda call: call.seen[0], line, where), MISTAKES)


@pytest.mark.parametrize(
    ("seen", "key"),
    [([2.0], "doubled"), ([4.0], "shifted"), ([7.0], "another-value"), ([0.0], "another-value")],
)
def test_a_mistake_is_the_reference_with_one_thing_changed(seen, key):
    one = call(seen, x=[1.0], by=3.0)
    wrong = LINE.wrong([one])
    assert wrong.key == key
    assert key != "doubled" or wrong.message == "You take twice of it."


def test_two_judges_that_compare_are_no_single_criterion():
    with pytest.raises(ValueError, match="several judges in one criterion compare"):
        first_of(RATES, RATES)
    with pytest.raises(ValueError, match="its judge compares none"):
        Criterion("line", 1, "it is a line", lambda call: None, MISTAKES)


def test_what_a_judge_before_it_finds_is_not_taken_for_a_value():
    said = RATES(call([9.0, 2.0], due=[1.0, 2.0], lr=1))
    both = first_of(lambda call: said, RATES)
    assert said.compared and not both(call([1.0, 2.0], due=[1.0, 2.0], lr=1)).compared
    assert both.judges[1] is RATES


@pytest.mark.parametrize("seen", [NumbersByName("", {}), {}])
def test_a_dict_without_any_of_the_names_is_told_as_such(seen):
    wrong = RATES(call(seen, due={"rate": 1.0}, lr=0.1))
    assert wrong.key == "another-kind" and "a dict with none of these keys, where a dict with the keys 'rate'" in (
        wrong.message
    )
