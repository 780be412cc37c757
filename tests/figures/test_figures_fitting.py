"""What a GPU keeps is the papers' arithmetic, and the pictures of lectures 13 and 14 show it."""

from __future__ import annotations

import re

import pytest

from course.figures.drawing import Drawing
from course.figures.fitting.advice import advised, in_words
from course.figures.fitting.decision_tree import MEMORY, NOT, SPEED, decision_tree, question
from course.figures.fitting.heads_picture import heads_picture
from course.figures.fitting.ladder import choices, in_gb, ladder, ladder_film
from course.figures.fitting.nodes_picture import nodes_picture
from course.figures.fitting.ring_attention_film import held, ring_attention_film
from course.figures.fitting.shares import Choice, Setting, kept, node, sent, states, total
from course.figures.splitting.memory_bars import PARTS

PAPER = Setting(billions=7.5, gpus=64, gigabytes=80)
SEVENTY = Setting(billions=70, gpus=64, gigabytes=80, tokens=8192)
GPT_3 = Setting(billions=175, gpus=1024, gigabytes=80, tokens=2048)
BOLD = re.compile(r'<text ([^>]*)font-weight="bold"[^>]*>([^<]*)<')
WORDS = re.compile(r'<text x="([\d.]+)"[^>]*font-size="([\d.]+)" text-anchor="(\w+)"[^>]*>([^<]*)<')


def test_the_states_are_those_of_the_first_figure_of_the_zero_paper() -> None:
    assert [round(states(PAPER, Choice(stage)) / 1e9, 1) for stage in range(4)] == [120, 31.4, 16.6, 1.9]
    assert [sent(stage) for stage in range(4)] == [1, 1, 1, 1.5]


def test_with_micro_batches_the_second_stage_sends_in_each_of_them() -> None:
    """Its reduce-scatter, and an all-gather in the end; the third stage all of its three."""
    assert [15 * 2 * sent(stage, micro_batches=8) for stage in range(4)] == [30, 30, 135, 360]


def test_float32_takes_as_many_bytes_a_weight_in_other_parts() -> None:
    plain = kept(Setting(1, 4, 80, "float32"), Choice())
    assert [plain[part] for part in ("weights", "gradients", "optimizer")] == [4e9, 4e9, 8e9]
    assert sum(kept(Setting(1, 4, 80, tokens=0), Choice()).values()) == 16e9


def test_one_gpu_has_nothing_to_share() -> None:
    alone = Setting(1, 1, 80)
    assert kept(alone, Choice(3)) == kept(alone, Choice(0))
    assert node(alone) == 1 and node(Setting(1, 12, 80)) == 4 and node(PAPER) == 8


def test_activations_are_those_of_the_paper_by_layer_and_width() -> None:
    assert (round(GPT_3.layers), round(GPT_3.width / 128)) == (96, 96)
    layer = 34 * GPT_3.tokens * GPT_3.width
    assert kept(GPT_3, Choice())["activations"] == pytest.approx(GPT_3.layers * layer)
    borders = GPT_3.layers * 2 * GPT_3.tokens * GPT_3.width
    assert kept(GPT_3, Choice(recompute=True))["activations"] == pytest.approx(borders + layer)
    wide = kept(Setting(175, 1024, 80, "float32", 2048), Choice())["activations"]
    assert wide == pytest.approx(GPT_3.layers * layer * 66 / 34)


def test_a_cut_of_layers_shares_states_and_activations_and_leaves_fewer_copies() -> None:
    cut, whole = kept(PAPER, Choice(0, tensor=8)), kept(PAPER, Choice(0))
    assert all(8 * cut[part] == pytest.approx(whole[part]) for part in PARTS)
    sharded = states(PAPER, Choice(3)), states(PAPER, Choice(3, tensor=8))
    assert sharded[0] == pytest.approx(sharded[1])
    longer = kept(PAPER, Choice(context=4))["activations"]
    assert 4 * longer == pytest.approx(whole["activations"])


def test_what_cannot_be_is_refused_by_name() -> None:
    for wrong, words in (
        ({"precision": "float8"}, "precision is 'mixed' or 'float32', not 'float8'"),
        ({"gpus": 0}, "gpus has to be"),
        ({"gpus": 1.5}, "gpus has to be"),
        ({"billions": 0}, "billions and gigabytes"),
        ({"tokens": -1}, "tokens 0 or more"),
    ):
        with pytest.raises(ValueError, match=words):
            Setting(**{"billions": 1, "gpus": 1, "gigabytes": 1} | wrong)
    with pytest.raises(ValueError, match="not 4"):
        kept(PAPER, Choice(4))
    with pytest.raises(ValueError, match="64 GPUs do not make groups of 3"):
        kept(PAPER, Choice(tensor=3))
    with pytest.raises(ValueError, match="not one of 1"):
        ring_attention_film(1)
    with pytest.raises(ValueError, match="1 or more"):
        nodes_picture(stages=0)


