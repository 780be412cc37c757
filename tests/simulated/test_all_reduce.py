"""All-reduces on a slow network: what they cost, on real ranks."""

from __future__ import annotations

import pytest
import torch
from student_cells import call, cell
from timed_messages import UPWARDS
from timed_reductions import BANDWIDTH, COUNT, LATENCY, SIMULATED, cost, takes

from course.simulated.all_reduce import Transfer, slow_all_reduce

REDUCE = {
    "waiting": ("dist.all_reduce(x)", 1),
    "started": ("dist.all_reduce(x, async_op=True).wait()", 1),
    "synchronized": ("dist.all_reduce(x, async_op=True).synchronize()", 1),
    "future": ("dist.all_reduce(x, async_op=True).get_future().then(lambda done: done.value()[0]).wait()", 1),
    "polled": ("poll(dist.all_reduce(x, async_op=True))", 1),
    "three": ("[w.wait() for w in [dist.all_reduce(y, async_op=True) for y in (x.clone(), x.clone(), x)]]", 3),
    "computing": ("w = dist.all_reduce(x, async_op=True); time.sleep(0.9 * COST); w.wait()", 1),
    "group": ("dist.all_reduce(x, group=dist.new_group([0, 1, 2, 3]))", 1),
    "method": ("dist.distributed_c10d._get_default_group().allreduce(x).wait()", 1),
}


@pytest.mark.sample(3)
@UPWARDS
@pytest.mark.parametrize(
    ("way", "watch"), [*((way, True) for way in REDUCE), *((way, False) for way in ("waiting", "polled", "future"))]
)
def test_an_all_reduce_takes_as_long_as_in_a_ring_one_after_the_other(world, way, watch, spare):
    source, times = REDUCE[way]
    subject = cell(
        SIMULATED
        + f"""
    TOTAL, COST = torch.full(({COUNT},), 10.0), {cost(4)}

    def poll(work):
        while not work.is_completed():
            time.sleep(1e-3)

    def reduce(x):
        {source}
        return x

    def f():
        return timed(reduce)
    """
    )
    assert takes(world.run(call, subject, init="torch", watch=watch), times * cost(4), spare)


def test_an_all_reduce_begins_when_the_last_rank_calls_it(world):
    late = cell(
        SIMULATED
        + f"""
    def f():
        with slow_all_reduce({LATENCY}, {BANDWIDTH}):
            dist.barrier()
            if dist.get_rank() == 1:
                time.sleep({cost(3)})
            began = time.monotonic()
            dist.all_reduce(torch.ones({COUNT}))
            return began, time.monotonic()
    """
    )
    results = world.run(call, late, init="torch", size=3)
    assert min(end for _, end in results) >= results[1][0] + cost(3)


@UPWARDS
def test_clocks_of_several_machines_are_not_compared(world, spare):
    apart = cell(
        SIMULATED
        + f"""
    from types import SimpleNamespace
    from course.simulated import all_reduce

    TOTAL = torch.full(({COUNT},), 3.0)

    def reduce(x):
        dist.all_reduce(x)
        return x

    def f():
        rank, kept = dist.get_rank(), (all_reduce.MACHINE, all_reduce.time)
        all_reduce.MACHINE = rank
        all_reduce.time = SimpleNamespace(monotonic=lambda: time.monotonic() + 1000 * rank, sleep=time.sleep)
        try:
            return timed(reduce)
        finally:
            all_reduce.MACHINE, all_reduce.time = kept
    """
    )
    assert takes(world.run(call, apart, init="torch", size=2), cost(2), spare)


def test_one_rank_alone_waits_for_nobody(world):
    alone = cell(
        SIMULATED
        + """
    def f():
        x = torch.ones(3)
        with slow_all_reduce(3600.0, 1.0):
            dist.all_reduce(x)
            dist.all_reduce(x, async_op=True).wait()
        return x.tolist()
    """
    )
    assert world.run(call, alone, init="torch", size=1) == [[1.0] * 3]


@pytest.mark.thorough
def test_waiting_takes_next_to_nothing_of_a_core(world):
    asleep = cell(
        SIMULATED
        + f"""
    def f():
        with slow_all_reduce({LATENCY}, {BANDWIDTH}):
            began, used = time.monotonic(), time.process_time()
            for work in [dist.all_reduce(torch.ones({COUNT}), async_op=True) for _ in range(3)]:
                work.wait()
            return (time.process_time() - used) / (time.monotonic() - began)
    """
    )
    assert max(world.run(call, asleep, init="torch")) < 0.25


def test_the_watch_sees_one_event_for_each_call_with_the_time_that_it_takes(world):
    seen = cell(
        SIMULATED
        + f"""
    def f():
        with slow_all_reduce({LATENCY}, {BANDWIDTH}):
            dist.all_reduce(torch.ones({COUNT}))
            work = dist.all_reduce(torch.ones({COUNT}), async_op=True)
            dist.all_reduce(torch.ones({COUNT}), async_op=True)
            time.sleep({cost(2) / 2})
            work.wait()
        with slow_all_reduce(0.0, 1e9):
            dist.distributed_c10d._get_default_group().allreduce(torch.ones(1)).wait()
    """
    )
    world.run(call, seen, init="torch", size=2)
    waiting, started, forgotten, method = world.events[0]
    assert [event["op"] for event in world.events[0]] == ["all_reduce"] * 3 + ["allreduce"]
    assert waiting["waited"] == waiting["start"]
    assert waiting["end"] - waiting["start"] >= cost(2)
    assert (started["line"], started["bytes"]) == (waiting["line"] + 1, 4 * COUNT)
    assert cost(2) / 2 <= started["waited"] - started["start"] < started["end"] - started["start"]
    assert started["end"] - started["start"] >= cost(2)
    assert (forgotten["waited"], forgotten["end"]) == (None, None)
    assert method["bytes"] == 4


@UPWARDS
def test_torchs_own_data_parallel_reduces_on_it_with_torchs_own_hook(world, spare):
    data_parallel = cell(
        SIMULATED
        + f"""
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

    def f():
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear({COUNT}, 1, bias=False))
        model.register_comm_hook(None, allreduce_hook)

        def backward(x):
            model.zero_grad()
            model(x).sum().backward()
            return model.module.weight.grad[0]

        global TOTAL
        TOTAL = torch.full(({COUNT},), 2.5)
        return timed(backward)
    """
    )
    assert takes(world.run(call, data_parallel, init="torch"), cost(4), spare)


def test_a_transfer_that_fails_raises_where_it_is_waited_for():
    class Broken:
        def wait(self) -> None:
            raise RuntimeError("connection closed by peer")

    handle = Transfer(torch.zeros(3), Broken(), Broken(), [torch.ones(1)], 0.0, None).handle
    with pytest.raises(RuntimeError, match="closed by peer"):
        handle.wait()


@pytest.mark.parametrize(("latency", "bandwidth"), [(-1.0, 1.0), (0.0, 0.0), (0.0, -1.0)])
def test_what_is_no_network_is_refused(latency, bandwidth):
    with pytest.raises(ValueError, match="No network"), slow_all_reduce(latency, bandwidth):
        pass
