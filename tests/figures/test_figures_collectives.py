"""Pictures of collectives: what is drawn is what the ranks had, and how long it took them beside the formulas."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from course.figures.collectives.cells import collectives_picture, ranks_in
from course.figures.collectives.fit import Sample, crossing, fit_alpha_beta, ring_seconds, tree_seconds
from course.figures.collectives.time_picture import time_picture
from course.figures.style import COLOURS

GATHERED = [{"all-gather": ([2**rank], [1, 2, 4])} | {"reduce": ([2**rank], [] if rank else [7])} for rank in range(3)]
SIZES = [1000, 4000, 16_000, 64_000, 256_000]
NETWORK = (2e-3, 2e-7)
MEASURED = {
    "tree": {n: 1.05 * tree_seconds(n, 4, *NETWORK) for n in SIZES},
    "ring": {n: 1.05 * ring_seconds(n, 4, *NETWORK) for n in SIZES},
}
FIGURES = {
    "collectives": lambda: collectives_picture(GATHERED),
    "times and formulas": lambda: time_picture(MEASURED, 4, "On the simulated network", NETWORK),
    "times": lambda: time_picture({**MEASURED, "MPI's own": MEASURED["tree"]}, 4, "On this machine"),
}


def test_a_cell_has_the_colours_of_the_ranks_whose_numbers_are_in_it() -> None:
    figure = FIGURES["collectives"]()
    fills = [to_hex(patch.get_facecolor(), True).upper()[:7] for patch in figure.axes[0].patches if not patch.get_lw()]
    own, gathered = [*COLOURS[:3]], [*COLOURS[:3]] * 3
    assert sorted(fills) == sorted([*own, *gathered, *own, *COLOURS[:3]])
    assert "all-gather: every rank has 0's and 1's and 2's" in figure.alt
    assert "reduce: rank 0 has the sum of 0+1+2, the others have nothing" in figure.alt
    assert ranks_in(10, 4) == [1, 3]


def test_of_pieces_one_sees_which_one_goes_where() -> None:
    """An all-to-all leaves piece k of all on rank k: that is no all-gather."""
    pieces = [[2 ** (rank + 3 * piece) for piece in range(3)] for rank in range(3)]
    dealt = [[pieces[rank][piece] for rank in range(3)] for piece in range(3)]
    summed = [[sum(own)] for own in dealt]
    runs = [{"a": (pieces[rank], dealt[rank]), "r": (pieces[rank], summed[rank])} for rank in range(3)]
    figure = collectives_picture(runs)
    assert "rank 1 has 0's piece 1 and 1's piece 1 and 2's piece 1" in figure.alt
    assert "rank 2 has the sum of 0+1+2, piece 2" in figure.alt
    seen = [text.get_text() for text in figure.axes[0].texts]
    assert [seen.count(str(piece)) for piece in range(3)] == [3 + 3 + 3 + 1] * 3
    assert [seen.count(f"rank {rank}") for rank in range(3)] == [1] * 3 and seen.count("after") == 2


def test_latency_and_bandwidth_are_found_from_times_and_never_negative() -> None:
    noise = [1.06, 0.95, 1.02, 0.97, 1.05]
    samples = [Sample(6, n / 4, ring_seconds(n, 4, *NETWORK) * part) for n, part in zip(SIZES, noise, strict=True)]
    alpha, beta = fit_alpha_beta(samples)
    assert alpha == pytest.approx(2e-3, rel=0.06) and beta == pytest.approx(2e-7, rel=0.06)
    # Times that grow faster than the bytes: a straight line through them begins below zero.
    bent = [Sample(1, n, 1e-9 * n**1.2) for n in SIZES]
    assert fit_alpha_beta(bent)[0] == 0 and fit_alpha_beta(bent)[1] > 0
    falling = [Sample(1, n, 1e-3 - 1e-9 * n) for n in SIZES]
    assert fit_alpha_beta(falling)[1] == 0 and fit_alpha_beta(falling)[0] > 0


def test_plain_least_squares_would_give_a_latency_that_means_nothing() -> None:
    plain = [[1.0, n] for n in SIZES]
    seconds = [2e-3 + 2e-7 * n for n in SIZES]
    seconds[-1] *= 1.6  # a busy moment
    alpha = np.linalg.lstsq(np.array(plain), np.array(seconds), rcond=None)[0][0]
    assert alpha < 0
    samples = [Sample(1, n, each) for n, each in zip(SIZES, seconds, strict=True)]
    assert 1.5e-3 < fit_alpha_beta(samples)[0] < 2.5e-3


def test_ring_and_tree_take_the_same_time_where_they_cross() -> None:
    for size in (3, 4, 8, 16):
        meet = crossing(*NETWORK, size)
        assert tree_seconds(meet, size, *NETWORK) == pytest.approx(ring_seconds(meet, size, *NETWORK))
    assert crossing(*NETWORK, 4) == pytest.approx(8000) and crossing(*NETWORK, 2) == 0
    assert crossing(2e-3, 0.0, 4) is None and crossing(*NETWORK, 1) is None


def test_what_was_measured_is_drawn_beside_the_formulas() -> None:
    figure = FIGURES["times and formulas"]()
    dots = [line for line in figure.axes[0].get_lines() if line.get_marker() == "o"]
    assert [list(line.get_xdata()) for line in dots] == [SIZES, SIZES]
    assert "from 8 kB on" in figure.alt
