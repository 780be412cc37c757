"""The figures of the translation lab's steps: what is drawn is what was given, and every word of it can be read."""

from __future__ import annotations

import pytest

from ..figures.micro_batches import micro_batches_picture
from ..figures.training_steps import training_steps_picture

TOKENS = [[160, 118, 100], [69, 90, 148], [126, 94, 126], [77, 122, 159]]
PLACES = [[320, 288, 176], [144, 224, 384], [264, 216, 232], [208, 248, 320]]
LOSSES = [7.5 / (1 + step / 30) for step in range(252)]
MARKS = {"held out, before": (0, 7.49), "held out, after": (252, 0.63)}
FIGURES = {
    "micro-batches": lambda: micro_batches_picture(TOKENS, PLACES, "One step: 3 micro-batches on each of 4 ranks"),
    "micro-batches of one rank": lambda: micro_batches_picture([[3]], [[4]], "One"),
    "many micro-batches": lambda: micro_batches_picture([[5] * 30] * 2, [[9] * 30] * 2, "Many"),
    "steps": lambda: training_steps_picture({"training": LOSSES}, 63, MARKS),
    "two runs": lambda: training_steps_picture({"one": LOSSES, "another": LOSSES[:100]}, 50),
    "one step": lambda: training_steps_picture({"training": [3.0]}, 1),
}


def test_a_bar_is_as_long_as_its_places_and_filled_as_far_as_these_are_tokens() -> None:
    axes = FIGURES["micro-batches"]().axes[0]
    widths = [bar.get_width() for bar in axes.patches]
    assert widths[::2] == pytest.approx([place for own in PLACES for place in own])
    assert widths[1::2] == pytest.approx([token for own in TOKENS for token in own])
    assert [text.get_text() for text in axes.texts if "tokens" in text.get_text()] == [
        f"{sum(own)} tokens" for own in TOKENS
    ]


def test_losses_are_drawn_from_step_one_and_other_points_where_they_were_measured() -> None:
    axes = FIGURES["steps"]().axes[0]
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert list(lines["training"].get_xdata())[:2] == [1, 2]
    assert list(lines["training"].get_ydata()) == LOSSES
    assert list(lines["held out, after: 0.63"].get_xydata()[0]) == [252, 0.63]
