"""Pictures of ranks that train: what is drawn is where they went, and what each was seen to send and receive."""

from __future__ import annotations

import torch

from course.figures.replicas.arrangements import arrangements_picture, busiest, bytes_between, crossing
from course.figures.replicas.busiest_rank import busiest_rank_picture
from course.figures.training.rank_gradients import downhill, rank_gradients_picture, steps_film
from course.figures.training.rank_paths import rank_paths_picture

X = torch.linspace(-1, 3, 24, dtype=torch.float64)
Y = 1.5 * X - 0.5 + torch.sin(7 * X)
ONE = [(-2.0, 1.5), (-1.0, 1.7), (0.0, 1.0), (1.0, 0.1)]
OTHER = [(m + 1, n - 1) for m, n in ONE]


def event(kind: str, size: int, members: list[int], peer: int | None = None) -> dict:
    """What is looked at of an event."""
    return {"kind": kind, "bytes": size, "members": members, "peer": peer}


ALL = [0, 1, 2, 3]
RING = [[event("allreduce", 800, ALL)] for _ in ALL]
CENTRAL = [[event("broadcast", 800, ALL, 0), event("communicator", 0, ALL)] for _ in ALL]
CENTRAL = [[event("reduce", 800, ALL, 0), *own] for own in CENTRAL]
MESSAGES = [[event("send", 0, ALL, 1)], [event("send", 800, ALL, 3)], [], [event("recv", 0, ALL, 1)]]
FIGURES = {
    "gradients of four ranks": lambda: rank_gradients_picture(X, Y, [12, 6, 4, 2], (-2.0, 1.5)),
    "one path and two": lambda: rank_paths_picture(X, Y, {"apart": [ONE, OTHER], "together": [ONE, ONE]}),
    "three runs": lambda: rank_paths_picture(
        X, Y, {"rank 1 five times slower": [ONE], "three equal workers": [OTHER], "all-reduce, three ranks": [ONE] * 3}
    ),
    "one run": lambda: rank_paths_picture(X, Y, {"apart": [ONE, OTHER]}),
    "arrangements": lambda: arrangements_picture({"ring": RING, "central": CENTRAL, "messages": MESSAGES}, 800),
    "busiest rank": lambda: busiest_rank_picture({2: 160, 3: 320, 4: 480}, 80),
    "busiest rank of a ring": lambda: busiest_rank_picture({2: 160, 8: 1120}, 80, {2: 160, 8: 280}),
    "busiest rank with a guess": lambda: busiest_rank_picture({2: 160, 8: 1120}, 80, {2: 160, 8: 280}, 7),
}


def test_the_arrow_of_a_point_goes_down_the_loss() -> None:
    point = torch.tensor([-2.0, 1.5], dtype=torch.float64)
    way = downhill(X, Y, point.tolist())

    def loss(at: torch.Tensor) -> torch.Tensor:
        return ((at[0] * X + at[1] - Y) ** 2).mean()

    expected = torch.autograd.functional.jacobian(loss, point)
    assert torch.allclose(way, -expected)


def test_equal_paths_are_drawn_once_and_unequal_ones_each() -> None:
    figure = FIGURES["one path and two"]()
    apart, together = figure.axes
    assert [
        len({line.get_color() for line in axes.get_lines()} - {figure.ground.ink}) for axes in (apart, together)
    ] == [2, 1]
    assert "apart: 2 paths" in figure.alt and "together: 1 path," in figure.alt


def test_a_film_has_a_picture_of_each_point_of_the_path_on_both_grounds() -> None:
    film = steps_film(X, Y, ONE, ranks=3)
    assert "3 steps" in film.name and "3 ranks" in film.name
    assert len(film.frames) == len(ONE) == len({frame.picture for frame in film.frames})
    assert all(frame.picture.count("data:image/webp") == 2 for frame in film.frames)
    assert film.frames[-1].caption.startswith("After 3 steps: ")


def test_what_a_server_was_seen_to_move_is_drawn_in_sizes_of_the_parameters() -> None:
    figure = FIGURES["busiest rank"]()
    dots = figure.axes[0].get_lines()[-1]
    assert list(zip(*dots.get_data(), strict=True)) == [(2, 2.0), (3, 4.0), (4, 6.0)]


def test_bytes_go_from_rank_to_rank_as_the_calls_of_a_step_say() -> None:
    assert bytes_between(RING) == {(0, 1): 1200, (1, 2): 1200, (2, 3): 1200, (3, 0): 1200}
    to_and_from = {pair: 800 for rank in (1, 2, 3) for pair in ((0, rank), (rank, 0))}
    assert bytes_between(CENTRAL) == to_and_from
    assert bytes_between(MESSAGES) == {(1, 3): 800}
    assert [busiest(bytes_between(each)) for each in (RING, CENTRAL, [[]])] == [2400, 4800, 0]
    assert [crossing(bytes_between(each), 4) for each in (RING, CENTRAL, MESSAGES)] == [2400, 3200, 800]
    assert "ring: busiest rank 3, between nodes 3; central: busiest rank 6" in FIGURES["arrangements"]().alt


def test_a_ring_is_drawn_beside_the_server_if_it_was_measured() -> None:
    alone, both = FIGURES["busiest rank"](), FIGURES["busiest rank of a ring"]()
    assert len(both.axes[0].lines) == len(alone.axes[0].lines) + 1
    assert [*both.axes[0].lines[-1].get_ydata()] == [2.0, 3.5]
    assert both.alt.endswith("A ring, measured: 2.0 with 2 ranks, 3.5 with 8 ranks.")
