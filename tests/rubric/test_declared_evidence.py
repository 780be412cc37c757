"""Evidence is declared once: what a class says is what travels, and nothing else fits."""

from __future__ import annotations

import itertools
import json

import msgspec
import numpy as np
import pytest
import torch

from autograde.contract.check import plain
from autograde.contract.evidence import (
    Array,
    Evidence,
    Number,
    Values,
    decoded,
    encoded,
    json_schema,
    judged_in_calls,
    sketch,
    unjudged,
)
from autograde.rubric.values.rounding import Rounding
from autograde.sandbox.untrusted import problem


class Seen(Evidence):
    """An example."""

    result: Array
    share: tuple[int, int]
    value: Number


def seen(value: object = 1.5) -> Seen:
    """One of them."""
    return Seen(Array.of(np.arange(3)), (1, 2), Number.of(value))


def schema() -> dict:
    """Its JSON Schema."""
    inner, definitions = json_schema(Seen)
    return {**inner, "$defs": definitions}


def test_evidence_travels_through_json_and_fits_its_schema():
    data = plain(encoded(seen()))
    assert problem(schema(), data) is None
    assert decoded(Seen, data) == seen()


@pytest.mark.parametrize(
    "change",
    [{"share": [1]}, {"share": [1, 2, 3]}, {"share": [1, True]}, {"value": 3}, {"more": 1}, {"result": None}],
)
def test_what_is_of_another_form_fits_neither_the_schema_nor_the_class(change):
    data = plain(encoded(seen())) | change
    assert problem(schema(), data)
    with pytest.raises(msgspec.ValidationError):
        decoded(Seen, data)


def test_a_field_with_a_default_has_to_be_there_too():
    data = plain(encoded(seen()))
    del data["result"]["entries"]
    assert problem(schema(), data)


def test_what_is_no_array_has_nothing_of_an_array():
    data = plain(encoded(Array.of(None)))
    assert decoded(Array, data) == Array("None")
    with pytest.raises(msgspec.ValidationError):
        decoded(Array, data | {"entries": [1.5]})


@pytest.mark.parametrize("change", [{"entries": [0, 1]}, {"shape": [4]}, {"shape": [1000]}, {"dtype": "int7"}])
def test_an_array_has_a_dtype_and_as_many_entries_as_its_shape_says(change):
    data = plain(encoded(Array.of(np.arange(3))))
    assert decoded(Array, plain(encoded(Array.of(np.zeros((50, 2)))))).shape == [50, 2]
    with pytest.raises(msgspec.ValidationError):
        decoded(Array, data | change)


def test_what_need_not_be_judged_is_declared_by_field_with_the_reason():
    class More(Number):
        other: int = 0

    assert unjudged(other="it is never asked for")(More).unjudged == {
        **Number.unjudged,
        "other": "it is never asked for",
    }
    assert "other" not in Number.unjudged
    with pytest.raises(ValueError, match="More has no field another"):
        judged_in_calls(another="it is not there")(More)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ((1, 2), ""),
        (np.array([1, 2]), ""),
        (torch.tensor([1, 2]), ""),
        (map(int, "12"), ""),
        ((1, 2, 3), "a tuple of 3"),
        ([1], "a list of 1"),
        (itertools.count(), "a count"),
        (torch.tensor(1), "a Tensor"),
        ({1, 2}, "a set"),
        ("12", "a str"),
        (None, "None"),
    ],
)
def test_several_values_are_there_or_it_is_said_what_came_in_their_place(value, kind):
    seen = Values.of(value, 2)
    assert (seen.kind, [each.value for each in seen.numbers]) == (kind, [] if kind else [1, 2])


def test_integers_are_exact_beyond_what_a_float_holds():
    large = 2**60 + 1
    assert Number.of(np.int64(large)).value == large != int(float(large))
    assert Array.of(np.array([large])).entries == [large]
    assert not Rounding()(float(large), large) and Rounding()(large, large)
    many = np.full(1000, large)
    assert sketch(many) != sketch(many - np.eye(1, 1000, 500, dtype=np.int64)[0])
    assert json.loads(json.dumps(sketch(many))) == sketch(many)


@pytest.mark.parametrize(
    ("value", "kind"),
    [(None, "None"), ([1.0], "a list"), (np.array(["x"]), "an array of <U1"), (3, "an int")],
)
def test_what_is_no_array_says_what_it_is(value, kind):
    assert Array.of(value) == Array(kind)


def test_an_array_says_whose_memory_it_shares():
    given = np.arange(4.0)
    assert Array.of(given[1:], array=given, other=np.arange(2)).shares == ["array"]
    tensor = torch.arange(4.0)
    assert Array.of(tensor.view(2, 2), tensor=tensor).shares == ["tensor"]
    assert Array.of(tensor.clone(), tensor=tensor).kind == "tensor"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "1", [1.0], 10**400])
def test_what_is_no_finite_number_has_no_value(value):
    assert Number.of(value).value is None or value == "1"


def test_rounding_is_of_the_dtype_and_never_of_an_integer():
    assert Rounding.of("float32")(1.000001, 1.0) and not Rounding.of("float64")(1.000001, 1.0)
    assert not Rounding.of("float32")(100001, 100000)
    assert not Rounding()(True, 1) and not Rounding()(1, True) and not Rounding()(None, 1.0)
    assert Rounding()([1.0, [2.0]], [1.0, [2.0]]) and not Rounding()([1.0], [1.0, 2.0])
