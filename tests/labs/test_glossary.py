"""The glossary: short, in each lab's folder and above them, and linked where a lab or the lectures first use a term.

Those who work through lectures and labs in order meet no definition that leans on a term to come, and find what a lab
says that it needs of an earlier one there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import nbformat
import pytest
from labs_under_test import COURSE, LABS, OURS

from autograde.labs.description import read_description
from autograde.labs.folder import Lab
from autograde.lectures.notebooks import find_lectures, read
from autograde.making.build import build

GLOSSARY = COURSE / "solutions" / "GLOSSARY.md"
ENTRIES = dict(re.findall(r"^### (.+)\n((?:[^#\n].*\n?)+)", GLOSSARY.read_text(), re.MULTILINE))
LINK = re.compile(r"\]\((?:\.\./\.\./labs/)?GLOSSARY\.md#([\w-]+)\)")
# Not prose: code, formulas, headings, HTML, titles of labs, and the addresses of links.
NOT_PROSE = (
    r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|^#+ [^\n]*|<[^>]*>|"
    r"(?<![*])\*[A-Z][^*\n]*(?:\n[^*\n]*)?\*(?![*])|(?<=\])\([^)]*\)"
)
NOT_PROSE_FLAGS = re.DOTALL | re.MULTILINE
# The notebooks that the table of lectures names: each lecture, and behind it its labs.
TABLE = re.findall(r"\]\((?:\S*/)?(\w+)\.ipynb\)", (COURSE / "course" / "lectures" / "index.md").read_text())
# A term may be used in one lab only: where that is left out, nothing links the term.
with_all_labs = pytest.mark.skipif(
    bool({*TABLE} - {each.name for each in (*find_lectures(COURSE), *LABS)}),
    reason="the lectures name labs that this course does not have",
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


@cache
def lectures() -> dict[str, str]:
    """All that each lecture says in Markdown, by name, in their order."""
    texts = {}
    for lecture in find_lectures(COURSE):
        cells = [cell.source for cell in read(lecture).cells if cell.cell_type == "markdown"]
        texts[lecture.name] = "\n\n".join(cells)
    return texts


@cache
def in_order() -> dict[str, str]:
    """The texts of lectures and labs by name, as their table orders them: a lecture comes before its labs."""
    texts = lectures() | {lab.name: text_of(lab) for lab in LABS}
    placed = reversed(dict.fromkeys(reversed(TABLE)))  # a lab comes behind the last lecture that names it
    return {name: texts[name] for name in placed if name in texts}


def links(text: str) -> dict[str, int]:
    """Where each term is linked first, by the end of the link's address."""
    return {found[1]: found.start() for found in reversed(list(LINK.finditer(text)))}


def late(terms: Iterable[str], text: str) -> dict[str, str]:
    """The terms that `text` uses before it links them, with what is around the first use."""
    linked, found = links(text), {}
    for term in terms:
        used = first_use(term, text)
        # The link's end comes right behind the word that it is on.
        if used is not None and linked.get(anchor(term), len(text)) > used + len(term) + 3:
            found[term] = text[max(0, used - 40) : used + 40]
    return found


def first_use(term: str, text: str) -> int | None:
    """Where the prose of `text` first has the term, also with a plural's s; longer terms that contain it count not."""

    def blank(match: re.Match) -> str:
        return " " * len(match[0])

    code_too = "_" in term  # a name that is always written as code
    prose = re.sub(NOT_PROSE.replace("|`[^`]*`", "") if code_too else NOT_PROSE, blank, text, flags=NOT_PROSE_FLAGS)
    for longer in ENTRIES:
        if term != longer and term.lower() in longer.lower():
            prose = word(longer).sub(blank, prose)
    found = word(term).search(prose)
    return found.start() if found else None


def word(term: str) -> re.Pattern:
    """A term in running text: any case, but of names as ZeRO; a plural's s, a line break or a hyphen for a blank."""
    words = re.sub(r"[ -]", lambda _: r"[\s-]*", term)
    as_written = re.search(r"[a-z][A-Z]|_", term)
    return re.compile(rf"(?<![\w-]){words}(?:e?s)?(?![\w-])", 0 if as_written else re.IGNORECASE)


