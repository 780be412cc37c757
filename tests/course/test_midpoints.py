"""The midpoint rule on several ranks: its points, and the record of who asks for which."""

from __future__ import annotations

import math

import numpy as np
import pytest

from course.models.midpoints import midpoint_sum, recorded


def test_the_sum_of_all_midpoints_is_near_pi():
    assert midpoint_sum(lambda x: 4 / (1 + x * x), 1000) == pytest.approx(math.pi, abs=1e-7)


def test_a_record_has_all_points_and_refuses_what_is_no_float64_array():
    record = {"points": []}
    f = recorded(np.sqrt, record)
    assert f(np.array([[1.0], [4.0]])).tolist() == [[1.0], [2.0]]
    assert record == {"points": [1.0, 4.0], "used": True}
    for wrong, kind in [
        (1.0, "float"),
        (np.float32(1), "float32"),
        (np.ones(1, dtype=np.float32), "ndarray of float32"),
    ]:
        with pytest.raises(TypeError, match="float64"):
            f(wrong)
        assert record["refused"] == kind
