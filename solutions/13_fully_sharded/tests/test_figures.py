"""The figures of lab 13: bytes by stage and by layer, as they were computed and measured."""

from __future__ import annotations

import pytest

from ..figures.held_film import Moment, held_film
from ..figures.kept_picture import kept_picture
from ..figures.stage_bars import stage_bars

STAGES = {
    stage: {
        "weights": 15e9 / (64 if stage > 2 else 1),
        "gradients": 15e9 / (64 if stage > 1 else 1),
        "optimizer": 60e9 / (64 if stage > 0 else 1),
        "master weights": 30e9 / (64 if stage > 0 else 1),
    }
    for stage in range(4)
}
KEPT = {"all kept": {2: 4_000_000, 4: 8_000_000}, "recomputed": {2: 1_000_000, 4: 2_000_000}}
MOMENTS = [Moment("Before the step", [25, 25], [0, 0]), Moment("Layer 1, forward", [25, 25], [0, 100])]
FIGURES = {
    "stage bars": lambda: stage_bars(STAGES, "7.5 billion parameters on 64 ranks"),
    "kept": lambda: kept_picture(KEPT),
}


def test_bars_say_what_a_rank_keeps_in_each_stage():
    alt = stage_bars(STAGES, "7.5 billion parameters").alt
    assert "120.0 GB in stage 0" in alt and "1.9 GB in stage 3" in alt
    with pytest.raises(ValueError, match="activations"):
        stage_bars({0: {"activations": 1.0}}, "")


def test_kept_activations_are_told_by_way_and_layers():
    assert "all kept: 4 MB with 2 blocks, 8 MB with 4 blocks" in kept_picture(KEPT).alt
    with pytest.raises(ValueError, match="no bytes"):
        kept_picture({})


def test_the_film_says_which_layer_is_there_and_how_much_is_held():
    before, forward = held_film(MOMENTS, [100, 100]).frames
    assert before.caption == "Before the step: no layer's weights are there. The rank holds 50 B of 200 B."
    assert "Layer 1, forward: the weights of layer 1 are there. The rank holds 150 B" in forward.caption
    with pytest.raises(ValueError, match="no moments"):
        held_film([], [1])
