"""Writes CSV files that a spreadsheet opens without running anything in them.

A cell that begins with "=" is a formula to a spreadsheet, and students choose names, ids and file names. So text gets
an apostrophe in front where it would be one, as OWASP advises: https://owasp.org/www-community/attacks/CSV_Injection
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from course.files import write_whole

FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]")
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?")


def defused(text: str) -> str:
    """The text of a cell, with an apostrophe in front if a spreadsheet would take it for a formula."""
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def write_csv_file(path: Path, rows: Iterable[Sequence[object]]) -> None:
    """Write rows in UTF-8, in place of an older file. None is an empty cell. Raises OSError."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    for row in rows:
        writer.writerow(["" if cell is None else defused(str(cell)) for cell in row])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.getvalue().encode("utf-8", "replace"))
