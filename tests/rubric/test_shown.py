"""What a student reads of a rubric, as text and as HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from autograde.contract import show
from autograde.contract.result import Finding, Result, Row

FOUND = Finding("sends-first", "Ranks 0 and 1 <both> send first.", "rank 0  waits in comm.Send")
ROWS = [
    Row("partner", "each rank returns its partner's array", 1.5, "holds"),
    Row("safe", "it also works where each send waits", 1, "fails", FOUND),
    Row("argument", "the array stays as it is", 0.5, "unjudged", None, "the run broke off"),
]
RESULT = Result("swap", 3, 1.5, [FOUND], ROWS)
BLANK = [Row(row.name, row.says, row.points, "unjudged") for row in ROWS]


class Words(HTMLParser):
    """All text of a page, of each list item by itself, and what no screen reader reads."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.items: list[str] = []
        self.hidden = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an item, or something that is only seen."""
        if tag == "li":
            self.items.append("")
        if self.hidden or dict(attrs).get("aria-hidden") == "true":
            self.hidden += 1

    def handle_endtag(self, tag: str) -> None:
        """End what is only seen."""
        self.hidden = max(0, self.hidden - 1)

    def handle_data(self, data: str) -> None:
        """Keep what is read aloud."""
        if self.items and not self.hidden:
            self.items[-1] += data


def test_the_text_has_a_row_for_each_criterion_and_the_words_below_it():
    assert show.text(RESULT).splitlines() == [
        "swap: not yet, 1.5 of 3 points",
        "  ✓ 1.5  each rank returns its partner's array",
        "  ✗ 1    it also works where each send waits",
        "         Ranks 0 and 1 <both> send first.  [sends-first]",
        "           rank 0  waits in comm.Send",
        "  – 0.5  the array stays as it is",
        "         not judged: the run broke off",
    ]


def test_read_aloud_each_row_says_its_state_and_its_points():
    holds, fails, unjudged = Words(show.html(RESULT)).items
    assert holds.startswith("holds, 1.5 points: each rank returns its partner's array")
    assert fails.startswith("does not hold, 1 point: it also works where each send waits")
    assert "Ranks 0 and 1 <both> send first. [sends-first]" in fails
    assert unjudged.startswith("not judged, 0.5 points: the array stays as it is")
    assert not re.search("<h[1-6]|<both>|<script", show.html(RESULT))


def test_before_the_first_try_the_rubric_is_shown_with_its_points():
    blank = Result("swap", 3, 0, [Finding("not-done", "Put your code in its place.")], BLANK)
    text = show.text(blank)
    assert text.startswith("swap: not started, 3 points\n  ○ 1.5  each rank returns its partner's array")
    assert text.endswith("Put your code in its place.")
    assert Words(show.html(blank)).items[0].startswith("1.5 points: each rank returns")


def test_what_belongs_to_no_criterion_stands_above_the_rubric():
    lost = Result("swap", 3, 0, [Finding("cell-fails", "The cell itself does not run.")], BLANK)
    lines = show.text(lost).splitlines()
    assert lines[2] == "* The cell itself does not run.  [cell-fails]"
    assert lines[3].startswith("  – 1.5  each rank returns")


def test_a_rubric_is_kept_with_a_grading():
    assert Result.from_plain(RESULT.plain()) == RESULT
