"""Pictures of attention, padding, a killed training, and translations."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
import torch
from matplotlib.colors import to_hex

from ..figures.attention import attention_picture
from ..figures.kill_and_resume import kill_and_resume_picture
from ..figures.live_loss import curve
from ..figures.padding import padding_picture
from ..figures.token_table import TokenTable
from ..figures.translations import LONGEST, UNTRAINED, TranslationTable, marked, typical

SOURCE = ["·Monday", ",", "·November", "·2", "2", ",", "·2", "0", "1", "0", "EOS"]
TARGET = ["·lunedì", "·2", "2", "·novembre", "·2", "0", "1", "0", "EOS"]
LONG = ["·millecinquecentotrentotto", ",", "·2", "º"] * 13

LOSSES = [7.6 / (1 + number / 4) for number in range(18)]


def attention(target: int, source: int) -> torch.Tensor:
    """Weights of 4 heads."""
    generator = torch.Generator().manual_seed(0)
    return torch.softmax(3 * torch.randn(4, target, source, generator=generator), -1)


FIGURES = {
    "attention": lambda: attention_picture(attention(9, 11), SOURCE, TARGET, "Cross-attention of the last layer"),
    "attention of one head": lambda: attention_picture(attention(9, 11)[0], SOURCE, TARGET, "Head 0"),
    "attention of a short sentence": lambda: attention_picture(
        attention(1, 1), ["EOS"], ["EOS"], "Cross-attention of the last layer"
    ),
    "attention of a long sentence": lambda: attention_picture(attention(52, 52), LONG, LONG, "Long"),
    "kill and resume": lambda: kill_and_resume_picture(LOSSES, LOSSES[:9], LOSSES[6:], 6),
    "killed at once": lambda: kill_and_resume_picture(LOSSES, [], LOSSES, 6),
    "padding": lambda: padding_picture({"random order": [0.5, 0.7, 0.3], "by length": [0.1, 0.02]}),
    "no padding": lambda: padding_picture({"by length": [0.0]}),
}


def test_attention_is_the_mean_of_the_heads_with_a_row_for_each_token_of_the_target() -> None:
    axes = FIGURES["attention"]().axes[0]
    torch.testing.assert_close(torch.tensor(axes.images[0].get_array()), attention(9, 11).mean(0).double())
    assert [label.get_text() for label in axes.get_yticklabels()] == TARGET
    assert [label.get_text() for label in axes.get_xticklabels()] == SOURCE


def test_attention_of_other_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\(11, 9\)"):
        attention_picture(attention(11, 9), SOURCE, TARGET, "")


def test_a_resumed_training_is_drawn_from_the_epoch_on_that_was_killed() -> None:
    axes = FIGURES["kill and resume"]().axes[0]
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert list(lines["until the kill"].get_xdata()) == [*range(1, 10)]
    assert list(lines["after the resume"].get_xdata()) == [*range(7, 19)]
    assert list(lines["after the resume"].get_ydata()) == LOSSES[6:]
    assert list(lines["killed in this step"].get_xydata()[0]) == [9, LOSSES[8]]


def test_a_live_curve_has_a_point_for_each_step_within_its_frame() -> None:
    points = re.search(r'points="([^"]*)"', curve([7.5, 3.0, 2.0], 10, "three steps"))[1].split()
    across, down = zip(*(map(float, point.split(",")) for point in points), strict=True)
    assert list(across) == sorted(across) and list(down) == sorted(down)
    assert across[0] > 40 and across[-1] < 300 and min(down) > 0 and max(down) < 160


def test_the_area_under_a_line_is_the_padding_of_an_epoch() -> None:
    figure = FIGURES["padding"]()
    legend = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert legend == ["random order: 50% on average", "by length: 6% on average"]
    heights = list(figure.axes[0].patches[1].get_data().values)
    assert heights == [0.7, 0.5, 0.3]


class Texts(HTMLParser):
    """The texts of a table, and its rows."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        self.rows[-1][-1] += data


def test_a_table_shows_each_translation_and_marks_what_is_right() -> None:
    table = TranslationTable(["a <b>", "c", "d"], ["uno", "due", "x" * 500], ["x" * 500, "", ""], ["uno", "tre", ""])
    head, first, second, third = Texts(table._repr_html_()).rows
    assert head[-1] == "after: 1 of 3 right"
    assert first == ["a <b>", "uno", "x" * (UNTRAINED - 1) + "…", "✓ uno"]
    assert second[:3] == ["c", "due", "(nothing)"] and second[3].startswith("✗ ")
    assert third[1] == "x" * (LONGEST - 1) + "…"
    assert "after  uno  (right)" in repr(table)


def test_no_line_goes_through_the_words_of_the_legend_of_a_kill() -> None:
    picture = kill_and_resume_picture(LOSSES, LOSSES[:9], LOSSES[6:], 6)
    for each in (picture, picture.dark):
        frame = each.axes[0].get_legend().get_frame()
        assert frame.get_visible() and frame.get_alpha() == 1
        assert to_hex(frame.get_facecolor()) == each.ground.paper.lower()


def test_what_an_untrained_model_writes_that_is_no_letter_is_one_sign() -> None:
    signs = "\N{REPLACEMENT CHARACTER}" * 40
    _, row = Texts(TranslationTable(["a"], ["b"], [f"x{signs} {signs}y"], ["b"])._repr_html_()).rows
    assert row[2] == "x\N{REPLACEMENT CHARACTER}y"


def test_in_a_wrong_translation_what_is_too_much_and_what_is_missing_are_marked() -> None:
    plain = re.sub(r' style="[^"]*"', "", marked("02:40 e", "04:40"))
    assert plain == "0<del>4</del><ins>2</ins>:40<ins> e</ins>"
    assert re.sub(r' style="[^"]*"', "", marked("a<", "ab<")) == "a<del>b</del>&lt;"


def test_typical_translations_are_right_as_often_as_all_are() -> None:
    references = [str(number) for number in range(100)]
    for right in (0, 7, 48, 62, 100):
        translations = [text if int(text) < right else "?" for text in references]
        chosen = typical(translations, references, 8)
        assert len({*chosen}) == 8 and chosen == sorted(chosen)
        assert sum(number < right for number in chosen) == round(8 * right / 100)
    assert typical(["a"], ["a"], 8) == [0] and typical([], [], 8) == []


def test_a_table_of_tokens_has_a_cell_for_each_place() -> None:
    table = TokenTable({"tgt_in": ["BOS", "·a", "<b>"], "tgt_out": ["·a", "<b>", "EOS"]})
    assert Texts(table._repr_html_()).rows == [["tgt_in", "BOS", "·a", "<b>"], ["tgt_out", "·a", "<b>", "EOS"]]
    assert repr(table).splitlines() == ["tgt_in   BOS ·a  <b>", "tgt_out  ·a  <b> EOS"]


def test_a_table_of_unequal_columns_is_refused() -> None:
    with pytest.raises(ValueError):
        TranslationTable(["a"], ["b"], [], ["c"])
