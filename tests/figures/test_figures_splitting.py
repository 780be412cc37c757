"""Pictures of split models: what is drawn is the plan, what the ranks keep, and when they computed."""

from __future__ import annotations

import time

import pytest
from made_events import event

from course.figures.splitting.clock_picture import clock_picture, idle_shares
from course.figures.splitting.memory_bars import PARTS, memory_bars
from course.figures.splitting.schedules import (
    bubble,
    gpipe,
    in_ticks,
    kept_activations,
    micro_batches_of,
    missing,
    one_forward_one_backward,
    too_early,
)
from course.world import RANK, SIZE

# Two stages and two micro-batches; a pass takes 100 ms.
PASSES = [
    [("F", 0.0, 0.1), ("F", 0.1, 0.2), ("B", 0.4, 0.5), ("B", 0.5, 0.6)],
    [("F", 0.1, 0.2), ("F", 0.2, 0.3), ("B", 0.3, 0.4), ("B", 0.4, 0.5)],
]
MET = event("barrier", bytes=None, start=0.9, end=1.0)
EVENTS = [
    [MET, *(event("send", peer=1, start=1 + at, end=1.005 + at) for at in (0.1, 0.2))],
    [MET, *(event("recv", peer=0, start=1 + at - 0.1, end=1.005 + at) for at in (0.1, 0.2))],
]
WHOLE = {"weights": 1_320_000, "gradients": 1_320_000, "optimizer": 2_640_000, "activations": 3_200_000}
QUARTER = {part: count // 9 for part, count in WHOLE.items()}
MEMORY = {
    "one process": [WHOLE],
    "data parallel": [{**WHOLE, "activations": 800_000}] * 4,
    "sharded optimizer": [{**WHOLE, "activations": 800_000, "optimizer": 660_000}] * 4,
    "tensor parallel": [QUARTER] * 4,
    "pipeline": [QUARTER, QUARTER, QUARTER, {**QUARTER, "activations": 400_000}],
}
FIGURES = {
    "clock": lambda: clock_picture(PASSES, EVENTS),
    "memory": lambda: memory_bars(MEMORY),
}


@pytest.mark.parametrize("stages", range(1, 7))
@pytest.mark.parametrize("micro_batches", [1, 2, 4, 13])
def test_both_schedules_are_the_shortest_ones_and_1f1b_keeps_no_more_than_there_are_stages_behind(
    stages: int, micro_batches: int
) -> None:
    for schedule in (gpipe, one_forward_one_backward):
        plan = in_ticks(schedule(stages, micro_batches))
        assert {len(row) for row in plan} == {2 * (stages + micro_batches - 1)}
        assert not too_early(plan) and not missing(plan) and micro_batches_of(plan) == micro_batches
        idle = sum(each is None for each in plan[0]) / len(plan[0])
        assert idle == pytest.approx(bubble(stages, micro_batches))
    assert kept_activations(in_ticks(gpipe(stages, micro_batches))) == [micro_batches] * stages
    most = kept_activations(in_ticks(one_forward_one_backward(stages, micro_batches)))
    assert most == [min(micro_batches, stages - stage) for stage in range(stages)]


def test_passes_and_messages_are_drawn_on_one_clock() -> None:
    figure = FIGURES["clock"]()
    assert "took 600 ms, with 2 messages" in figure.alt
    assert "rank 0 33%, rank 1 33%; by the formula 33%" in figure.alt
    later = [[event("barrier", end=5.0), *EVENTS[0]], [MET, *EVENTS[1][1:]]]
    with pytest.raises(ValueError, match="rank 1 was at no barrier"):
        clock_picture(PASSES, [EVENTS[0], EVENTS[1][1:]])
    with pytest.raises(ValueError, match="no rank has made a pass"):
        clock_picture([[], []], EVENTS)
    assert "with 0 messages" in clock_picture(PASSES, later).alt


def test_a_rank_that_makes_no_pass_is_idle_all_the_time() -> None:
    assert idle_shares([[("F", 1.0, 2.0), ("B", 2.0, 3.0)], []]) == pytest.approx([0, 1])
    assert idle_shares([[("F", 1.0, 2.0)], [("F", 4.0, 5.0)]]) == pytest.approx([0.75, 0.75])


def pipeline(rank: int, size: int, micro_batches: int, seconds: float) -> list[tuple[str, float, float]]:
    """Runs on each rank: GPipe's schedule, each pass asleep. Its passes."""
    import torch
    import torch.distributed as dist

    passes = []

    def make(kind: str, source: int, target: int) -> None:
        if 0 <= source < size:
            dist.recv(torch.empty(4), source)
        start = time.perf_counter()
        time.sleep(seconds)
        passes.append((kind, start - begun, time.perf_counter() - begun))
        if 0 <= target < size:
            dist.send(torch.ones(4), target)

    def step(count: int) -> None:
        for kind, step_by in (("F", 1), ("B", -1)):
            for _ in range(count):
                make(kind, rank - step_by, rank + step_by)

    begun = time.perf_counter()
    step(1)
    passes.clear()
    dist.barrier()
    begun = time.perf_counter()
    step(micro_batches)
    return passes


@pytest.mark.thorough  # it asks a clock
def test_a_real_pipeline_is_idle_about_as_long_as_the_formula_says(world) -> None:
    passes = world.run(pipeline, RANK, SIZE, 4, 0.05, init="torch")
    figure = clock_picture(passes, world.events)
    assert "with 24 messages" in figure.alt and "by the formula 43%" in figure.alt
    assert [share - bubble(4, 4) for share in idle_shares(passes)] == pytest.approx([0] * 4, abs=0.2)
    # A pass begins after its input has come, on the clock of the picture.
    arrived = [call["end"] for call in world.events[1] if call["kind"] == "recv"][2]
    zero = [call["end"] for call in world.events[1] if call["kind"] == "barrier"][-1]
    assert passes[1][0][1] + zero >= arrived - 1e-3


def test_bars_of_memory_are_stacked_of_their_parts() -> None:
    figure = FIGURES["memory"]()
    assert "one process 8.48 MB; data parallel 6.08 MB" in figure.alt and "pipeline 942 kB to 987 kB" in figure.alt
    bars = [patch for patch in figure.axes[0].patches if patch.get_height()]
    assert len(bars) == 17 * len(PARTS)
    assert sum(bar.get_height() for bar in bars[:4]) == pytest.approx(8.48)
    alone = memory_bars({"one process": [{"weights": 96}]})
    assert "one process 96 B" in alone.alt
    assert [each.get_text() for each in alone.legends[0].get_texts()] == ["weights"]  # and no part without a bar
    with pytest.raises(ValueError, match="not weight"):
        memory_bars({"one process": [{"weight": 1}]})
