"""Readers may change what a lecture asks them to, and run a cell again: nothing stops, and a line says what changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from changes import CHANGES, Change
from nbclient import NotebookClient
from nbformat import NotebookNode

from autograde.labs.places import REPOSITORY
from autograde.lectures.notebooks import Lecture, find_lectures, read
from autograde.lectures.running import SECONDS
from course.claims import STRICT, text_says
from course.processes.kernels import over_files

LECTURES = find_lectures(REPOSITORY)
LINE = re.compile(r"\*Change:\* (?!means)((?:.+\n)+)")
QUOTED = re.compile(r'text_says\("(.*)"\)')
MARKUP = re.compile(r"[*`]")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def code(notebook: NotebookNode) -> list[str]:
    """The sources of the cells of code."""
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def plain(text: str) -> str:
    """A text without its emphasis and the addresses of its links, on one line."""
    return " ".join(MARKUP.sub("", LINK.sub(r"\1", text)).split())


def edited(cells: list[str], change: Change) -> list[str]:
    """The cells after a change."""
    for old, new in change.edits:
        assert sum(cell.count(old) for cell in cells) == 1, f"{change.line}: {old}"
        cells = [cell.replace(old, new) for cell in cells]
    return cells


def of(lecture: Lecture) -> list[Change]:
    """The changes of a lecture, in the order of its text."""
    return [change for change in CHANGES if lecture.name.startswith(f"{change.lecture:02}_")]


@pytest.mark.parametrize("lecture", LECTURES, ids=lambda lecture: lecture.name)
def test_each_line_that_asks_for_a_change_has_an_edit_that_fits(lecture: Lecture) -> None:
    cells, lines = code(read(lecture)), LINE.findall(lecture.source.read_text(encoding="utf-8"))
    for change in of(lecture):
        assert edited(cells, change) != cells
    untried = [line for line in lines if not any(plain(line).startswith(plain(each.line)) for each in of(lecture))]
    assert untried == []
    assert [each.line for each in of(lecture) if not any(plain(each.line) in plain(line) for line in lines)] == []


@pytest.mark.parametrize("lecture", LECTURES, ids=lambda lecture: lecture.name)
def test_what_a_cell_checks_is_a_sentence_of_the_text(lecture: Lecture) -> None:
    notebook = read(lecture)
    text = plain(" ".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown"))
    quoted = [sentence for cell in code(notebook) for sentence in QUOTED.findall(cell)]
    assert quoted
    assert [sentence for sentence in quoted if plain(sentence) not in text] == []
    bare = [line for cell in code(notebook) for line in cell.splitlines() if line.startswith("assert")]
    assert bare == [], "where a change makes it false, it stops whoever runs all cells"


def test_a_sentence_that_no_longer_holds_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(STRICT, raising=False)
    with text_says("There are four."):
        assert len("abc") == 4
    with text_says("And a fifth."):
        {}["fifth"]
    with text_says("There are three."):
        assert len("abc") == 3
    first, second = capsys.readouterr().out.splitlines()
    assert "“There are four.”" in first and "“And a fifth.”" in second


def test_where_the_site_is_built_such_a_sentence_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STRICT, "1")
    with pytest.raises(AssertionError, match=r"the text says: There are four. \(3\)"), text_says("There are four."):
        raise AssertionError(len("abc"))


@contextmanager
def kernel(lecture: Lecture) -> Iterator[Callable[[str], str]]:
    """Runs sources in a kernel of the lecture's own, as a reader does; what they print. Fails if one of them fails."""
    notebook = read(lecture)
    notebook.cells = notebook.cells[:1]
    (cell,) = notebook.cells
    cell.cell_type = "code"
    with TemporaryDirectory(prefix="lecture-") as folder:
        settings = {"timeout": SECONDS, "allow_errors": True, "config": over_files(Path(folder))}
        client = NotebookClient(notebook, kernel_name="python3", **settings)
        client.resources["metadata"] = {"path": str(lecture.source.parent)}

        def run(source: str) -> str:
            cell.update(source=source, outputs=[], execution_count=None)
            client.execute_cell(cell, 0)
            failed = [output for output in cell.outputs if output.output_type == "error"]
            assert failed == [], f"{source}\n{failed[0].ename}: {failed[0].evalue}"
            return "".join(output.text for output in cell.outputs if output.output_type == "stream")

        with client.setup_kernel():
            yield run


def survives(lecture: Lecture) -> None:
    """Runs each cell twice, in order; then, from the last change up, each change and all cells below it.

    So what a change leaves behind is made anew by the cells below the next one.
    """
    cells = code(read(lecture))
    with kernel(lecture) as run:
        for cell in cells:
            for _ in range(2):
                run(cell)
        for change in reversed(of(lecture)):
            changed = edited(cells, change)
            first = next(number for number, (old, new) in enumerate(zip(cells, changed, strict=True)) if old != new)
            said = "".join(run(cell) for cell in changed[first:])
            assert [sentence for sentence in change.told if sentence not in said] == [], change.line


@pytest.mark.thorough
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("lecture", LECTURES, ids=lambda lecture: lecture.name)
def test_a_lecture_survives_its_changes_and_a_second_run_of_each_cell(lecture: Lecture) -> None:
    survives(lecture)
