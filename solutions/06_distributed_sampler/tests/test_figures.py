"""Pictures of batches, epoch by epoch, and of samples that are counted twice."""

from __future__ import annotations

from matplotlib.colors import to_rgba
from torch_draws import drawn

from course.figures.style import COLOURS

from ..figures.batches import batches_picture, new_batches
from ..figures.counting import counting_picture

FIGURES = {
    "batches": lambda: batches_picture(drawn(14, 4, 3, deaf=True), drawn(14, 4, 3), 2, ["without", "with"]),
    "batches of three digits": lambda: batches_picture(
        *[[[[100 + i for i in own] for own in shards] for shards in drawn(14, 4, 3)]] * 2, 3, ["without", "with"]
    ),
    "counting": lambda: counting_picture([0.8, 0.81, 0.79, 0.83], {1: 0.8, 2: 0.8}, 50),
    "counting that never differs": lambda: counting_picture([1.0] * 40, {size: 1.0 for size in (1, 2, 3, 4)}, 50),
}


def test_a_batch_counts_as_new_if_no_epoch_before_had_it_on_any_rank() -> None:
    assert new_batches([[[0, 1], [2, 3]], [[3, 2], [0, 1]], [[0, 2], [1, 3]]], 2) == (4, 6)
    assert new_batches(drawn(14, 4, 3, deaf=True), 2) == (8, 24)


def test_the_batches_of_both_ways_are_there_and_those_that_came_before_are_pale() -> None:
    left, right = FIGURES["batches"]().axes
    assert left.get_title(loc="left").endswith("8 of 24 batches are new")
    coloured = {to_rgba(colour) for colour in COLOURS}
    assert sum(patch.get_facecolor() in coloured for patch in left.patches) == 8
    assert [len(panel.texts) for panel in (left, right)] == [48, 48]
    assert [[tick.get_text() for tick in panel.get_xticklabels()] for panel in (left, right)] == [
        ["batch 0", "batch 1"],
        ["batch 0", "batch 1"],
    ]
    assert [text.get_text() for text in right.get_legend().get_texts()] == [
        *map("rank {}".format, range(4)),
        "as before",
    ]


def test_the_accuracy_of_all_samples_has_a_name() -> None:
    legend = FIGURES["counting"]().axes[0].get_legend().get_texts()
    assert "accuracy of all samples" in [text.get_text() for text in legend]
