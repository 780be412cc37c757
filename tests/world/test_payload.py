"""What a call sends has the size that goes over the wire, and what cannot be described stops nobody."""

from __future__ import annotations

import array
import ctypes
import json

import numpy as np
import pytest
import torch
from mpi4py import MPI

from course.watch.payload import describe, describe_buffer
from course.world import COMM, World

EIGHT = np.arange(8.0)


class Awkward:
    """Says that it is a tensor, and raises whatever is asked of it."""

    dtype = "float32"

    @property
    def nbytes(self) -> int:
        raise RuntimeError("nothing")


@pytest.mark.parametrize(
    ("payload", "size"),
    [
        (EIGHT, 64),
        (EIGHT[2:5], 24),
        ([EIGHT, MPI.DOUBLE], 64),
        ([EIGHT, "d"], 64),
        ([EIGHT, 3], 24),
        ([EIGHT, 3, MPI.DOUBLE], 24),
        ([EIGHT, (3, 1), MPI.DOUBLE], 24),
        ((EIGHT, None, MPI.DOUBLE), 64),
        (array.array("d", [1, 2]), 16),
        (bytearray(7), 7),
        (memoryview(EIGHT), 64),
        (np.float64(2), 8),
        (np.ones(3, np.float16), 6),
        (torch.ones(3), 12),
        (torch.ones(3, dtype=torch.bfloat16), 6),
        ((ctypes.c_int * 2)(), 8),
        (None, 0),
        ([None, 0, MPI.INT], 0),
    ],
)
def test_a_buffer_has_the_size_that_is_sent(payload, size):
    assert describe_buffer(payload).bytes == size


@pytest.mark.parametrize(
    "counts", [([1, 2, 3],), ((1, 2, 3),), (([1, 2, 3], [0, 1, 3]), MPI.DOUBLE), ((1, 2, 3), (0, 1, 3), MPI.DOUBLE)]
)
def test_a_buffer_with_a_count_for_each_rank_has_their_sum(counts):
    assert describe_buffer([EIGHT, *counts], vector=True).bytes == 48


@pytest.mark.parametrize(
    ("payload", "values"),
    [
        (True, [True]),
        (3, [3]),
        (2**70, [None]),
        (float("inf"), [None]),
        (1j, None),
        (np.longdouble(3), [3.0]),
        (np.array([2], np.longdouble), [2.0]),
        (np.array([1 + 2j]), [None]),
        (np.float16(2), [2.0]),
        (np.array([2**63], np.uint64), [None]),
        (np.arange(8).reshape(2, 4), [0, 1, 2, 3, 4, 5, 6, 7]),
        (np.arange(9), None),
        (torch.tensor(2.0, dtype=torch.bfloat16), [2.0]),
        ([torch.tensor(4)], [4]),
        ([torch.tensor(4), torch.tensor([5.0, float("nan")])], [4, 5.0, None]),
        (torch.ones(2, requires_grad=True).t(), [1.0, 1.0]),
        (torch.ones(1, device="meta"), None),
        (Awkward(), None),
        (lambda: 0, None),
    ],
)
def test_few_numbers_are_noted_or_left_out_and_can_be_logged(payload, values):
    for about in (describe(payload), describe_buffer(payload)):
        assert json.loads(json.dumps(about)) == [*about]
    assert describe(payload).values == values


@pytest.mark.parametrize(
    ("payload", "dtype", "values"),
    [
        (array.array("d", [1, 2]), "float64", [1.0, 2.0]),
        (array.array("f", [0.5]), "float32", [0.5]),
        ((ctypes.c_int * 2)(3, 4), "int32", [3, 4]),
        (bytearray(8), "bytearray", None),
        ([bytearray(8), MPI.DOUBLE], "float64", None),
        ([EIGHT, 2, MPI.INT], "int32", None),
        ([EIGHT, 2], "float64", [0.0, 1.0]),
        ([EIGHT, (2, 1), MPI.DOUBLE], "float64", None),
    ],
)
def test_numbers_in_other_buffers_are_noted_where_it_is_certain_which_are_sent(payload, dtype, values):
    assert describe_buffer(payload)[1:] == (dtype, values)


def test_what_is_sent_and_cannot_be_described_arrives(world: World):
    def send_all(comm):
        total = np.zeros(2, np.longdouble)
        comm.Allreduce(np.ones(2, np.longdouble), total)
        sums = [comm.allreduce(number) for number in (np.longdouble(1), 1j, 2**80, np.array([1j]))]
        comm.Allreduce(MPI.IN_PLACE, [total, 1, MPI.LONG_DOUBLE])
        peer = np.int64(1 - comm.rank)
        found = comm.sendrecv("text", dest=peer, source=peer)
        return [float(total[0]), float(sums[0]), sums[1] == 2j, sums[2] == 2**81, complex(sums[3][0]) == 2j, found]

    outcome = world.attempt(send_all, COMM, size=2)
    assert outcome.results == [[4.0, 2.0, True, True, True, "text"]] * 2, outcome.report
    assert [event["bytes"] for event in outcome.events[0]][-2:] == [16, 19]
    assert outcome.events[0][-1]["peer"] == outcome.events[0][-1]["source"] == 1
