"""Time that others took is given back, and only that."""

from __future__ import annotations

import os
import time

import pytest
from busy_programs import busy_programs

from course.world import World
from course.world.deadline import Deadline, Loss, lost

pytestmark = pytest.mark.alone


def compute(seconds: float) -> int:
    """Take so much processor time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return 1


@pytest.mark.parametrize(
    ("elapsed", "ran", "waited", "cpus", "expected"),
    [
        (10, 10, 0, 2, 0),  # one that had a core
        (10, 2, 8, 2, 8),  # one that had a fifth of it
        (10, 1, 0, 2, 0),  # one that slept
        (10, 20, 20, 2, 0),  # four that shared two cores among themselves
        (10, 10, 30, 2, 5),  # four that had one of two cores
        (10, 5, 5, 1, 5),
        (0, 0, 0, 2, 0),
    ],
)
def test_what_is_lost_is_what_an_idle_machine_would_have_given(elapsed, ran, waited, cpus, expected):
    assert lost(elapsed, ran, waited, cpus) == pytest.approx(expected)


def test_what_others_take_is_measured_and_what_we_sleep_is_not():
    loss, began = Loss(lambda: [os.getpid()]), time.monotonic()
    with busy_programs(3):
        compute(0.5)
    elapsed = time.monotonic() - began
    assert loss.seconds() == pytest.approx(elapsed - 0.5, rel=0.3, abs=0.2) and elapsed > 1
    loss = Loss(lambda: [os.getpid()])
    time.sleep(0.5)
    assert loss.seconds() < 0.2
    assert Loss(lambda: [2**30]).seconds() == 0


def test_a_deadline_passes_in_time_where_nobody_computes():
    began = time.monotonic()
    deadline = Deadline(0.3, Loss(lambda: [os.getpid()]).seconds)
    while not deadline.passed():
        time.sleep(0.01)
    assert time.monotonic() - began < 0.8
    deadline = Deadline(60, lambda: 0.0)
    deadline.bring_forward(0)
    time.sleep(0.001)
    assert deadline.passed()


def test_ranks_that_compute_beside_others_are_not_too_slow(world: World):
    assert world.attempt(compute, 2.0, size=2, deadline=2.5).ok
    with busy_programs(3):
        began = time.monotonic()
        assert world.attempt(compute, 2.0, size=2, deadline=2.5).ok
        assert time.monotonic() - began > 2.5, "it took longer"
        assert world.attempt(time.sleep, 20, size=2, deadline=1.0).state == "too-slow"
        began = time.monotonic()
        assert world.attempt(compute, 60.0, size=2, deadline=1.0).state == "too-slow"
        assert time.monotonic() - began < 20, "what is given back has a bound"
