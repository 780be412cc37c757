"""Pictures of overlap: what is drawn is what a step computed, and when the line carried it."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest
import torch
import torch.distributed as dist
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from timed_step import BANDWIDTH, LATENCY, event, run

from course.figures.overlap.bucket_counts import bucket_counts
from course.figures.overlap.bucket_film import bucket_film, sizes_film, two_lanes
from course.figures.overlap.bucket_plan import LAYERS, plan
from course.figures.overlap.step_spans import quickest_step, step_spans
from course.figures.overlap.steps_picture import ON_THE_LINE, WAITING, steps_picture
from course.figures.ranks.synchronisation import overlap_picture
from course.simulated.all_reduce import slow_all_reduce
from course.simulated.layer_stack import LayerStack
from course.world import COMM, World
from course.world.meeting import meet


def many_buckets(count: int, seconds: float = 0.009) -> dict:
    """A backward pass with so many buckets of 1 MiB, one every 10 ms. seconds: how long each is under way."""
    sent = [{"bytes": 2**20, "start": 0.01 * number, "end": 0.01 * number + seconds} for number in range(1, count + 1)]
    return {"backward": 0.0, "buckets": sent}


HOOKS = run([0.02, 0.03, 0.04, 0.05], 0.058)
COUNTS = {1: (84, 166), 2: (83, 130), 4: (83, 112), 8: (84, 106)}  # by number of buckets: computed, arrived
IDEAL = {1: 160, 2: 120, 4: 100, 8: 90}
FIGURES = {
    "counts": lambda: bucket_counts(COUNTS, IDEAL),
    "counts with a guess": lambda: bucket_counts(COUNTS, IDEAL, 160),
    "many buckets": lambda: overlap_picture({"1 MiB": many_buckets(32), "25 MiB": many_buckets(2)}),
    "steps": lambda: steps_picture(
        {"nothing sent": run([], 0.05), "one by one, after backward": run([0.05] * 4, 0.076), "from hooks": HOOKS},
        LATENCY,
        BANDWIDTH,
    ),
}


def test_the_line_carries_one_all_reduce_after_the_other_from_when_the_last_rank_calls() -> None:
    step = step_spans(**run([0.02, 0.021], 0.06, late=0.001), latency=LATENCY, bandwidth=BANDWIDTH)
    flat = [moment for span in step.transfers for moment in span]
    assert flat == pytest.approx([0.021, 0.027, 0.027, 0.033])
    assert step.not_hidden == pytest.approx(0.01)
    assert [rank.computed for rank in step.ranks] == pytest.approx([0.05, 0.05])


def two_steps(comm: Any) -> dict:
    """Runs on each rank: two steps of sleeping layers, whose gradients are sent from hooks."""
    model, sent = LayerStack(3, 0.001, 0.01), []
    for weights in model.parameters():
        weights.register_post_accumulate_grad_hook(lambda own: sent.append(dist.all_reduce(own.grad, async_op=True)))
    with slow_all_reduce(0.02, 1e9):
        for _ in range(2):
            model.notes.clear()
            meet(comm)
            began = time.perf_counter()
            loss = model(torch.ones(1))
            backward = time.perf_counter()
            loss.backward()
            ended = time.perf_counter()
            while sent:
                sent.pop(0).wait()
            last = time.perf_counter() - began
    layers = [(layer, start - began, end - began) for layer, start, end in model.notes]
    return {"last": last, "backward": (backward - began, ended - began), "layers": layers}


@pytest.mark.thorough  # it asks a clock
def test_a_step_on_real_ranks_ends_when_its_last_all_reduce_is_through() -> None:
    with World(2, progress=False) as world:
        ranks = world.run(two_steps, COMM, init="torch")
        step = step_spans(ranks, world.events, 0.02, 1e9)
    assert [layer for layer, _ in step.ranks[0].layers] == [2, 1, 0]
    assert len(step.transfers) == 3
    for (first, through), (begin, _) in pairwise(step.transfers):
        assert through - first == pytest.approx(0.04, abs=1e-3) and begin >= through
    # The clocks of the ranks begin when each leaves the barrier.
    assert step.total >= step.transfers[-1][1] - 0.02
    assert step.not_hidden >= 0.05


def test_what_is_not_hidden_is_told_and_drawn() -> None:
    figure = FIGURES["steps"]()
    assert "one by one, after backward 76 ms, of which 26 after the backward pass" in figure.alt
    assert "from hooks 58 ms, of which 8 after the backward pass" in figure.alt
    assert "nothing sent 50 ms, of which 0 after the backward pass" in figure.alt


def test_what_is_not_hidden_has_its_own_colour_on_each_rank() -> None:
    shown = FIGURES["steps"]().axes[0].patches
    waiting = sorted((bar.get_x(), bar.get_width()) for bar in shown if is_colour(bar, WAITING))
    assert [begin for begin, _ in waiting] == pytest.approx([50] * 4)
    assert [width for _, width in waiting] == pytest.approx([8, 8, 26, 26], abs=1)
    assert sum(is_colour(bar, ON_THE_LINE) for bar in shown) == 8


def is_colour(bar: Rectangle, colour: str) -> bool:
    """Whether a bar has this colour."""
    return to_hex(bar.get_facecolor()).upper() == colour.upper()


def test_a_step_that_sends_nothing_waits_for_nothing() -> None:
    figure = steps_picture({"nothing sent": run([], 0.052)}, LATENCY, BANDWIDTH)
    assert not any(is_colour(bar, WAITING) or is_colour(bar, ON_THE_LINE) for bar in figure.axes[0].patches)


@pytest.mark.parametrize(("buckets", "total"), [(1, 160), (2, 120), (4, 100), (8, 90)])
def test_a_bucket_leaves_when_it_is_full_and_the_line_is_free(buckets: int, total: float) -> None:
    own = plan(buckets)
    assert own.total == total
    for bucket, (begin, _) in enumerate(own.sent):
        assert begin == max(own.computed[layer][1] for layer in own.held(bucket))
    slow = plan(buckets, start_up=6)
    assert slow.sent[0] == (own.sent[0][0], own.sent[0][1] + 6)
    assert all(later[0] >= sooner[1] for sooner, later in pairwise(slow.sent))
    assert sorted(layer for bucket in range(buckets) for layer in own.held(bucket)) == [*range(LAYERS)]


def test_buckets_that_do_not_divide_the_layers_are_refused() -> None:
    for buckets in (0, 3, 16):
        with pytest.raises(ValueError, match="choose 1, 2, 4 or 8"):
            plan(buckets)


def test_the_frames_of_a_pass_tell_what_is_ready_on_the_line_and_there() -> None:
    frames = bucket_film(4).frames
    assert [frame.caption.split(" ")[0] for frame in frames] == [*map(str, range(0, 90, 10)), "100"]
    assert frames[4].caption == "40 ms: layer 4's gradient is there; bucket 0 has arrived; bucket 1 leaves."
    assert frames[4].picture.count(">mean<") == 2 and "bucket 1: on the line" in frames[4].picture
    assert "bucket 2: 1 of 2" in frames[5].picture
    assert frames[-1].caption.endswith("all is done, 20 ms after the backward pass.")
    assert frames[-1].picture.count(">mean<") == LAYERS


def test_small_buckets_are_best_without_start_ups_and_not_with_them() -> None:
    frames = sizes_film(start_up=6).frames
    totals = [float(frame.caption.split(" ")[-2]) for frame in frames]
    assert totals == [160, 120, 100, 90, 166, 132, 124, 138]
    assert len(bucket_film(4).html) < 300_000 and len(sizes_film().html) < 300_000
    assert "80 ms; then the line carries" in two_lanes().alt


def test_a_guess_is_drawn_beside_the_bar_that_was_asked_for() -> None:
    figure = bucket_counts(COUNTS, IDEAL, 160)
    (guess,) = (line for line in figure.axes[0].lines if (line.get_label() or "").startswith("your guess"))
    assert (guess.get_xdata()[0], guess.get_ydata()[0]) == (160, 2 - 0.36)
    assert figure.alt.endswith("You guessed 160 ms with 4 buckets.")
    told = bucket_counts(COUNTS, IDEAL)
    assert "8 buckets: 106 ms measured, 90 ideal." in told.alt and "guess" not in told.alt
    assert not any("guess" in (line.get_label() or "") for line in told.axes[0].lines)
    widths = [bar.get_width() for bar in told.axes[0].patches if is_colour(bar, WAITING)]
    assert widths == [82, 47, 29, 22]


def test_of_many_buckets_only_the_number_and_the_size_are_told() -> None:
    figure = FIGURES["many buckets"]()
    assert "1 MiB: 32 buckets of 1048576 bytes on average; 25 MiB: buckets of [1048576, 1048576]" in figure.alt
    assert [text.get_text().strip() for text in figure.axes[0].texts] == ["32 x 1.00 MiB", "1.00 + 1.00 MiB"]


def test_buckets_that_are_under_way_together_do_not_cover_each_other() -> None:
    figure = overlap_picture({"in turn": many_buckets(2), "together": many_buckets(2, 0.015)})
    _, first, second, _, upper, lower = figure.axes[0].patches
    assert first.get_y() == second.get_y() and first.get_x() + first.get_width() <= second.get_x()
    assert upper.get_x() + upper.get_width() > lower.get_x()
    assert upper.get_y() + upper.get_height() == pytest.approx(lower.get_y())


def test_of_several_steps_the_one_is_taken_that_took_least_with_its_calls() -> None:
    def step(last: float) -> dict:
        return {"last": last, "backward": (0.0, last), "layers": []}

    log = [event(kind, start, start + 0.1) for start, kind in enumerate(["barrier", "allreduce"] * 3)]
    ranks, events = quickest_step([[step(0.2), step(0.3)], [step(0.25), step(0.4)]], [log, log])
    assert [own["last"] for own in ranks] == [0.2, 0.25]
    assert [len(own) for own in events] == [4, 4], "of three steps, the last two were noted, and the second is taken"
