"""The figures of the lectures: guesses are drawn where they belong, and films tell what happens."""

from __future__ import annotations

import pytest

from course.figures.collectives.broadcast_bars import broadcast_bars
from course.figures.collectives.broadcast_film import WAYS, broadcast_film, done, part
from course.figures.collectives.measured_line import measured_line
from course.figures.collectives.plans_picture import plans_picture
from course.figures.collectives.ring_film import fills, ring_film
from course.figures.collectives.tree_film import tree_film
from course.figures.data.deal_film import deal_film, deck_and_hands
from course.figures.data.deal_grid import deal_grid
from course.figures.failures.node_film import node_film
from course.figures.first_ranks.loop_film import loop_film
from course.figures.first_ranks.product_waits import product_waits
from course.figures.one_machine.growth import growth_picture
from course.figures.one_machine.houses_film import houses_film
from course.figures.one_machine.losses_by_samples import losses_by_samples
from course.figures.one_machine.memory_parts import memory_parts
from course.figures.overlap.bucket_film import bucket_film, sizes_film
from course.figures.player import Film, Frame
from course.figures.replicas.distances import distances_picture
from course.figures.replicas.iteration import APART, SHARES, START, gradient, mean, stepped
from course.figures.replicas.iteration_film import iteration_film, three_gradients
from course.figures.replicas.loss_by_ranks import loss_by_ranks
from course.figures.replicas.stale_film import stale_film
from course.figures.replicas.strategies import strategies_picture
from course.figures.scaling.brakes_film import Cost, brakes_film
from course.figures.scaling.cluster_map import job_film
from course.figures.wires.node_kinds import node_kinds_picture
from course.figures.wires.plan_question import plans_film

MEASURED = {"one by one": 36.1, "all at once": 41.0, "a tree": 15.4, "a chain of pieces": 7.0}
IDEAL = {"one by one": 35, "all at once": 35, "a tree": 15, "a chain of pieces": 5.6}
MOMENTS = [(1.0, 3.0, 3.4), (1.0, 3.0, 3.4), (3.0, 3.0, 3.4), (3.0, 3.0, 3.4)]
LOSSES = {size: {read: 10 / read + size / 100 for read in range(size, 961, size)} for size in (1, 8, 48)}
APART_PATHS = [[(m + step, n - step) for step in range(20)] for m, n in ((0, 0), (1, 0), (3, 4))]
BY_RANKS = {"left": {1: 0.5, 2: 0.6, 4: 0.9, 8: 2.0}, "scaled": {1: 0.5, 2: 0.5, 4: 0.6, 8: float("nan")}}
DEALT = [[0, 4, 8], [1, 5, 9], [2, 6, 0], [3, 7, 1]]  # 10 samples on 4 ranks
FIGURES = {
    "bars": lambda: broadcast_bars(MEASURED, IDEAL),
    "bars with guesses": lambda: broadcast_bars(MEASURED, IDEAL, [35, 5, 20, 40]),
    "line": lambda: measured_line({1000: 1e-4, 16_000: 2e-4, 256_000: 1e-3}, 1e-4, 4e-9, "An all-reduce"),
    "plans": lambda: plans_picture(16, 1e-5, 1e-10),
    "plans with a guess": lambda: plans_picture(16, 1e-5, 1e-10, 1e6),
    "waits": lambda: product_waits(MOMENTS),
    "waits with guesses": lambda: product_waits(MOMENTS, [4, 1]),
    "growth": growth_picture,
    "losses": lambda: losses_by_samples(LOSSES, [48, 960]),
    "losses with guesses": lambda: losses_by_samples(LOSSES, [48, 960], [48, 1]),
    "memory": lambda: memory_parts({"small": {"a": 1, "b": 2}, "large": {"a": 30, "b": 60}}, {"one GPU": 80}),
    "deal": lambda: deal_grid(DEALT, 2),
    "deal with guesses": lambda: deal_grid(DEALT, 2, [10, 3]),
    "distances": lambda: distances_picture(APART_PATHS),
    "distances with a guess": lambda: distances_picture(APART_PATHS, 0),
    "node kinds": lambda: node_kinds_picture({"a": [1, 1.9, 3], "b": [1, 1.8, 2]}, [1, 2, 4], {"a": 2, "b": 4}),
    "losses by ranks": lambda: loss_by_ranks(BY_RANKS, 10),
}
FILMS = {
    "broadcast": broadcast_film,
    "tree": tree_film,
    "ring": ring_film,
    "houses": houses_film,
    "houses together": lambda: houses_film(accumulate=True),
    "loop": loop_film,
    "buckets": bucket_film,
    "bucket sizes": sizes_film,
    "iteration": iteration_film,
    "deal": lambda: deal_film([DEALT, [[9, 5, 1], [8, 4, 0], [7, 3, 9], [6, 2, 8]]], 10, 2),
    "plans": lambda: plans_film([1e3, 1e5, 3.6e5, 1e6, 1e8], 1e-5, 1e-10),
    "stale": stale_film,
    "job": job_film,
    "nodes": lambda: node_film(2, 20, 23),
    "brakes": lambda: brakes_film(Cost(90, 10, 2), [1, 2, 4, 8, 16]),
}


