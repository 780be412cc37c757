"""Names the TODO where nbgrader's page of feedback says "Test cell" of every check."""

from __future__ import annotations

import re

# In the list of scores at the top, and above a cell. The cell of a check is called after its TODO.
LISTED = re.compile(r'(<a href="#([^"<>]+)-check">)Test cell</a>')
WRITTEN = re.compile(r'(<a href="#([^"<>]+)">)Written response</a>')
ABOVE = re.compile(r'(<span class="nbgrader-label">)Grade cell: <code>([^<>]+)-check</code>')


def with_headings(body: str) -> str:
    """The page's body with the name of the TODO, or of the text, in each heading."""
    body = LISTED.sub(r"\1<code>\2</code></a>", body)
    body = WRITTEN.sub(r"\1Written response <code>\2</code></a>", body)
    return ABOVE.sub(r"\1Check of <code>\2</code>", body)
