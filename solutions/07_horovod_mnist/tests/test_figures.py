"""Pictures of digits, of learning curves, of speeds and of Horovod's steps."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from traced_gradients import trace

from course.data import digits
from course.figures.contrast import contrast
from course.figures.style import COLOURS, LIGHT
from course.watch.libraries.horovod_trace import fused, read_trace, traceable
from course.world import COMM, RANK, World

from ..figures.digit_samples import digits_picture
from ..figures.horovod_steps import arrivals, horovod_picture
from ..figures.learning import learning_picture
from ..figures.step_speeds import speeds_picture

IMAGES = torch.arange(64 * 64).reshape(64, 1, 8, 8) / 4096
RANKS = [f"rank {rank}" for rank in range(4)]
RUN = [{"epoch": epoch, "loss": 2.0 * 0.4**epoch, "accuracy": 1 - 0.7 * 0.5**epoch} for epoch in range(8)]
SPEEDS = {16: {1: 2300.0, 2: 1800.4, 4: 1500.0}, 128: {1: 4000.0, 2: 5200.0, 4: 98765.0}, 512: {1: 4100.0, 4: 8600.0}}


FIGURES = {
    "a batch by rank": lambda: digits_picture(IMAGES, [i % 10 for i in range(64)], "64 images", 16, RANKS),
    "predictions": lambda: digits_picture(
        IMAGES[:25], ["3"] * 20 + ["9, is 4"] * 5, "5 of 25 are wrong", wrong=range(20, 25)
    ),
    "one image": lambda: digits_picture(IMAGES[:1], [7], "one image"),
    "learning": lambda: learning_picture({"1 rank, 64 images": RUN, "4 ranks, 16 images each": RUN}, goal=0.95),
    "one epoch": lambda: learning_picture({"4 ranks": RUN[:1]}),
    "no loss left": lambda: learning_picture({"4 ranks": [*RUN, {"epoch": 8, "loss": 0.0, "accuracy": 1.0}]}),
    "speeds": lambda: speeds_picture(SPEEDS, "Speed of training"),
    "speeds on one rank": lambda: speeds_picture({16: {1: 0.5}}, "Speed of training", "tokens"),
    "Horovod, fused": lambda: horovod_picture(trace(), "8 gradients"),
    "Horovod, one by one": lambda: horovod_picture(trace(groups=(1,) * 8), "8 gradients"),
    "Horovod, nobody late": lambda: horovod_picture(trace(1e-5, (8,)), "8 gradients", until=0.06),
}


def test_each_image_is_drawn_with_its_caption_below_and_its_rank_beside() -> None:
    axes = FIGURES["a batch by rank"]().axes[0]
    assert len(axes.images) == 64
    for index, drawn in enumerate(axes.images):
        assert torch.equal(torch.as_tensor(drawn.get_array()), IMAGES[index, 0])
        left, right, bottom, _ = drawn.get_extent()
        below = [text for text in axes.texts if left < text.get_position()[0] < right]
        caption = min(
            (text for text in below if text.get_position()[1] > bottom), key=lambda text: text.get_position()[1]
        )
        assert caption.get_text() == str(index % 10)
    names = [text for text in axes.texts if text.get_text() in RANKS]
    assert [text.get_text() for text in names] == RANKS
    assert [text.get_color() for text in names] == [LIGHT.text(colour) for colour in COLOURS[:4]]


def test_wrong_predictions_are_framed_and_no_others() -> None:
    axes = FIGURES["predictions"]().axes[0]
    assert len(axes.lines) == 5
    assert [text.get_color() == LIGHT.text(COLOURS[1]) for text in axes.texts] == [False] * 20 + [True] * 5


def test_loss_and_accuracy_are_drawn_over_epochs_from_1_on() -> None:
    figure = FIGURES["learning"]()
    loss, accuracy = figure.axes
    for axes, key in ((loss, "loss"), (accuracy, "accuracy")):
        for line in axes.lines[:2]:
            assert list(line.get_xdata()) == list(range(1, 9)) and list(line.get_ydata()) == [
                entry[key] for entry in RUN
            ]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "1 rank, 64 images",
        "4 ranks, 16 images each",
        "95 %, the goal",
    ]


def test_a_bar_of_the_horovod_picture_is_where_and_as_long_as_what_it_stands_for() -> None:
    axes = FIGURES["Horovod, fused"]().axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()][:2] == ["9.bias", "9.weight"]
    waits = [bar for bar in axes.patches if bar.get_width() > 15]
    assert sorted(bar.get_width() for bar in waits) == pytest.approx([20, 20, 25, 25, 25, 25, 25, 25])
    reduces = [bar for bar in axes.patches if to_hex(bar.get_facecolor()) == COLOURS[0].lower()]
    assert [bar.get_width() for bar in reduces] == pytest.approx([4] * 8)
    assert [bar.get_x() for bar in reduces] == pytest.approx([20] * 2 + [25] * 6)
    assert [bar.get_y() + bar.get_height() / 2 for bar in reduces] == pytest.approx(range(8))
    assert [text.get_text().split() for text in axes.texts[:2]] == [["0", "1", "3"], ["2"]]


def test_the_magnified_end_begins_where_the_first_gradient_is_ready_on_all_ranks() -> None:
    _, part = FIGURES["Horovod, fused"]().axes
    left, right = part.get_xlim()
    assert 18 < left < 20 and 29 < right < 30
    reduces = [bar for bar in part.patches if to_hex(bar.get_facecolor()) == COLOURS[0].lower()]
    assert [bar.get_x() for bar in reduces] == pytest.approx([20] * 2 + [25] * 6)


def test_a_bar_is_as_high_as_the_speed_that_it_stands_for() -> None:
    axes = speeds_picture(SPEEDS, "Speed of training").axes[0]
    assert [bar.get_height() for bar in axes.patches] == [2300, 4000, 4100, 1800.4, 5200, 0, 1500, 98765, 8600]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["1 rank", "2 ranks", "4 ranks"]


def test_the_broad_line_is_seen_on_both_grounds_and_losses_are_written_as_numbers() -> None:
    picture = learning_picture({"one": RUN, "another": RUN})
    for each in (picture, picture.dark):
        broad = each.axes[0].get_lines()[0]
        ink, paper = np.array(to_rgb(broad.get_color())), np.array(to_rgb(each.ground.paper))
        seen = broad.get_alpha() * ink + (1 - broad.get_alpha()) * paper
        assert contrast(to_hex(seen), each.ground.paper) >= 3, "as for any graphic, by WCAG 1.4.11"
        FigureCanvasAgg(each).draw()
        labels = [tick.get_text() for tick in each.axes[0].get_yticklabels(which="both") if tick.get_text()]
        assert {"0.2", "0.5", "1", "2"} <= {*labels} and not [text for text in labels if "10" in text and "^" in text]


def test_numbers_of_ranks_that_come_one_after_the_other_do_not_run_together() -> None:
    entry = {
        "tensor": "weight",
        "phase": "negotiate",
        "start": 0.0,
        "end": 0.02,
        "ranks": {0: 0.0, 1: 0.0025, 2: 0.02, 3: 0.003},
    }
    after = {"tensor": "weight", "phase": "all-reduce", "start": 0.02, "end": 0.022, "ranks": {}}
    texts = [text.get_text().strip() for text in horovod_picture([entry, after], "A step").axes[0].texts]
    assert texts == ["0 1 3", "2"], "1 and 3 would be read as 13"


def test_ranks_that_come_at_nearly_the_same_time_are_told_together() -> None:
    assert arrivals({0: 0.0, 2: 0.03, 1: 0.001, 3: 0.002}, near=0.01) == [(0.0, [0, 1, 3]), (0.03, [2])]


def traced(comm, rank: int, path: str, fusion: bool) -> None:
    """A step of a small model, written down by Horovod itself; rank 2 comes a second after all others."""
    import horovod.torch as hvd

    with traceable(fusion):
        hvd.init()
    model = torch.nn.Sequential(torch.nn.Linear(64, 8), torch.nn.ReLU(), torch.nn.Linear(8, 10))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), 0.1), model.named_parameters())
    if rank == 0:
        hvd.start_timeline(path)
    comm.Barrier()
    images = digits()[0].images[:8].flatten(1)
    if rank == 2:
        while not all(Path(f"{path}.{other}").exists() for other in (0, 1, 3)):
            time.sleep(0.01)
        time.sleep(1)
    model(images).sum().backward()
    Path(f"{path}.{rank}").touch()
    optimizer.step()
    comm.Barrier()
    if rank == 0:
        hvd.stop_timeline()
    assert not [name for name in os.environ if name.startswith("HOROVOD_")]


def test_horovods_own_trace_shows_who_was_late(world: World, tmp_path: Path) -> None:
    world.run(traced, COMM, RANK, str(tmp_path / "trace.json"), False, deadline=120)
    entries = read_trace(tmp_path / "trace.json")
    groups = fused(entries)
    assert sorted(groups) == [["0.bias"], ["0.weight"], ["2.bias"], ["2.weight"]]
    waits = [entry for entry in entries if entry["phase"] == "negotiate"]
    assert len(waits) == 4
    assert all(entry["ranks"].keys() == {0, 1, 2, 3} for entry in waits)
    assert all(entry["ranks"][2] > entry["ranks"][rank] for entry in waits for rank in (0, 1, 3))
    horovod_picture(entries, "A step").png()


@pytest.mark.thorough
def test_horovods_own_trace_shows_fusion_and_how_late_a_rank_was(world: World, tmp_path: Path) -> None:
    # On a busy machine each gradient of the late rank may come in a millisecond of its own: then nothing is fused.
    for attempt in range(5):
        path = tmp_path / f"{attempt}.json"
        world.run(traced, COMM, RANK, str(path), True, deadline=120)
        entries = read_trace(path)
        groups = fused(entries)
        if len(groups) < 4:
            break
    assert sorted(name for group in groups for name in group) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    assert len(groups) < 4
    waits = [entry for entry in entries if entry["phase"] == "negotiate"]
    assert all(entry["end"] - entry["start"] > 0.5 < entry["ranks"][2] - entry["ranks"][0] for entry in waits)
    horovod_picture(entries, "A step").png()