def test_each_frame_adds_a_choice_and_tells_a_guess_where_it_belongs() -> None:
    frames = ladder_film(SEVENTY, guess=4).frames
    names = [name.split(": ")[0] for name in choices(SEVENTY)][1:]
    assert [frame.caption.split(": ")[0] for frame in frames] == names
    told = [number for number, frame in enumerate(frames) if "You guessed row 4." in frame.caption]
    assert told == [number for number, frame in enumerate(frames) if "the first that fits" in frame.caption] == [3]
    assert [frame.picture.count(">?<") for frame in frames] == [4, 3, 2, 1, 0]
    assert "1,120 GB" in ladder_film(Setting(70, 1, 80), 1).frames[0].caption
    assert "You guessed row 1." in ladder_film(Setting(70, 1, 80), 1).frames[-1].caption  # where nothing fits
    assert "half as much again" in frames[2].caption


def test_a_bar_is_as_long_as_what_is_kept_against_the_memory_of_a_gpu() -> None:
    picture = ladder(Setting(billions=4, gpus=1, gigabytes=80, tokens=0)).markup
    edge = float(re.search(r'<path d="M([\d.]+) ', picture)[1])
    widths = [float(width) for width in re.findall(r'width="([\d.]+)" height="18"', picture)]
    assert sum(widths) / (edge - 6) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    ("setting", "answer"),
    [
        (Setting(1, 1, 80), 0),
        (PAPER, 1),
        (Setting(3, 1, 80, tokens=16_384), 2),
        (Setting(13, 64, 80, tokens=8192), 2),
        (SEVENTY, 3),
        (Setting(7, 64, 80, tokens=1_000_000), 4),
        (Setting(7, 64, 80, tokens=4_000_000), 5),
        (Setting(1000, 8, 80), None),
    ],
)
def test_the_tree_marks_the_question_that_is_answered_with_yes(setting: Setting, answer: int | None) -> None:
    assert question(setting) == answer
    tree = decision_tree(setting)
    assert tree.markup.count('stroke-width="4"') == 1
    marked = " ".join(words for *_, words in BOLD.findall(tree.markup))
    assert " ".join(NOT.ask if answer is None else MEMORY[answer].answer) in marked
    choice = advised(setting)
    told = "nothing fits." if choice is None else f"{in_words(choice)}, {in_gb(total(setting, choice))} on each."
    assert tree.alt.endswith(told)


def test_a_tree_without_a_setting_marks_nothing_and_says_all_in_words() -> None:
    tree = decision_tree()
    assert 'stroke-width="4"' not in tree.markup
    assert all(" ".join(step.ask) in tree.alt and " ".join(step.answer) in tree.alt for step in (*MEMORY, *SPEED))


@pytest.mark.parametrize("ranks", [2, 4, 6])
def test_each_rank_meets_each_block_of_keys_once(ranks: int) -> None:
    for rank in range(ranks):
        assert sorted(held(rank, step, ranks) for step in range(1, ranks + 1)) == [*range(ranks)]
        # What a rank has now, the one before it had a round earlier.
        assert held((rank + 1) % ranks, 2, ranks) == held(rank, 1, ranks)
    film = ring_attention_film(ranks)
    assert len(film.frames) == ranks + 1 and len({frame.caption for frame in film.frames}) == ranks + 1
    assert film.frames[-1].picture.count("<rect") == ranks * ranks + ranks


def test_nodes_count_parts_of_a_layer_first_then_stages_then_copies() -> None:
    picture = nodes_picture(tensor=2, stages=2, replicas=2)
    numbers = [words for *_, words in WORDS.findall(picture.markup) if words.isdigit()]
    assert numbers == [str(rank) for rank in range(8)]
    assert "2 x 2 x 2 = 8 GPUs" in picture.markup and picture.markup.count("data parallel") == 2


@pytest.mark.parametrize(
    "picture",
    [
        heads_picture(),
        ladder(PAPER, 6),
        decision_tree(PAPER),
        nodes_picture(),
        ladder(Setting(70, 512, 80, tokens=32_768), 6),
    ],
    ids=lambda picture: picture.alt[:24],
)
def test_letters_can_be_read_on_a_page_of_400_pixels(picture: Drawing) -> None:
    wide = float(re.search(r'viewBox="0 0 ([\d.]+)', picture.markup)[1])
    assert all(float(size) * min(1, 360 / wide) >= 11 for _, size, *_ in WORDS.findall(picture.markup))
    assert picture.alt.endswith(".")
