"""Translations by a model before and after training, as a table in a notebook, in the colours of JupyterLab's theme."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape

from course.figures.theme_colours import EDGE, FAINT, GROUND, INK, RIGHT, WRONG

LONGEST = 60  # letters shown of a text
NO_LETTER = "\N{REPLACEMENT CHARACTER}"  # what is shown for bytes that are none
UNTRAINED = 16  # and of what an untrained model writes, which may repeat itself for ever


class TranslationTable:
    """A table with one row per sentence: source, reference, before, after. Right translations are marked; in wrong
    ones, what differs: letters that should not be there are underlined, missing ones are struck through.

    sources, references, before, after: equally many texts.
    """

    def __init__(
        self, sources: Sequence[str], references: Sequence[str], before: Sequence[str], after: Sequence[str]
    ) -> None:
        self.rows = list(zip(sources, references, before, after, strict=True))

    def _repr_html_(self) -> str:
        right = sum(after == reference for _, reference, _, after in self.rows)
        heads = "".join(
            f'<th scope="col" style="text-align:left;padding:6px 12px;border-bottom:1px solid {EDGE}">{head}</th>'
            for head in ("English", "Italian", "before training", f"after: {right} of {len(self.rows)} right")
        )
        body = "".join(
            f'<tr style="background:{GROUND}">{cell(escape(shortened(source)))}{cell(escape(shortened(reference)))}'
            f"{cell(escape(untrained(before) or '(nothing)'), FAINT)}{judged(after, reference)}</tr>"
            for source, reference, before, after in self.rows
        )
        style = f"color:{INK};border-collapse:collapse;font-size:13px"
        return f'<table style="{style}"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'

    def __repr__(self) -> str:
        return "\n".join(
            f"{source}\n  is     {reference}\n  before {untrained(before)}\n"
            f"  after  {shortened(after)}{'  (right)' if after == reference else ''}"
            for source, reference, before, after in self.rows
        )


def typical(translations: Sequence[str], references: Sequence[str], count: int = 8, seed: int = 0) -> list[int]:
    """Numbers of `count` sentences at random, of which as large a share is right as of all, in their order."""
    right = [number for number, pair in enumerate(zip(translations, references, strict=True)) if pair[0] == pair[1]]
    wrong = [number for number in range(len(references)) if number not in {*right}]
    count, rng = min(count, len(references)), random.Random(seed)
    some = round(count * len(right) / max(1, len(references)))
    return sorted(rng.sample(right, some) + rng.sample(wrong, count - some))


def cell(text: str, colour: str = INK) -> str:
    """One cell of the table. text: HTML."""
    style = f"text-align:left;vertical-align:top;padding:5px 12px;color:{colour};max-width:22em"
    return f'<td style="{style};overflow-wrap:anywhere;white-space:normal">{text}</td>'


def judged(translation: str, reference: str) -> str:
    """The cell of a translation: ticked if it equals the reference; else with what differs marked."""
    if translation == reference:
        return cell(f"✓ {escape(shortened(translation))}", RIGHT)
    return cell("✗ " + (marked(shortened(translation), shortened(reference)) or "(nothing)"))


def marked(translation: str, reference: str) -> str:
    """A wrong translation as HTML: what should not be there is underlined, what is missing is struck through."""
    html = ""
    for _, first, last, start, end in SequenceMatcher(None, reference, translation, autojunk=False).get_opcodes():
        missing, written = escape(reference[first:last]), escape(translation[start:end])
        if missing == written:
            html += written
            continue
        if missing:
            html += f'<del style="color:{FAINT}">{missing}</del>'
        if written:
            html += f'<ins style="color:{WRONG};font-weight:bold">{written}</ins>'
    return html


def untrained(text: str) -> str:
    """What an untrained model writes, shortened; what is no letter, often all of it, as one sign."""
    return shortened(re.sub(f"(?:{NO_LETTER}\\s*)+", NO_LETTER, text), UNTRAINED)


def shortened(text: str, longest: int = LONGEST) -> str:
    """`text`, cut to `longest` letters."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