def diamonds(figure) -> list[tuple[float, float]]:
    """Where guesses are drawn."""
    lines = [line for line in figure.axes[0].lines if (line.get_label() or "").startswith("your guess")]
    return [(float(x), float(y)) for line in lines for x, y in zip(*line.get_data(), strict=True)]


def test_guesses_are_drawn_beside_what_was_measured_and_none_is_not() -> None:
    assert diamonds(broadcast_bars(MEASURED, IDEAL, [35, None, 20, None])) == [(35, 0.36), (20, 2.36)]
    assert diamonds(broadcast_bars(MEASURED, IDEAL, [None] * 4)) == []
    assert diamonds(losses_by_samples(LOSSES, [48, 960], [None, 8])) == [(960, LOSSES[8][960])]
    assert diamonds(product_waits(MOMENTS, [None, 1])) == [(2.0, 0.0)]
    assert diamonds(distances_picture(APART_PATHS, 0)) == [(19, 0)]
    assert diamonds(distances_picture(APART_PATHS)) == []
    samples, batches = diamonds(deal_grid(DEALT, 2, [10, 2]))
    assert round(samples[1]) == 1 and 2.3 < samples[0] < 3.3  # on the tenth sample, rank 1's last one
    assert batches == (2.8, -0.75)  # above the second batch
    assert diamonds(deal_grid(DEALT, 2, [None, None])) == []
    assert [x for x, _ in diamonds(plans_picture(16, 1e-5, 1e-10, 1e6))] == [1e6]
    assert diamonds(plans_picture(16, 1e-5, 1e-10)) == []


def test_a_guess_is_part_of_the_description() -> None:
    assert "a tree: 15.4 s measured, 15.0 ideal, you guessed 20" in broadcast_bars(MEASURED, IDEAL, [1, 2, 20, 3]).alt
    assert deal_grid(DEALT, 2, [10, 3]).alt.endswith("You guessed 10 samples. You guessed batches, 3 a rank.")
    assert plans_picture(16, 1e-5, 1e-10, 1e6).alt.endswith("You guessed 1 MB.")


@pytest.mark.parametrize("name", FILMS)
def test_each_frame_has_a_caption_of_its_own_and_a_picture_with_words(name: str) -> None:
    film = FILMS[name]()
    captions = [frame.caption for frame in film.frames]
    assert len({*captions}) == len(captions) > 4
    assert all(caption.endswith(".") for caption in captions)
    assert all('role="img" aria-label="' in frame.picture for frame in film.frames)
    assert film.html.count('class="film-frame"') == len(captions)


def test_a_film_without_frames_or_captions_is_refused() -> None:
    for frames in ([], [Frame("<svg/>", "One."), Frame("<svg/>", " ")]):
        with pytest.raises(ValueError, match="no frames, or one without a caption"):
            Film("nothing", frames)


def test_a_caption_cannot_end_the_script() -> None:
    html = Film("a", [Frame("<svg/>", "</script><b>x</b>")]).html
    assert html.count("</script>") == 1


def test_all_four_ways_serve_everybody_at_their_time_and_not_before() -> None:
    for way, seconds in IDEAL.items():
        assert done(way) == seconds
        assert min(part(way, friend, seconds - 0.05) for friend in range(1, 8)) < 1
    assert [*WAYS] == [*IDEAL]


