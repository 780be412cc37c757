"""The glossary: short, in each lab's folder and above them, and linked where a lab first uses a term.

Who works through the labs in order meets no definition that leans on a term to come, and finds what a lab says that it
needs of an earlier one there.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import nbformat
import pytest
from labs_under_test import COURSE, LABS, OURS

from autograde.build import build
from autograde.contract.labs import Lab
from autograde.course_map import place

GLOSSARY = COURSE / "solutions" / "GLOSSARY.md"
ENTRIES = dict(re.findall(r"^### (.+)\n((?:[^#\n].*\n?)+)", GLOSSARY.read_text(), re.MULTILINE))
LINK = re.compile(r"\]\(GLOSSARY\.md#([a-z-]+)\)")
# Not prose: code, formulas, headings, HTML, titles of labs, and the addresses of links.
NOT_PROSE = (
    r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|^#+ [^\n]*|<[^>]*>|"
    r"(?<![*])\*[A-Z][^*\n]*(?:\n[^*\n]*)?\*(?![*])|(?<=\])\([^)]*\)"
)
each_lab = pytest.mark.parametrize("lab", LABS, ids=[lab.name for lab in LABS])
each_of_ours = pytest.mark.parametrize("lab", OURS, ids=[lab.name for lab in OURS])


def anchor(term: str) -> str:
    """The end of a link to a term."""
    return term.lower().replace(" ", "-")


@cache
def text_of(lab: Lab) -> str:
    """All that the lab's notebook says in Markdown, as students get it."""
    cells = nbformat.reads(build(lab).student[lab.notebook].content.decode(), as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def first_use(term: str, text: str) -> int | None:
    """Where the prose of `text` first has the term, also with a plural's s; longer terms that contain it count not."""

    def blank(match: re.Match) -> str:
        return " " * len(match[0])

    prose = re.sub(NOT_PROSE, blank, text, flags=re.DOTALL | re.MULTILINE)
    for longer in ENTRIES:
        if term != longer and term.lower() in longer.lower():
            prose = word(longer).sub(blank, prose)
    found = word(term).search(prose)
    return found.start() if found else None


def word(term: str) -> re.Pattern:
    """A term in running text: any case, but of names as ZeRO; a plural's s, a line break or a hyphen for a blank."""
    words = re.sub(r"[ -]", lambda _: r"[\s-]*", term)
    as_written = re.search(r"[a-z][A-Z]", term)
    return re.compile(rf"(?<![\w-]){words}(?:e?s)?(?![\w-])", 0 if as_written else re.IGNORECASE)


def test_it_has_some_dozen_terms_in_two_lines_each():
    assert 25 <= len(ENTRIES) <= 60
    assert len(ENTRIES) == GLOSSARY.read_text().count("\n### ")
    for term, lines in ENTRIES.items():
        assert 1 <= len(lines.strip().splitlines()) <= 2, term


@each_of_ours
def test_a_lab_links_each_term_where_it_first_uses_it(lab):
    text = text_of(lab)
    links = {found[1]: found.start() for found in reversed(list(LINK.finditer(text)))}
    late = {}
    for term in ENTRIES:
        used = first_use(term, text)
        # The link's end comes right behind the word that it is on.
        if used is not None and links.get(anchor(term), len(text)) > used + len(term) + 3:
            late[term] = text[max(0, used - 40) : used + 40]
    assert late == {}


@each_of_ours
def test_a_lab_says_what_a_rank_is_before_its_first_todo(lab):
    cells = nbformat.reads(build(lab).student[lab.notebook].content.decode(), as_version=4).cells
    first = next(number for number, cell in enumerate(cells) if cell.metadata.get("nbgrader", {}).get("solution"))
    opening = "\n".join(cell.source for cell in cells[:first])
    assert "GLOSSARY.md#rank)" in opening and re.search(
        r"process\s+(of\s+its\s+own|with\s+a\s+number)|processes", opening
    )


def met(term: str) -> int | None:
    """Which lab of the course, counted from 0, has the term first; None if none has."""
    return next((number for number, lab in enumerate(LABS) if first_use(term, text_of(lab)) is not None), None)


@pytest.mark.skipif(len(LABS) < 12, reason="this course has some of the labs only")
def test_no_definition_leans_on_a_term_that_comes_in_a_later_lab_only():
    order = {term: met(term) for term in ENTRIES}
    leaning = [
        f"{term} ({LABS[order[term]].name}) on {other} ({LABS[order[other]].name})"
        for term, lines in ENTRIES.items()
        for other in ENTRIES
        if other != term and first_use(other, lines) is not None and order[other] > order[term]
    ]
    assert leaning == []


def needed(lab: Lab) -> dict[str, str]:
    """What the lab says that it needs of each other lab, by two digits: "the all-reduce", with its links taken off."""
    plain = re.sub(r"\]\([^)]*\)", "", place(lab).needs).replace("[", "")
    parts = re.split(r"\bof lab (\d\d)( \([^)]*\))?", plain)
    triples = zip(parts[::3], parts[1::3], parts[2::3], strict=False)
    return {number: what + (more or "") for what, number, more in triples}


@each_lab
def test_what_a_lab_needs_of_an_earlier_one_stands_there(lab):
    earlier = {other.name[:2]: other for other in LABS}
    assert list(needed(lab)) == place(lab).builds_on, "`of lab NN`, for each of them"
    for number, what in needed(lab).items():
        if number not in earlier:  # this course leaves it out
            continue
        text = text_of(earlier[number])
        assert [term for term in ENTRIES if first_use(term, what) is not None and first_use(term, text) is None] == []
        calls = re.findall(r"`([\w.]+)`", what)
        assert [call for call in calls if call not in text + earlier[number].source.read_text()] == []


def test_no_link_leads_nowhere_and_no_term_is_left_without_one():
    linked = {found for lab in LABS for found in LINK.findall(text_of(lab))}
    assert linked <= {anchor(term) for term in ENTRIES}
    assert {anchor(term) for term in ENTRIES} - linked == set()


@each_of_ours
def test_each_lab_has_a_copy_and_so_has_the_folder_above(lab):
    assert build(lab).student["GLOSSARY.md"].content == GLOSSARY.read_bytes()
    assert Path(COURSE / "labs" / "GLOSSARY.md").read_bytes() == GLOSSARY.read_bytes()


def test_a_first_use_is_found_whatever_its_form():
    assert first_use("Batch", "# Batch\n`batch` *Batch and\nmore* two\nBatches") == 37
    assert first_use("Rank", "[local rank](x) local\nranks, a rank") == 31
    assert first_use("Batch", "a micro-batch, a global batch") is None
