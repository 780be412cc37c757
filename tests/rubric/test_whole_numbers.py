"""Numbers that each rank returns, and shares of a row of numbers: each way to be wrong has a name."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from autograde.contract.evidence import Array, Number, Values
from autograde.rubric.criterion import Criterion
from autograde.rubric.judge import Call, of_seen
from autograde.rubric.mistakes import Gives, Mistakes
from autograde.rubric.sampling.shares import pieces_in_order
from autograde.rubric.values.numbers import (
    HALF_PRECISION,
    LOST_DIGITS,
    EachRankReturns,
    EachRankReturnsInt,
    has_values,
)
from autograde.rubric.values.same import Same, on_ranks

LARGE = 2**60 + 1
JUDGE = EachRankReturnsInt(lambda call: call.arguments["expected"], what="the sum")
MISTAKES = Mistakes(
    f"own: Each rank returns its own.\n\naverage: An average.\n\n{LOST_DIGITS}",
    own=lambda call: Gives([1, 2]),
    average=lambda call: Gives(LARGE / 2),
    digits_lost_in_a_float=JUDGE.lost_digits,
)


@pytest.mark.parametrize(
    ("values", "expected", "key"),
    [
        ([LARGE, LARGE], LARGE, None),
        ([np.int64(5), 6], [5, 6], None),
        ([float(LARGE)] * 2, LARGE, "int-through-float"),
        ([int(float(LARGE))] * 2, LARGE, "digits-lost-in-a-float"),
        ([LARGE, LARGE + 5 * 2**30], LARGE, "wrong-int"),
        ([1, 2], LARGE, "own"),
        ([2**59, 2**59 - 1], LARGE, "average"),
        ([5, None], 5, "no-int"),
        ([5, 6], 5, "wrong-int"),
    ],
)
def test_a_whole_number_is_exact_or_its_mistake_has_a_name(values, expected, key):
    seen = [SimpleNamespace(value=Number.of(value)) for value in values]
    wrong = Criterion("sum", 1, "the sum", JUDGE, MISTAKES).wrong([Call({}, 0, {"expected": expected}, seen)])
    assert (wrong and wrong.key) == key


def test_digits_that_16_bits_have_not_are_told_by_how_much_is_off():
    judge = EachRankReturns(lambda call: 3.1416)
    half = Mistakes(HALF_PRECISION, lost_in_16_bits=judge.lost_in_16_bits)

    def said(*values):
        seen = [SimpleNamespace(value=Number.of(float(each))) for each in values]
        wrong = Criterion("pi", 1, "pi", judge, half).wrong([Call({}, 0, {}, seen)])
        return wrong and (wrong.key, wrong.message[:29])

    assert said(3.1416, 3.1416) is None
    assert said(np.float16(3.1416), np.float16(3.1416)) == ("lost-in-16-bits", "The result is off by 1e-03. T")
    assert said(3.140625, 3.140625)[0] == "lost-in-16-bits"  # as bfloat16 has it
    assert said(3.1423, 3.1423)[0] == "wrong-value" and said(4.0, 4.0)[0] == "wrong-value"


def test_an_int_in_a_tensor_is_no_int():
    torch = pytest.importorskip("torch")
    seen = [SimpleNamespace(value=Number.of(torch.tensor(5)))]
    wrong = JUDGE(Call({}, 0, {"expected": 5}, seen))
    assert wrong.key == "int-in-a-tensor" and "the sum as a Tensor of torch.int64" in wrong.message


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([(1, 2), (2, 2)], ""),
        ([(1, 2), 1], "Rank 1 returns an int, where two numbers are expected."),
        ([None], "Your function returns None, where two numbers are expected."),
    ],
)
def test_several_values_are_all_there(values, says):
    seen = [SimpleNamespace(pair=Values.of(value, 2)) for value in values]
    wrong = has_values("two numbers", of_seen("pair"))(Call({}, 0, {}, seen))
    assert (wrong.message if wrong else "") == says


def test_several_values_are_compared_one_by_one():
    judge = Same(of_seen("pair"), lambda call: [(1, 2), (3, 4)], on_ranks("the pair"))
    shown = lambda *values: Call({}, 0, {}, [SimpleNamespace(pair=Values.of(value, 2)) for value in values])  # noqa: E731
    assert judge(shown((1, 2), (3, 4))) is None
    assert judge(shown((1, 2), (3, 5))).message == "On rank 1, entry 1 of the pair is 5, where 4 is expected."
    assert judge(shown((1, 2), 3)).key == judge.form(shown((1, 2), 3)).key == "another-kind"
    assert judge.form(shown((1, 2), (3, 5))) is None


def test_an_array_of_another_shape_is_of_another_form():
    judge = Same(of_seen("value"), lambda call: [np.arange(3)], on_ranks("the array"))
    wrong = judge.form(Call({}, 0, {}, [SimpleNamespace(value=Array.of(np.arange(2)))]))
    assert wrong.message == "On rank 0, the array has the shape [2], where [3] is expected."
    assert judge.form(Call({}, 0, {}, [SimpleNamespace(value=Array.of(np.ones(3, int)))])) is None


@pytest.mark.parametrize(
    ("places", "key"),
    [
        ([[0, 1], [2, 3], [4]], None),
        ([[], [0], []], None),
        ([[0, 1], [2, 3], []], "numbers-left-out"),
        ([[0, 1], [1, 2], [3, 4]], "in-two-shares"),
        ([[2, 3], [0, 1], [4]], "share-in-pieces"),
        ([[0, 2], [1, 3], [4]], "share-in-pieces"),
        ([[0, 1, 2], [3], [4]], "shares-unequal"),
    ],
)
def test_shares_are_fair_pieces_in_the_order_of_the_ranks(places, key):
    n = 1 if places[0] == [] else 5
    wrong = pieces_in_order(places, n)
    assert (wrong and wrong.key) == key


def test_a_float_that_is_no_finite_number_is_said_to_be_that():
    judge = Same(of_seen("pair"), lambda call: [(1.0, 2.0)], on_ranks("the pair"))
    wrong = judge(Call({}, 0, {}, [SimpleNamespace(pair=Values.of((1.0, float("nan")), 2))]))
    assert wrong.message == "On rank 0, entry 1 of the pair is nan or infinite, where 2 is expected."
