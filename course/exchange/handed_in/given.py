"""What an instructor gave back on something handed in: the page of feedback in the exchange, and the score on it."""

from __future__ import annotations

import re
from pathlib import Path

from nbgrader.utils import notebook_hash

SCORE = re.compile(r"<h4>[^<]* \(Score: ([\d.]+) / ([\d.]+)\)</h4>")  # as nbgrader's page of feedback has it
PENALTY = re.compile(r'class="late-penalty">[^<]*\(Score: -([\d.]+)\)')


def released_page(root: Path, course: str, lab: str, secret: str) -> Path:
    """Where the exchange at `root` has the feedback on what was handed in with this secret."""
    return root / course / "feedback" / f"{notebook_hash(secret=secret, notebook_id=lab)}.html"


def score(page: str) -> tuple[float | None, float | None, float]:
    """The score after the late penalty, the points and the penalty on a page of feedback; None where it has none."""
    found, late = SCORE.search(page), PENALTY.search(page)
    penalty = float(late[1]) if late else 0.0
    return (max(0.0, float(found[1]) - penalty), float(found[2]), penalty) if found else (None, None, penalty)


def graded(root: Path, course: str, lab: str, secret: str) -> str:
    """What was given back, as "graded 13.5 of 14"; empty if nothing was."""
    if not secret:
        return ""
    try:
        page = released_page(root, course, lab, secret).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    points, most, _ = score(page)
    return "graded" if points is None else f"graded {points:g} of {most:g}"
