"""The judge of arrays that each rank returns: exact integers, the first counter-example, and what a mistake gives."""

from __future__ import annotations

import numpy as np
import pytest

from autograde.contract.evidence import Array, Evidence
from autograde.fixtures.drawn_arrays import drawn_array
from autograde.rubric.judge import Call
from autograde.rubric.values.arrays import EachRankReturnsArray, same_bits


class Seen(Evidence):
    result: Array


ARRAYS = [drawn_array(7, rank, [5], "int64") for rank in range(3)]
TOTAL = sum(ARRAYS)
JUDGE = EachRankReturnsArray(lambda call: TOTAL)


def returned(*values) -> Call:
    return Call({}, 0, {}, [Seen(Array.of(value)) for value in values])


def test_the_expected_array_holds_on_all_ranks():
    assert JUDGE(returned(TOTAL, TOTAL.copy(), TOTAL)) is None


def test_a_sum_of_drawn_integers_that_goes_through_float64_is_found():
    through = sum(array * 1.0 for array in ARRAYS).astype("int64")
    wrong = JUDGE(returned(*[through] * 3))
    assert wrong.key == "through-float" and str(TOTAL[0]) in wrong.message


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (None, "returns-no-array"),
        (TOTAL.astype(float), "array-of-other-dtype"),
        (TOTAL[:, None], "array-of-other-shape"),
        (TOTAL // 2, "wrong-entry"),
    ],
)
def test_the_first_thing_that_is_wrong_is_told(value, key):
    assert JUDGE(returned(value, value, value)).key == key


def test_the_first_counter_example_is_told_by_rank_and_place():
    off = TOTAL.copy()
    off[3] = 8
    by_rank = EachRankReturnsArray(lambda call: [TOTAL, TOTAL, TOTAL])
    assert by_rank(returned(TOTAL, off, off)).message.startswith("On rank 1 of 3, entry 3 is 8, where")
    assert JUDGE(returned(TOTAL, off, off)).key == "not-on-all-ranks"


def test_a_mistake_gives_what_is_near_but_nothing_that_is_near_the_expected_array():
    average = (TOTAL / 3).astype("int64")
    assert JUDGE.gives(returned(average, average, average), TOTAL // 3)
    through = sum(array * 1.0 for array in ARRAYS).astype("int64")
    assert not JUDGE.gives(returned(through, through, through), TOTAL + 1)


def test_the_same_numbers_may_have_other_bits():
    zero = np.zeros(3)
    assert same_bits(returned(zero, zero)) is None
    assert same_bits(returned(zero, -zero)).key == "bits-differ-by-rank"
