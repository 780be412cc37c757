"""Orders of a pipeline take as long as the papers say, and the film of lecture 14 shows them; so does a layer's cut."""

from __future__ import annotations

import pytest

from course.figures.fitting.heads_picture import heads_picture
from course.figures.fitting.orders import Block, idle_share, in_time, length, most_kept, plain_orders
from course.figures.fitting.orders_film import orders_film
from course.figures.splitting.schedules import bubble


@pytest.mark.parametrize(("ranks", "micro_batches"), [(2, 2), (4, 8), (4, 16), (3, 5)])
def test_plain_orders_have_the_bubble_of_the_formula(ranks: int, micro_batches: int) -> None:
    blocks = in_time(plain_orders(ranks, micro_batches), 2 * ranks)
    assert idle_share(blocks) == pytest.approx(bubble(ranks, micro_batches))
    assert length(blocks) == 2 * 3 * (micro_batches + ranks - 1)  # a stage of two layers, and three parts of a pass
    assert most_kept(blocks) == min(ranks, micro_batches)


def test_a_pass_begins_when_what_it_needs_is_over() -> None:
    """Two ranks, a micro-batch, and the weights' part of rank 1 last."""
    first, second = in_time([["0F0", "0I0", "0W0"], ["None", "1F0", "1I0", "1W0"]])
    assert first == [Block("F", 0, 0, 0, 1), Block("I", 0, 0, 3, 4), Block("W", 0, 0, 4, 5)]
    assert second == [Block("F", 1, 0, 1, 2), Block("I", 1, 0, 2, 3), Block("W", 1, 0, 3, 4)]
    assert most_kept([first, second]) == 1


def test_two_passes_at_once_are_one_after_the_other() -> None:
    (own,) = in_time([["0F0", "(0F1;0B0)OVERLAP_F_B", "0B1"]])
    assert [(block.kind, block.micro_batch, block.end) for block in own] == [
        ("F", 0, 1),
        ("F", 1, 2),
        ("B", 0, 4),
        ("B", 1, 6),
    ]
    assert most_kept([own]) == 2


def test_ranks_with_two_stages_keep_a_half_for_each() -> None:
    """Laid out as a V: rank 0 has the first stage and the last."""
    blocks = in_time([["0F0", "3F0", "3B0", "0B0"], ["1F0", "2F0", "2B0", "1B0"]])
    assert (length(blocks), idle_share(blocks), most_kept(blocks)) == (12, 0.5, 1)


def test_an_order_that_waits_for_ever_is_refused() -> None:
    with pytest.raises(ValueError, match="wait for each other"):
        in_time([["0I0", "0F0", "0W0"]])


def test_a_frame_tells_an_order_and_the_last_one_a_guess() -> None:
    plans = {str(number): in_time(plain_orders(4, number), 8) for number in (4, 8)}
    film = orders_film(plans, guess=12.5)
    assert [frame.caption.split(":")[0] for frame in film.frames] == ["4", "8"]
    assert "66 ticks, and a rank is idle for 27%" in film.frames[1].caption
    assert "activations of 4 micro-batches" in film.frames[1].caption
    assert ["You guessed 12.5%." in frame.caption for frame in film.frames] == [False, True]
    # A row, a box for each forward pass and two for each backward pass, and three in the legend.
    assert [frame.picture.count("<rect") for frame in film.frames] == [4 + 4 * 3 * number + 3 for number in (4, 8)]
    assert film.frames[1].picture.count('stroke-width="2.5"') == 4 * 3  # micro-batch 0


def test_a_stripe_marks_the_second_stage_of_a_rank() -> None:
    plan = in_time([["0F0", "3F0", "3B0", "0B0"], ["1F0", "2F0", "2B0", "1B0"]])
    plain = {"V": [[block for block in own if block.stage < 2] for own in plan]}
    both, one = (orders_film(each).frames[0].picture.count("<rect") for each in ({"V": plan}, plain))
    assert both - one == 2 * 3 * 2


@pytest.mark.parametrize("ranks", [1, 4, 6])
def test_attention_is_cut_into_a_part_for_each_rank(ranks: int) -> None:
    picture = heads_picture(ranks)
    assert picture.markup.count("<rect") == 2 + 6 * ranks
    assert picture.alt.endswith("adds them up.") and f"on {ranks} ranks" in picture.alt


def test_more_ranks_than_colours_are_refused() -> None:
    with pytest.raises(ValueError, match="not 7"):
        heads_picture(7)
