"""The pictures of lecture 16 show what was recorded and measured, as long as it was and where it was."""

from __future__ import annotations

import re

import pytest

from course.figures.profiles.roofline_picture import Measured, roofline_picture, roofs
from course.figures.profiles.self_time import self_time_picture
from course.figures.profiles.step_question import step_question
from course.figures.profiles.trace_picture import trace_picture
from course.figures.profiles.waiting_picture import waiting_picture
from course.profiles.spans import Span

SUM = "gloo:all_reduce"


def rank(late: float) -> list[Span]:
    """A step whose samples come `late` seconds later, with two all-reduces that are under way until 0.2 s."""
    marks = [("loading", 0, 0.02), ("forward", 0.02, 0.05), ("backward", 0.05, 0.09), ("optimizer", 0.09, 0.1)]
    spans = [Span("step", 1.0, 1.2, "step")]
    spans += [
        Span("loading" if name == "loading" else "part", 1 + late + a, 1 + late + b, name) for name, a, b in marks
    ]
    spans += [Span("compute", 1.03 + late, 1.04 + late, "aten::mm")]
    return spans + [Span("communication", 1.06 + late + begin, 1.2, SUM) for begin in (0, 0.01)]


PROFILE = [rank(0), rank(0.1)]
MEASURED = {"a + b": Measured(1e6, 12e6, 0.001), "64 rows": Measured(2e9, 64e6, 0.02), "one": Measured(1e9, 1e6, 0.02)}
FIGURES = {
    "trace": lambda: trace_picture(PROFILE, "One step"),
    "waiting": lambda: waiting_picture([0.1, 0], [0.02, 0.02]),
    "waiting and a guess": lambda: waiting_picture([0.1, 0.1, 0.1, 0], [0.02] * 4, 2),
    "roofline": lambda: roofline_picture(MEASURED),
}
WORDS = re.compile(r"<text [^>]*>([^<]*)<")
WIDTHS = re.compile(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="26" fill="#D55E00"')


def bars(name: str) -> list[tuple[float, float]]:
    """Where the trace draws bars of this name: begin and end in milliseconds, of all ranks."""
    axes = trace_picture(PROFILE).axes[0]
    paths = [path for each in axes.collections if each.get_gid() == name for path in each.get_paths()]
    return [(round(path.get_extents().x0), round(path.get_extents().x1)) for path in paths]


def test_a_trace_has_each_span_where_it_was_counted_from_the_first_step() -> None:
    assert bars("loading") == [(0, 20), (100, 120)]
    assert bars("compute") == [(30, 40), (130, 140)]
    assert bars("communication") == [(60, 200), (70, 200), (160, 200), (170, 200)]
    assert "Rank 1: loading 100 to 120 ms" in trace_picture(PROFILE).alt


def test_all_reduces_at_the_same_time_lie_below_each_other() -> None:
    axes = trace_picture(PROFILE[:1]).axes[0]
    one, other = (each.get_paths()[0].get_extents() for each in axes.collections if each.get_gid() == "communication")
    assert one.y0 > other.y1


def test_waiting_comes_before_sending() -> None:
    first, _, second, _ = waiting_picture([0.1, 0], [0.02, 0.03]).axes[0].patches
    assert (round(first.get_x()), round(first.get_width())) == (0, 100)
    assert (round(second.get_x()), round(second.get_width())) == (100, 20)


def test_a_guess_is_at_its_rank() -> None:
    figure = FIGURES["waiting and a guess"]()
    labels = [each.get_text() for each in figure.axes[0].get_yticklabels()]
    assert labels == ["rank 0", "rank 1", "rank 2\n(your guess)", "rank 3"]
    assert "You guessed rank 2." in figure.alt


def test_no_operation_is_above_the_roof() -> None:
    peak, bandwidth = roofs(MEASURED)
    assert (peak, bandwidth) == (pytest.approx(100e9), pytest.approx(12e9))
    axes = roofline_picture(MEASURED).axes[0]
    (roof,) = (line for line in axes.lines if line.get_gid() == "roof")
    points = [(x[0], y[0]) for x, y in (line.get_data() for line in axes.lines if line.get_gid() == "operation")]
    assert len(points) == 3 and max(y for _, y in points) == pytest.approx(max(roof.get_ydata()))
    assert all(y <= min(peak, x * bandwidth) / 1e9 * 1.0001 for x, y in points)


def test_self_time_is_what_the_inner_operations_leave() -> None:
    inner = [Span("compute", 1e-5, 2e-5, "aten::t"), Span("compute", 3e-5, 8e-5, "aten::mm")]
    picture = self_time_picture(Span("compute", 0, 1e-4, "aten::linear"), inner)
    assert "aten::linear: total 100 µs, self 40 µs" in WORDS.findall(picture.markup)
    widths = [float(width) for _, width in WIDTHS.findall(picture.markup)]
    assert widths == pytest.approx([39.2, 39.2, 78.4, 39.2, 196], abs=0.1)
    with pytest.raises(ValueError, match="one after the other"):
        self_time_picture(inner[0], inner)


def test_the_question_shows_what_is_missing() -> None:
    assert "and the other 88 ms?" in WORDS.findall(step_question(100, 12).markup)
    with pytest.raises(ValueError, match="not 120 of 100 ms"):
        step_question(100, 120)
