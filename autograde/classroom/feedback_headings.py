"""Names the TODO where nbgrader's page of feedback says "Test cell" of each check, and lets everybody read the page."""

from __future__ import annotations

import re

# In the list of scores at the top, and above a cell. The cell of a check is called after its TODO.
LISTED = re.compile(r'(<a href="#([^"<>]+)-check">)Test cell</a>')
WRITTEN = re.compile(r'(<a href="#([^"<>]+)">)Written response</a>')
ABOVE = re.compile(r'(<span class="nbgrader-label">)Grade cell: <code>([^<>]+)-check</code>')


STYLE = """<style>
a { color: #1a5a94; }
p a, li a, td a { text-decoration: underline; }
a.anchor-link { display: none; }
div.nbgrader_cell .panel-heading a { color: inherit; text-decoration: underline; }
div.input_area, div.input_area .highlight, div.input_area pre, div.text_cell pre { background: white; }
@media (max-width: 800px) {
  div.prompt { min-width: 0; padding: 0; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
}
</style>
"""


def accessible(head: str) -> str:
    """The page's head with a language, and a style that has enough contrast and fits narrow windows."""
    return head.replace("<html>", '<html lang="en">', 1).replace("</head>", f"{STYLE}</head>", 1)


def with_headings(body: str) -> str:
    """The page's body with the name of the TODO, or of the text, in each heading; and with a landmark."""
    body = body.replace(
        '<div class="panel-heading">', '<div class="panel-heading" role="navigation" aria-label="Scores">', 1
    )
    body = LISTED.sub(r"\1<code>\2</code></a>", body)
    body = WRITTEN.sub(r"\1Written response <code>\2</code></a>", body)
    return ABOVE.sub(r"\1Check of <code>\2</code>", body)
