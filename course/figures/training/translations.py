"""Translations by a model before and after training, as a table in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from course.figures.style import COLOURS, FAINT, GROUND, INK

LONGEST = 60  # letters shown of a text, as an untrained model may repeat itself for ever


class TranslationTable:
    """A table with one row per sentence: source, reference, before, after. Correct translations are marked.

    sources, references, before, after: equally many texts.
    """

    def __init__(
        self, sources: Sequence[str], references: Sequence[str], before: Sequence[str], after: Sequence[str]
    ) -> None:
        self.rows = list(zip(sources, references, before, after, strict=True))

    def _repr_html_(self) -> str:
        right = sum(after == reference for _, reference, _, after in self.rows)
        heads = "".join(
            f'<th style="text-align:left;padding:6px 12px;border-bottom:1px solid {FAINT}">{head}</th>'
            for head in ("English", "Italian", "before training", f"after: {right} of {len(self.rows)} right")
        )
        body = "".join(
            f"<tr>{cell(source)}{cell(reference)}{judged(before, reference)}{judged(after, reference)}</tr>"
            for source, reference, before, after in self.rows
        )
        # The figures' background and text colour, which suit a light and a dark JupyterLab.
        style = f"background:{GROUND};color:{INK};border-collapse:collapse;font-size:13px"
        return f'<table style="{style}"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'

    def __repr__(self) -> str:
        return "\n".join(
            f"{source}\n  is     {reference}\n  before {shortened(before)}\n  after  {shortened(after)}"
            for source, reference, before, after in self.rows
        )


def cell(text: str, colour: str = INK, mark: str = "") -> str:
    """One cell of the table, with its own background, in case a stylesheet stripes rows."""
    style = f"text-align:left;vertical-align:top;padding:5px 12px;background:{GROUND};color:{colour};max-width:19em"
    return f'<td style="{style};overflow-wrap:anywhere;white-space:normal">{mark}{escape(shortened(text))}</td>'


def judged(translation: str, reference: str) -> str:
    """The cell of a translation, green and ticked if it equals the reference."""
    return cell(translation, COLOURS[2], "✓ ") if translation == reference else cell(translation or "(nothing)", FAINT)


def shortened(text: str) -> str:
    """`text`, cut to LONGEST letters."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
