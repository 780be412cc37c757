"""The figures of the translation lab: what is drawn is what was given, and every word of it can be read."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
import torch

from course.figures.data.padding import padding_picture
from course.figures.ranks.synchronisation import all_reduces_picture, bytes_picture
from course.figures.training.attention import attention_picture
from course.figures.training.translations import LONGEST, TranslationTable

SOURCE = ["·Monday", ",", "·November", "·2", "2", ",", "·2", "0", "1", "0", "EOS"]
TARGET = ["·lunedì", "·2", "2", "·novembre", "·2", "0", "1", "0", "EOS"]
LONG = ["·millecinquecentotrentotto", ",", "·2", "º"] * 13


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
    "all-reduces": lambda: all_reduces_picture({"on every micro-batch": [4] * 6 + [2], "with no_sync": [1] * 7}),
    "all-reduces of many steps": lambda: all_reduces_picture({"on every": [4] * 60, "with no_sync": [1] * 60}),
    "no all-reduces": lambda: all_reduces_picture({"with no_sync on every step": []}),
    "bytes": lambda: bytes_picture([[4_200_000], *[[1_100_000, 3_100_000]] * 3]),
    "bytes of one step": lambda: bytes_picture([[1200]]),
    "bytes of many buckets": lambda: bytes_picture([[1_000_000] * 12] * 8),
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


def test_each_bar_is_the_number_of_all_reduces_of_a_step() -> None:
    axes = FIGURES["all-reduces"]().axes[0]
    assert [[bar.get_height() for bar in bars] for bars in axes.containers] == [[4] * 6 + [2], [1] * 7]


def test_buckets_lie_one_behind_the_other_in_the_order_in_which_they_are_sent() -> None:
    axes = FIGURES["bytes"]().axes[0]
    edges = [(bar.get_y(), bar.get_x(), bar.get_width()) for bar in axes.patches]
    mebibyte = 2**20
    assert edges[1][1:] == pytest.approx((0, 1_100_000 / mebibyte))
    assert edges[2][1:] == pytest.approx((1_100_000 / mebibyte, 3_100_000 / mebibyte))
    assert [text.get_text() for text in axes.texts] == ["1 bucket, 4.01 MiB", *["2 buckets, 4.01 MiB"] * 3]


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
    table = TranslationTable(["a <b>", "c"], ["uno", "due"], ["x" * 500, ""], ["uno", "tre"])
    head, first, second = Texts(table._repr_html_()).rows
    assert head[-1] == "after: 1 of 2 right"
    assert first == ["a <b>", "uno", "x" * (LONGEST - 1) + "…", "✓ uno"]
    assert second == ["c", "due", "(nothing)", "tre"]
    assert "after  uno" in repr(table)


def test_a_table_of_unequal_columns_is_refused() -> None:
    with pytest.raises(ValueError):
        TranslationTable(["a"], ["b"], [], ["c"])