def test_it_has_some_dozen_terms_in_two_lines_each():
    assert 25 <= len(ENTRIES) <= 90
    assert len(ENTRIES) == GLOSSARY.read_text().count("\n### ")
    for term, lines in ENTRIES.items():
        assert 1 <= len(lines.strip().splitlines()) <= 2, term


@each_of_ours
def test_a_lab_links_each_term_where_it_first_uses_it(lab):
    assert late(ENTRIES, text_of(lab)) == {}


def test_a_term_that_lectures_link_is_linked_in_the_first_lecture_that_uses_it():
    linked = {each for text in lectures().values() for each in links(text)}
    new = [term for term in ENTRIES if anchor(term) in linked]
    unlinked = {}
    for name, text in lectures().items():
        used = [term for term in new if first_use(term, text) is not None]
        unlinked |= {(name, term): around for term, around in late(used, text).items()}
        new = [term for term in new if term not in used]
    assert unlinked == {}


@each_of_ours
def test_a_lab_says_what_a_rank_is_before_its_first_todo(lab):
    cells = nbformat.reads(build(lab).student[lab.notebook].content.decode(), as_version=4).cells
    first = next(number for number, cell in enumerate(cells) if cell.metadata.get("nbgrader", {}).get("solution"))
    opening = "\n".join(cell.source for cell in cells[:first])
    assert "GLOSSARY.md#rank)" in opening and re.search(
        r"process\s+(of\s+its\s+own|with\s+a\s+number)|processes", opening
    )


def met(term: str) -> str:
    """Which lecture or lab of the course links the term first."""
    return next(name for name, text in in_order().items() if anchor(term) in links(text))


@with_all_labs
def test_no_definition_leans_on_a_term_that_comes_later_only():
    places, order = [*in_order()], {term: met(term) for term in ENTRIES}
    leaning = [
        f"{term} ({order[term]}) on {other} ({order[other]})"
        for term, lines in ENTRIES.items()
        for other in ENTRIES
        if other != term
        and first_use(other, lines) is not None
        and places.index(order[other]) > places.index(order[term])
    ]
    assert leaning == []


def needed(lab: Lab) -> dict[str, str]:
    """What the lab says that it needs of each other lab, by two digits: "the all-reduce", with its links taken off."""
    described = read_description(lab.folder)
    needs = described.needs if described else {}
    return {number: re.sub(r"\]\([^)]*\)", "", what).replace("[", "") for number, what in needs.items()}


@each_lab
def test_what_a_lab_needs_of_an_earlier_one_stands_there(lab):
    earlier = {other.name[:2]: other for other in LABS}
    for number, what in needed(lab).items():
        if number not in earlier:  # this course leaves it out
            continue
        text = text_of(earlier[number])
        assert [term for term in ENTRIES if first_use(term, what) is not None and first_use(term, text) is None] == []
        calls = re.findall(r"`([\w.]+)`", what)
        assert [call for call in calls if call not in text + earlier[number].source.read_text()] == []


def linked_terms() -> set[str]:
    """The terms that lectures and labs link, by the ends of the links' addresses."""
    return {found for text in (*lectures().values(), *map(text_of, LABS)) for found in links(text)}


def test_no_link_leads_nowhere():
    assert linked_terms() <= {anchor(term) for term in ENTRIES}


@with_all_labs
def test_no_term_is_left_without_a_link():
    assert {anchor(term) for term in ENTRIES} - linked_terms() == set()


@each_of_ours
def test_each_lab_has_a_copy_and_so_has_the_folder_above(lab):
    assert build(lab).student["GLOSSARY.md"].content == GLOSSARY.read_bytes()
    assert Path(COURSE / "labs" / "GLOSSARY.md").read_bytes() == GLOSSARY.read_bytes()


def test_a_first_use_is_found_whatever_its_form():
    assert first_use("Batch", "# Batch\n`batch` *Batch and\nmore* two\nBatches") == 37
    assert first_use("Rank", "[local rank](x) local\nranks, a rank") == 31
    assert first_use("Batch", "a micro-batch, a global batch") is None
    assert first_use("no_sync", "sync, `no_sync`") == 7
