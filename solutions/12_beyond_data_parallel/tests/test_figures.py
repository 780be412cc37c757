"""Pictures of matrices in parts, of the bytes of a step, and of schedules."""

from __future__ import annotations

import io
from typing import Any

import pytest
from made_events import event
from matplotlib.colors import to_hex
from PIL import Image

from course.figures.splitting.schedules import (
    gpipe,
    in_ticks,
    kept,
    one_forward_one_backward,
    too_early,
)
from course.figures.style import COLOURS

from ..figures.bytes_of_a_step import bytes_of_a_step_picture, bytes_sent, crossing, marks_between
from ..figures.matrices import bytes_by_pass, matrices_picture
from ..figures.schedule_movie import KEPT, WRONG, schedule_movie, schedule_picture

AT_ONCE = [[*row[stage:], *[None] * stage] for stage, row in enumerate(in_ticks(gpipe(4, 8)))]
SHAPES = [{"w1": (64, 32), "b1": (64,), "w2": (16, 64), "b2": (16,)} for _ in range(4)]
UNEVEN = [{"w1": (units, 32), "w2": (16, units)} for units in (3, 2, 2, 2)]
SENT = {"forward": 8192, "backward": 16_384}
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
    "bytes": lambda: bytes_of_a_step_picture(STEPS),
    "bytes, three ways": lambda: bytes_of_a_step_picture({**STEPS, "pipeline": {8: 2048, 512: 131_072}}),
}


def fills(axes: Any) -> list[str]:
    """The colours of the rectangles in a figure."""
    return [to_hex(patch.get_facecolor()).upper() for patch in axes.patches]


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
