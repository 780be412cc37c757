"""A simulated device takes its time, and no core."""

from __future__ import annotations

import pytest
from student_cells import call, cell

from course.simulated.device import SimulatedDevice
from course.world import COMM

STEP = cell(
    """
    import time
    from course.simulated.device import SimulatedDevice

    def f(comm):
        device = SimulatedDevice(flops_per_second=1e9)
        began, used = time.perf_counter(), time.process_time()
        device.compute(3e8)
        return time.perf_counter() - began, time.process_time() - used
    """
)


def test_a_step_takes_as_long_as_its_operations_do(world):
    assert all(seconds >= 0.3 for seconds, _ in world.run(call, STEP, COMM))


@pytest.mark.thorough
def test_all_ranks_take_a_step_at_once_and_no_core(world):
    # Others may use this machine, so a rank may wake late: the best of three, with 25 % to spare.
    tries = [world.run(call, STEP, COMM) for _ in range(3)]
    assert all(used < 0.05 for results in tries for _, used in results)
    assert min(max(seconds for seconds, _ in results) for results in tries) < 0.3 * 1.25


@pytest.mark.parametrize("rate", [0, -1.0, float("nan")])
def test_a_device_that_computes_nothing_is_refused(rate):
    with pytest.raises(ValueError, match="positive"):
        SimulatedDevice(rate)
