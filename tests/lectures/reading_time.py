"""How long a lecture takes, by the rule of docs/lecture_authors.md."""

from __future__ import annotations

import re

WORDS, LINES = 130, 20  # of prose, and of code, that a reader gets through in a minute
SHOWN, CHANGE = 0.25, 2.5  # minutes for what a cell shows, and for a change with all that it leads to
STEP = 5  # minutes: times are rounded to so many
BLOCK = re.compile(r"^```(?P<kind>\S+)\n(?P<tags>:tags: \[.*\]\n)?(?P<code>(?:.*\n)*?)```\n", re.MULTILINE)


def minutes(text: str) -> tuple[int, int]:
    """Minutes to read a lecture's text, without its head and its sources; and those with its changes."""
    body = text.split("---\n", 2)[-1].split("\n## Sources\n")[0]
    blocks = [match for match in BLOCK.finditer(body) if "remove-cell" not in (match["tags"] or "")]
    prose = re.sub(r"\]\([^)]*\)", "]", BLOCK.sub("", body))
    words = len(re.findall(r"[^\W_][\w'’-]*", prose))
    lines = sum(bool(line.strip()) for match in blocks if not match["tags"] for line in match["code"].splitlines())
    cells = sum(match["kind"] == "{code-cell}" for match in blocks)
    changes = len(re.findall(r"\*Change:\* (?!means)", prose))
    reading = words / WORDS + lines / LINES + SHOWN * cells
    return rounded(reading), rounded(reading + CHANGE * changes)


def rounded(minutes: float) -> int:
    """To whole steps."""
    return STEP * round(minutes / STEP)
