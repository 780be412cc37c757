"""The judge of a path: what is no path of points, where it begins, how many points it has, and what tensor it is."""

from __future__ import annotations

import pytest
import torch

from autograde.contract.evidence import Points, decoded, encoded
from autograde.rubric import Call, Path, of_path

START = (0.5, -1.0)
PATH = Path(lambda call: call.seen, lambda call: START, lambda call: (3, 2))
ROWS = [START, (0.25, 1.0), (0.125, 2.0), (0.0, 3.0)]


def tensor(rows: list, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.tensor(rows, dtype=dtype)


def returned(*values: object) -> Call:
    """A call that returned these, a value for each rank."""
    return Call({}, 0, {}, [Points.of(value) for value in values])


@pytest.mark.parametrize("rows", [ROWS, ROWS[:3]])
def test_a_path_of_any_number_of_steps_that_is_due_is_one(rows):
    call = returned(tensor(rows))
    assert PATH(call) is None and PATH.dtype_and_history(call) is None


@pytest.mark.parametrize(
    ("value", "key", "told"),
    [
        (None, "not-a-path", "The path is None"),
        (1.5, "not-a-path", "a float"),
        (["ab", "cd"], "not-a-path", "a list"),
        (tensor(ROWS).T, "not-a-path", "a tensor of float64, of shape [2, 4]"),
        (tensor([START] * 1200), "not-a-path", "of shape [1200, 2]"),
        (tensor([START, (0.25, float("nan")), *ROWS[2:]]), "not-finite", "Row 1"),
        (tensor([START, *[ROWS[1]] * 3]), "rows-all-equal", "(0.25, 1)"),
        (tensor([*ROWS, ROWS[0]]), "wrong-number-of-rows", "5 rows. With 3 steps, 4 are expected"),
        (tensor([*ROWS[1:], ROWS[0]]), "not-from-start", "(0.25, 1), where `start` = (0.5, -1)"),
    ],
)
def test_what_is_wrong_with_a_path_is_told(value, key, told):
    wrong = PATH(returned(value))
    assert wrong.key == key and told in wrong.message


def test_a_row_that_is_missing_is_the_first_or_the_last():
    path = Path(lambda call: call.seen, lambda call: START, lambda call: (3,))
    assert path(returned(tensor(ROWS[1:]))).key == "start-missing"
    assert path(returned(tensor(ROWS[:3]))).key == "last-row-missing"


def test_the_tensor_is_of_the_dtype_of_x_and_has_no_history():
    single, double = (Path(PATH.rows, PATH.start, PATH.steps, lambda call, of=of: of) for of in ("float32", "float64"))
    assert single.dtype_and_history(returned(tensor(ROWS, torch.float32))) is None
    assert "float32" in double.dtype_and_history(returned(tensor(ROWS, torch.float32))).message
    assert double.dtype_and_history(returned(ROWS)).key == "wrong-dtype"
    assert double.dtype_and_history(returned(tensor(ROWS).requires_grad_())).key == "not-detached"


def test_of_several_ranks_the_first_wrong_one_is_named_and_rank_0_says_where_it_begins():
    elsewhere = tensor([ROWS[1], *ROWS[1:]])
    assert PATH(returned(tensor(ROWS), elsewhere)) is None
    assert "rank 0's `start`" in PATH(returned(elsewhere, tensor(ROWS))).message
    assert "Rank 1's path is None" in PATH(returned(tensor(ROWS), None)).message
    assert "Rank 1's path" in PATH.dtype_and_history(returned(tensor(ROWS), ROWS)).message


def test_points_travel_and_a_place_in_them_has_a_name():
    seen = Points.of([torch.tensor(row) for row in ROWS])
    assert decoded(Points, encoded(seen)) == seen and seen.rows == ROWS
    assert [of_path(Call({}, 0, {}, []), place) for place in ((2,), (2, 1))] == [
        "Row 2 of the path",
        "In row 2 of the path, n",
    ]
