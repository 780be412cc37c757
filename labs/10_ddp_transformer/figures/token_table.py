"""Rows of tokens as a table in a notebook, in the colours of JupyterLab's theme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from course.figures.theme_colours import ACCENT, EDGE, FAINT, GROUND, INK


class TokenTable:
    """One row for each name, one column for each place. PAD is faint; BOS and EOS are coloured.

    rows: by name, the tokens, as `SentenceTokenizer.pieces` gives them.
    """

    def __init__(self, rows: Mapping[str, Sequence[str]]) -> None:
        self.rows = {name: [*tokens] for name, tokens in rows.items()}

    def _repr_html_(self) -> str:
        longest = max(map(len, self.rows.values()), default=0)
        body = ""
        for name, tokens in self.rows.items():
            head = f'<th scope="row" style="text-align:left;padding:3px 10px;color:{INK}">{escape(name)}</th>'
            cells = "".join(map(cell, tokens)) + "<td></td>" * (longest - len(tokens))
            body += f'<tr style="background:{GROUND}">{head}{cells}</tr>'
        return (
            f'<div style="overflow-x:auto"><table style="border-collapse:collapse"><tbody>{body}</tbody></table></div>'
        )

    def __repr__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*padded(self.rows.values()), strict=True)]
        first = max(map(len, self.rows), default=0)
        return "\n".join(
            f"{name:{first}}  " + " ".join(f"{token:{width}}" for token, width in zip(tokens, widths, strict=True))
            for name, tokens in zip(self.rows, padded(self.rows.values()), strict=True)
        )


def cell(token: str) -> str:
    """One token."""
    colour = {"PAD": FAINT, "BOS": ACCENT, "EOS": ACCENT}.get(token, INK)
    style = f"text-align:center;padding:3px 7px;border:1px solid {EDGE};color:{colour};font-size:12px"
    return f'<td style="{style}">{escape(token)}</td>'


def padded(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The rows, equally long."""
    longest = max(map(len, rows), default=0)
    return [[*row, *[""] * (longest - len(row))] for row in rows]
