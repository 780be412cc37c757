"""The pictures of lecture 15 show what is sent, what the loss pays, and the bits of a number."""

from __future__ import annotations

import re

import pytest
import torch

from course.figures.compressing.formats_picture import NAMES, bits, formats_picture, numbers_from_one
from course.figures.compressing.hooks_picture import hooks_picture
from course.figures.compressing.low_rank_picture import low_rank_picture
from course.figures.compressing.pauses_picture import pauses_picture
from course.figures.compressing.sites_picture import two_sites

WIRES = {"within a node": 450, "between nodes": 50, "between two sites": 1.25}
FALLING = [2.3 * 0.99**step for step in range(200)]
HOOKS = {"float32": (340_008, FALLING), "float16": (170_004, FALLING), "PowerSGD": (6480, [1.1 * x for x in FALLING])}
ENDS = {
    "local SGD, same data": {1: 0.29, 10: 0.30, 50: 0.30, 200: 0.31},
    "local SGD, own digits": {1: 0.29, 10: 0.67, 50: 1.08, 200: 1.91},
    "DiLoCo, own digits": {1: 0.04, 10: 0.20, 50: 0.54, 200: 1.91},
}
SENT = {1: 68_001_600, 10: 6_800_160, 50: 1_360_032, 200: 340_008}
FIGURES = {
    "hooks": lambda: hooks_picture(HOOKS),
    "pauses": lambda: pauses_picture(ENDS, SENT, 50),
    "pauses and a guess": lambda: pauses_picture(ENDS, SENT, 50, 0.8),
}
WORDS = re.compile(r"<text [^>]*>([^<]*)<")
FILLED = re.compile(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="18" fill="#(\w+)"/>')


def test_a_wire_takes_bytes_over_bandwidth_and_is_marked_if_a_step_cannot_hide_it() -> None:
    picture = two_sites(15, WIRES, step=1)
    assert [word for word in WORDS.findall(picture.markup) if word.endswith(" s")][:3] == ["0.033 s", "0.3 s", "12 s"]
    bars = FILLED.findall(picture.markup)
    assert len(bars) == 3 and len({colour for *_, colour in bars[:2]}) == 1 and bars[2][2] != bars[0][2]
    assert float(bars[2][1]) == pytest.approx(40 * float(bars[1][1]), rel=0.01)
    assert "between two sites, at 1.25 GB/s: 12 s" in picture.alt


@pytest.mark.parametrize("wires", [{}, {"a wire": 0.0}])
def test_a_wire_without_bandwidth_is_refused(wires: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="bandwidth above 0"):
        two_sites(15, wires, step=1)


def test_thin_matrices_are_counted() -> None:
    assert "(256 + 64) · 2 = 640 numbers are sent" in WORDS.findall(low_rank_picture(256, 64, 2).markup)
    for rank in (0, 64):
        with pytest.raises(ValueError, match=f"between 1 and 63, not {rank}"):
            low_rank_picture(256, 64, rank)


def test_the_bits_of_a_format_are_those_of_its_name() -> None:
    assert bits(torch.float8_e4m3fn) == (1, 4, 3) and bits(torch.float8_e5m2) == (1, 5, 2)
    assert [sum(bits(kind)) for kind in NAMES.values()] == [32, 16, 16, 8, 8]
    assert bits(torch.float32) == (1, 8, 23) and bits(torch.bfloat16) == (1, 8, 7) and bits(torch.float16) == (1, 5, 10)


def test_each_number_from_one_to_two_is_a_stroke_if_strokes_can_be_told_apart() -> None:
    """After the scale and its two ends."""
    assert len(numbers_from_one(8, 0)) - 3 == 9
    assert len(numbers_from_one(1024, 0)) - 3 == 1
    between = {number for number in (torch.arange(0, 8193) / 8192 + 1).to(torch.float8_e4m3fn).float().tolist()}
    assert len(between) == 9
    assert "up to 448" in WORDS.findall(formats_picture().markup)


def test_a_guess_is_drawn_at_its_pause() -> None:
    figure = pauses_picture(ENDS, SENT, 50, 0.8)
    (line,) = (each for each in figure.axes[0].lines if "guess" in str(each.get_label()))
    assert (line.get_xdata()[0], line.get_ydata()[0]) == (50, 0.8)
    assert "You guessed 0.8 for 50." in figure.alt
    labels = [each.get_text() for each in figure.axes[0].get_xticklabels()]
    assert labels == ["1\n68 MB", "10\n6.8 MB", "50\n1.36 MB", "200\n340 kB"]


def test_bars_are_as_long_as_what_a_hook_sends() -> None:
    figure = hooks_picture(HOOKS)
    left, right = figure.axes
    assert [bar.get_width() for bar in left.patches] == [340_008, 170_004, 6480]
    assert [len(line.get_xdata()) for line in right.lines] == [200] * 3
    assert "PowerSGD: 6.48 kB" in figure.alt
