"""The figures of the lecture on models that do not fit: the films tell what is computed, and a guess is drawn."""

from __future__ import annotations

import pytest

from course.figures.player import Film
from course.figures.splitting.cuts import three_cuts, too_large
from course.figures.splitting.idle_picture import idle_picture
from course.figures.splitting.pipeline_film import pipeline_film
from course.figures.splitting.product_film import A, B, X, computed, product_film
from course.figures.splitting.schedules import gpipe, in_ticks, kept, one_forward_one_backward
from course.figures.style import COLOURS

torch = pytest.importorskip("torch")

IDLE = {1: [0.75] * 4, 4: [0.44, 0.45, 0.46, 0.45], 16: [0.2] * 4}
FIGURES = {
    "idle": lambda: idle_picture(IDLE, 4),
    "idle with a guess": lambda: idle_picture(IDLE, 4, 60),
    "idle with a guess beside the axis": lambda: idle_picture(IDLE, 4, 120),
}
FILMS = {
    "pipeline": lambda: pipeline_film(in_ticks(gpipe(4, 4))),
    "pipeline of eight micro-batches": lambda: pipeline_film(in_ticks(one_forward_one_backward(4, 8))),
    "products": product_film,
}


@pytest.mark.parametrize("name", FILMS)
def test_each_frame_has_a_caption_of_its_own_and_a_film_is_small(name: str) -> None:
    film = FILMS[name]()
    captions = [frame.caption for frame in film.frames]
    assert len({*captions}) == len(captions) > 4
    assert all(caption.endswith((".", "%.")) for caption in captions)
    assert all('role="img" aria-label="' in frame.picture for frame in film.frames)
    assert len(film.html) < 300_000


def words(film: Film, frame: int) -> list[str]:
    """The words that stand in a frame's picture."""
    return [part.split("</text>")[0].split(">", 1)[1] for part in film.frames[frame].picture.split("<text ")[1:]]


def test_a_tick_of_the_film_is_that_of_the_plan() -> None:
    film = FILMS["pipeline"]()
    assert len(film.frames) == 1 + 14
    assert film.frames[3].caption == (
        "Tick 3. Forward: micro-batch 2 on stage 0, 1 on stage 1, 0 on stage 2. Idle: stage 3."
    )
    assert film.frames[11].caption.endswith("No stage is idle.")
    assert film.frames[14].caption.endswith("Idle: stages 1, 2, 3. Each stage was idle in 6 of 14 ticks, 43%.")
    assert [words(film, frame).count("idle") - 1 for frame in (0, 1, 4, 7)] == [4, 3, 0, 3]  # and once in the legend


def test_as_many_squares_are_there_as_activations_are_kept() -> None:
    plan = in_ticks(one_forward_one_backward(4, 8))
    film = pipeline_film(plan)
    for tick in range(1, len(film.frames)):
        squares = film.frames[tick].picture.count(COLOURS[3]) - 1  # and once in the legend
        assert squares == sum(row[tick - 1] for row in kept(plan))


def test_the_parts_of_the_products_make_what_one_process_computes() -> None:
    have = computed()
    x = torch.tensor(X, dtype=torch.float64, requires_grad=True)
    y = torch.relu(x @ torch.tensor(A, dtype=torch.float64)) @ torch.tensor(B, dtype=torch.float64)
    y.backward(torch.tensor([[1, 0], [0, -1]], dtype=torch.float64))
    for name, parts, whole in (("Y", "parts", y), ("gradient of X", "parts of X", x.grad)):
        assert have[name] == whole.tolist()
        assert torch.tensor(have[parts]).sum(0).tolist() == whole.tolist()
        assert all(part != have[name] for part in have[parts])


def test_a_sum_is_shown_after_its_parts() -> None:
    film = product_film()
    signs = [(words(film, frame).count("+"), words(film, frame).count("=")) for frame in range(7)]
    assert signs == [(0, 0), (0, 0), (3, 0), (3, 1), (0, 0), (3, 0), (3, 1)]
    assert "Their sum: [[6, 4], [4, 4]]." in film.frames[3].picture


def test_a_guess_is_drawn_where_it_belongs_and_told() -> None:
    def diamonds(guess: float | None) -> list[tuple[float, float]]:
        lines = idle_picture(IDLE, 4, guess).axes[0].lines
        return [(*line.get_xdata(), *line.get_ydata()) for line in lines if line.get_label().startswith("your guess")]

    assert diamonds(None) == [] and diamonds(60) == [(60, 1)]
    alt = idle_picture(IDLE, 4, 60).alt
    assert "4 micro-batches: 45 % measured, 43 % due" in alt and alt.endswith("You guessed 60 % for 4.")
    assert "1 micro-batch: 51 % measured, 50 % due" in idle_picture({**IDLE, 1: [0.5, 0.52]}, 4).alt


def test_what_training_keeps_is_drawn_on_the_scale_of_the_gpus() -> None:
    drawn = too_large(6, 4, 40)
    assert drawn.alt.startswith(
        "6 billion weights, in training: 96 GB, and activations: weights 24 GB, gradients 24 GB"
    )
    widths = [float(part.split('"')[0]) for part in drawn.markup.split(' width="')[1:]]
    assert widths[2] == 2 * widths[0] and widths[-1] / widths[2] == pytest.approx(40 / 48)


def test_each_cut_gives_every_rank_a_part() -> None:
    markup = three_cuts(4).markup
    assert [markup.count(f">{rank}<") for rank in range(4)] == [1 + 1 + 4] * 4
