"""The figures of lab 12: what is drawn is the plan, what the ranks sent and kept, and when they computed."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest
from made_events import event
from matplotlib.colors import to_hex
from PIL import Image

from course.figures.splitting.bytes_of_a_step import bytes_of_a_step_picture, bytes_sent, crossing, marks_between
from course.figures.splitting.clock_picture import clock_picture, idle_shares
from course.figures.splitting.matrices import bytes_by_pass, matrices_picture
from course.figures.splitting.memory_bars import PARTS, memory_bars
from course.figures.splitting.schedule_movie import KEPT, WRONG, schedule_movie, schedule_picture
from course.figures.splitting.schedules import (
    bubble,
    gpipe,
    in_ticks,
    kept,
    kept_activations,
    micro_batches_of,
    missing,
    one_forward_one_backward,
    too_early,
)
from course.figures.style import COLOURS
from course.world import RANK, SIZE

AT_ONCE = [[*row[stage:], *[None] * stage] for stage, row in enumerate(in_ticks(gpipe(4, 8)))]
SHAPES = [{"w1": (64, 32), "b1": (64,), "w2": (16, 64), "b2": (16,)} for _ in range(4)]
UNEVEN = [{"w1": (units, 32), "w2": (16, units)} for units in (3, 2, 2, 2)]
SENT = {"forward": 8192, "backward": 16_384}
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
STEPS = {
    "data parallel": dict.fromkeys((8, 32, 128, 512), 49_152),
    "tensor parallel": {batch: batch * 384 for batch in (8, 32, 128, 512)},
}
FIGURES = {
    "matrices": lambda: matrices_picture(SHAPES, (128, 32), SENT),
    "matrices of unequal parts": lambda: matrices_picture(UNEVEN, (2, 64, 32), SENT, itemsize=8),
    "plan": lambda: schedule_picture(in_ticks(gpipe(4, 8))),
    "wrong plan": lambda: schedule_picture(AT_ONCE),
    "long plan": lambda: schedule_picture(in_ticks(one_forward_one_backward(6, 12))),
    "plan of one stage": lambda: schedule_picture(in_ticks(gpipe(1, 1))),
    "clock": lambda: clock_picture(PASSES, EVENTS),
    "memory": lambda: memory_bars(MEMORY),
    "bytes": lambda: bytes_of_a_step_picture(STEPS),
    "bytes, three ways": lambda: bytes_of_a_step_picture({**STEPS, "pipeline": {8: 2048, 512: 131_072}}),
}


def fills(axes: Any) -> list[str]:
    """The colours of the rectangles in a figure."""
    return [to_hex(patch.get_facecolor()).upper() for patch in axes.patches]


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


@pytest.mark.thorough
def test_a_plan_is_filmed_beside_1f1b_and_1f1b_beside_gpipe() -> None:
    movie = schedule_movie(in_ticks(gpipe(3, 4)))
    assert "Your plan: 12 ticks, each stage idle in 33% of them." in movie.alt
    assert "at most: 4, 4 and 4. 1F1B: 12 ticks" in movie.alt and "at most: 3, 2 and 1." in movie.alt
    assert Image.open(io.BytesIO(movie.gif)).n_frames == 13
    assert movie.width <= 1000 and movie.dark is not None
    assert "at most: 3, 2 and 1. GPipe: 12 ticks" in schedule_movie(in_ticks(one_forward_one_backward(3, 4))).alt


def test_a_bar_is_as_high_as_there_are_activations_kept() -> None:
    axes = schedule_picture(in_ticks(gpipe(2, 3))).axes[0]
    bars = [patch.get_height() for patch in axes.patches if to_hex(patch.get_facecolor()).upper() == KEPT]
    assert kept(in_ticks(gpipe(2, 3))) == [[1, 2, 3, 3, 3, 3, 2, 1], [0, 1, 2, 3, 3, 2, 1, 0]]
    counts = [*kept(in_ticks(gpipe(2, 3))), *kept(in_ticks(one_forward_one_backward(2, 3)))]
    assert bars == pytest.approx([0.86 / 3 * count for row in counts for count in row])
    words = [text.get_text() for text in axes.texts]
    assert words[-4:] == ["at most 3", "at most 3", "at most 2", "at most 1"]


@pytest.mark.thorough
def test_passes_that_begin_too_early_or_are_missing_are_told_and_nonsense_is_refused() -> None:
    assert too_early(AT_ONCE) == {(stage, tick) for stage in (1, 2, 3) for tick in range(8)}
    assert fills(schedule_picture(AT_ONCE).axes[0]).count(WRONG) == 24
    assert "Orange: 24 of your passes begin before" in schedule_movie(AT_ONCE).caption
    assert "1 of your passes are missing" in schedule_movie([[("F", 0), None], [None, ("F", 0), ("B", 0)]]).caption
    assert schedule_movie([[], []]).alt.startswith("Your plan: 0 ticks")
    for nonsense in (None, [], [None], [["F0"]], [[("F", -1)]], [[("F", True)]], [[("C", 0)]], [[("F", 10**9)]]):
        with pytest.raises(ValueError, match="plan"):
            schedule_movie(nonsense)


def test_bytes_belong_to_the_pass_on_whose_side_of_the_barrier_they_were_sent() -> None:
    calls = [event(bytes=64), event("barrier", bytes=None), event(bytes=32), event("recv", bytes=8)]
    assert bytes_by_pass(calls) == {"forward": 64, "backward": 32}
    with pytest.raises(ValueError, match="there are 0"):
        bytes_by_pass(calls[:1])
    alt = FIGURES["matrices"]().alt
    assert "64 on each. A rank has 8.19 kB of 32.8 kB, and 4.1 kB of 16.4 kB." in alt
    assert "8.19 kB in the forward pass, and 16.4 kB in the backward pass" in alt
    assert "3, 2, 2, 2 on each. A rank has 512 B to 768 B" in FIGURES["matrices of unequal parts"]().alt


def test_parts_of_matrices_are_as_wide_as_the_ranks_shares() -> None:
    patches = matrices_picture(UNEVEN, (4, 32), SENT).axes[0].patches
    own = [patch for patch in patches if to_hex(patch.get_facecolor()).upper() == COLOURS[0]]
    other = [patch for patch in patches if to_hex(patch.get_facecolor()).upper() == COLOURS[1]]
    assert len(own) == len(other) == 3
    sizes = [(own[number].get_width(), other[number].get_width()) for number in (0, 1)]
    sizes.append((own[2].get_height(), other[2].get_height()))
    assert [one / two for one, two in sizes] == pytest.approx([1.5] * 3)
    with pytest.raises(ValueError, match="rank 1 has to have matrices w1 and w2"):
        matrices_picture([UNEVEN[0], {"weight": (3, 32)}], (4, 32), SENT)
    nothing = matrices_picture(UNEVEN, (4, 32), {"forward": 0, "backward": 0}).axes[0]
    assert sum("nothing is sent" in text.get_text() for text in nothing.texts) == 2


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


def test_bytes_cross_where_both_ways_send_as_much() -> None:
    figure = FIGURES["bytes"]()
    assert crossing(STEPS["data parallel"], STEPS["tensor parallel"]) == pytest.approx(128)
    assert "at a batch of about 128" in figure.alt
    assert crossing({8: 1, 16: 1}, {8: 2, 16: 4}) is None and crossing({8: 1}, {16: 1}) is None
    assert marks_between(900, 1100) == [1000] and marks_between(2e3, 2e6)[:3] == [3e3, 1e4, 3e4]
    sent = [[event(bytes=8), event("send", bytes=4)], [event(bytes=8), event("recv", bytes=None), event(bytes=None)]]
    assert bytes_sent(sent) == 12 and bytes_sent([]) == 0
    assert "1 kB with a batch of 8." in bytes_of_a_step_picture({"tensor parallel": {8: 1000, 16: 0}}).alt
    with pytest.raises(ValueError, match="nothing was sent"):
        bytes_of_a_step_picture({"data parallel": {8: 0}})
