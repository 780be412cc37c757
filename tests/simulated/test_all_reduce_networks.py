"""Networks where sums come late, or at once; and torch is as before when the block of any network is over."""

from __future__ import annotations

import pytest
from student_cells import call, cell
from timed_reductions import BANDWIDTH, LATENCY, SIMULATED

SEEN = """
    def f():
        seen = {}
        rank = float(dist.get_rank())
        with NETWORK():
            x = torch.full((3,), rank, requires_grad=True)
            time.sleep(0.1 * rank)
            work = dist.all_reduce(x, async_op=True)
            seen["returned"] = x.tolist()
            time.sleep(0.4)
            seen["before"] = x.tolist()
            work.wait()
            work.wait()
            seen["waited"] = x.tolist()
            x = torch.full((3,), rank)
            dist.all_reduce(x)
            seen["at once"] = x.tolist()
            x = torch.full((3,), rank)
            work = dist.all_reduce(x, async_op=True)
            while not work.is_completed():
                time.sleep(1e-3)
            seen["polled"] = x.tolist()
            work.wait()
            x = torch.full((3,), rank)
            future = dist.all_reduce(x, async_op=True).get_future()
            future.wait()
            seen["future"] = x.tolist()
            x = torch.full((3,), rank)
            half = dist.all_reduce(x, async_op=True).get_future().then(lambda done: done.value()[0] / 2)
            seen["then"] = half.wait().tolist()
        return seen
    """


@pytest.mark.parametrize("watch", [True, False], ids=["watched", "unwatched"])
@pytest.mark.parametrize("network", ["late_all_reduce", "quick_all_reduce"])
def test_the_sum_is_in_its_place_late_when_it_is_waited_for_and_quick_at_once(world, network, watch):
    subject = cell(SIMULATED + SEEN.replace("NETWORK", network))
    results = world.run(call, subject, init="torch", size=3, watch=watch)
    for rank, seen in enumerate(results):
        there = [float(rank) if network == "late_all_reduce" else 3.0] * 3
        assert (seen.pop("returned"), seen.pop("before")) == (there, there)
        assert seen.pop("then") == [1.5] * 3
        assert set(map(tuple, seen.values())) == {(3.0,) * 3}, seen
    if watch:
        assert [event["op"] for event in world.events[0]] == ["all_reduce"] * 5
        first = world.events[0][0]
        assert 0.4 <= first["waited"] - first["start"] <= first["end"] - first["start"]
        assert None not in [event["end"] for event in world.events[0]]


@pytest.mark.parametrize("watch", [True, False], ids=["watched", "unwatched"])
@pytest.mark.parametrize(
    "network", [f"slow_all_reduce({LATENCY}, {BANDWIDTH})", "late_all_reduce()", "quick_all_reduce()"]
)
def test_torch_is_as_before_when_the_block_is_over(world, network, watch):
    before_and_after = cell(
        SIMULATED
        + f"""
    def held():
        owners = dist, dist.distributed_c10d, dist.ProcessGroup, dist.Work, torch.futures.Future
        return [{{name: id(value) for name, value in vars(owner).items()}} for owner in owners]

    def f():
        before = held()
        with {network}:
            dist.all_reduce(torch.ones(1))
            inside = held()
        after = held()
        try:
            with {network}:
                raise KeyError
        except KeyError:
            pass
        x = torch.ones(1)
        dist.all_reduce(x)
        return before == after == held(), before == inside, x.item()
    """
    )
    assert world.run(call, before_and_after, init="torch", size=2, watch=watch) == [(True, False, 2.0)] * 2