@pytest.mark.parametrize("size", range(2, 9))
def test_a_ring_adds_up_in_its_first_half_and_copies_in_the_second(size: int) -> None:
    states = fills(size)
    whole = [sum(count == size for row in state for count in row) for state in states]
    assert len(states) == 2 * (size - 1) + 1
    assert whole[size - 1] == size and whole[-1] == size * size
    assert len(ring_film(size).frames) == len(states)


def test_a_ring_of_one_or_of_many_is_refused() -> None:
    for size in (1, 9):
        with pytest.raises(ValueError, match="2 to 8 ranks"):
            ring_film(size)


def test_the_tree_ends_with_the_sum_on_all_ranks() -> None:
    frames = tree_film((1, 2, 3, 4)).frames
    assert len(frames) == 5 and frames[-1].picture.count(">10<") == 4
    assert frames[-1].caption.endswith("4 of 4 ranks have the sum.")


def test_a_deck_is_dealt_in_strides_and_padded_from_its_start() -> None:
    frames = FILMS["deal"]().frames
    assert len(frames) == 1 + 2 * 6
    assert frames[2].caption == "Epoch 0, turn 0: samples 0, 1, 2 and 3 to ranks 0, 1, 2 and 3."
    assert frames[4].caption.endswith("samples 8 and 9 to ranks 0 and 1; for ranks 2 and 3 there is none left.")
    assert "samples 9 and 8 are dealt a second time" in frames[11].caption
    assert "rank 0: 9, 5, 1; rank 1: 8, 4, 0; rank 2: 7, 3, 9; rank 3: 6, 2, 8." in frames[12].picture


def test_a_deck_that_divides_needs_no_copies() -> None:
    frames = deal_film([[[0, 2], [1, 3]]], 4, 1).frames
    assert not any("Padding" in frame.caption for frame in frames)
    assert deck_and_hands(4, 2).markup.count(">?<") == 2


def test_an_iteration_is_that_of_the_whole_batch_and_keeps_apart_who_began_apart() -> None:
    whole = gradient(START, [sample for samples in SHARES for sample in samples])
    assert mean([gradient(START, samples) for samples in SHARES]) == whole == (-6.5, -3.0)
    frames = iteration_film().frames
    assert len(frames) == 14
    assert frames[5].picture.count(">m 0.65, n 0.30<") == 3  # 0 - 0.1 * -6.5 and 0 - 0.1 * -3
    step = mean([gradient(own, samples) for own, samples in zip(APART, SHARES, strict=True)])
    ends = [stepped(own, step) for own in APART]
    for rank, (m, n) in enumerate(ends):
        assert f">m {m:.2f}, n {n:.2f}<".replace("-", "\u2212") in frames[13].picture
        assert m - ends[0][0] == pytest.approx(APART[rank][0] - APART[0][0])
        assert n - ends[0][1] == pytest.approx(APART[rank][1] - APART[0][1])


def test_the_question_of_the_iteration_shows_three_gradients_and_no_mean() -> None:
    picture = three_gradients()
    assert picture.markup.count(">step ?<") == 3 and picture.markup.count("<svg") == 1
    assert picture.alt.endswith(".")
    assert [picture.markup.count(f">dm \u2212{dm}") for dm in ("1.00", "2.50", "16.00", "6.50")] == [1, 1, 1, 0]


def test_distances_are_those_of_the_paths() -> None:
    lines = [line.get_ydata() for line in distances_picture(APART_PATHS).axes[0].lines]
    assert [[*line] for line in lines] == [[1.0] * 20, [5.0] * 20]
    assert distances_picture(APART_PATHS, 2).alt.endswith("rank 2: 5.00, then 5.00. You guessed 2 for rank 2.")


def test_a_loss_that_is_no_number_stands_at_the_top() -> None:
    axes = loss_by_ranks(BY_RANKS, 10).axes[0]
    assert [len(line.get_xdata()) for line in axes.lines] == [4, 3]
    assert [text.get_text() for text in axes.texts] == ["", "diverged "]


def test_each_strategy_marks_where_its_variables_are() -> None:
    markup = strategies_picture().markup
    assert markup.count(">W<") == 3 + 1 + 4 + 1
    assert markup.count(">CPU<") == 2
