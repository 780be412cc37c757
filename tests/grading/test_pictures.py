"""Pictures in answers reach whoever reads them, and nothing that a student writes keeps a page from being made."""

from __future__ import annotations

import base64
import copy
import json
import random
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from classroom import Classroom
from hypothesis import given, settings
from hypothesis import strategies as st
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from nbgrader.server_extensions.formgrader.formgrader import FormgradeExtension
from small_course import LAB, LAB_PY, make_course

from autograde.classroom.configuration import configure
from autograde.classroom.submissions.elsewhere import Elsewhere
from autograde.classroom.submissions.rebuild import MAX_SOURCE, Rebuilt, rebuild
from autograde.classroom.submissions.submission import HandedIn, with_work
from autograde.classroom.texts.formulas import LONGEST, LONGEST_CODE, UNREAD, code_to_html, markdown_to_html
from autograde.labs.folder import find_lab
from autograde.making.build import instructor_notebook, release
from course.exchange.limits import MAX_PICTURE

QUESTION = '\n# %% [markdown] answer="why" points=2\n# The model answer.\n'
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n a picture").decode()
OTHER = base64.b64encode(b"\x89PNG\r\n\x1a\n another one").decode()


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> NotebookNode:
    """A lab with a question, as students get it."""
    return release(
        instructor_notebook(find_lab(make_course(tmp_path_factory.mktemp("course"), LAB_PY + QUESTION), LAB))
    )


def answered(released: NotebookNode, *cells: tuple[str, object]) -> bytes:
    """The lab with the question answered in one cell or in several: the text and the attachments of each."""
    notebook = json.loads(json.dumps(released))
    (index,) = (index for index, cell in enumerate(notebook["cells"]) if cell["id"] == "why")
    blank = notebook["cells"].pop(index)
    for number, (text, attachments) in enumerate(cells):
        cell = copy.deepcopy(blank) | {"source": text, "attachments": attachments}
        notebook["cells"].insert(index + number, cell | ({"id": f"part-{number}"} if number else {}))
    return json.dumps(notebook).encode()


def answer(rebuilt: Rebuilt) -> NotebookNode:
    """The cell of the answer that is graded."""
    nbformat.validate(rebuilt.notebook)
    return next(cell for cell in rebuilt.notebook.cells if cell.id == "why")


def shown(cell: NotebookNode, folder: Path | None = None) -> BeautifulSoup:
    """An answer as a page shows it."""
    resources = {"metadata": {"path": str(folder)}} if folder else {}
    return BeautifulSoup(markdown_to_html({"cell": cell, "resources": resources}, cell.source), "html.parser")


def pictures(cell: NotebookNode, folder: Path | None = None) -> list[str]:
    """The addresses of an answer's pictures on a page."""
    return [image["src"] for image in shown(cell, folder)("img")]


def written(text: str) -> NotebookNode:
    """A student's answer."""
    return nbformat.v4.new_markdown_cell(text, metadata={"nbgrader": {"solution": True}})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("6f2c.png", "![image.png](attachment:6f2c.png)"),
        ("my drawing (1).png", "![](attachment:my%20drawing%20(1).png)"),
        ("my drawing (1).png", "![](<attachment:my drawing (1).png>)"),
        ("Skizze-ä.png", "![](attachment:Skizze-ä.png)"),
        ("Skizze-a\u0308.png", "![](attachment:Skizze-%C3%A4.png)"),
        ("a.png", '<img src="attachment:a.png" width="300">'),
        ("a.png", "![of this][ref]\n\n[ref]: attachment:a.png"),
        ("a.png", "<center>\n<img width=300 src='attachment:a.png'/>\n</center>"),
    ],
)
def test_a_pasted_picture_is_on_the_page(released, name, text):
    rebuilt = rebuild(released, answered(released, (f"See: {text}", {name: {"image/png": PNG}})), LAB)
    assert rebuilt.problems == [] and rebuilt.manual is None
    assert pictures(answer(rebuilt)) == [f"data:image/png;base64,{PNG}"]
    assert not shown(answer(rebuilt))("mark")


def test_a_picture_that_is_written_into_the_text_does_not_count_as_text(released):
    large = base64.b64encode(random.Random(1).randbytes(MAX_SOURCE)).decode()
    rebuilt = rebuild(released, answered(released, (f"![a](data:image/png;base64,{large}) and more", None)), LAB)
    assert rebuilt.problems == [] and "and more" in answer(rebuilt).source
    assert pictures(answer(rebuilt)) == [f"data:image/png;base64,{large}"]


def test_all_parts_of_a_split_answer_are_there_with_their_pictures(released):
    texts = {PNG: "One: ![](attachment:image.png)", OTHER: "Two: ![](attachment:image.png)"}
    parts = [(text, {"image.png": {"image/png": data}}) for data, text in texts.items()]
    rebuilt = rebuild(released, answered(released, *parts), LAB)
    assert pictures(answer(rebuilt)) == [f"data:image/png;base64,{data}" for data in (PNG, OTHER)]
    assert "One" in answer(rebuilt).source and "Two" in answer(rebuilt).source
    (problem,) = rebuilt.problems
    assert "split into 2; they are graded together" in problem


def test_a_draft_that_a_later_copy_says_again_is_not_shown_twice(released):
    draft, final = ("Two are faster.", None), ("Two are faster. ![](attachment:a.png)", {"a.png": {"image/png": PNG}})
    rebuilt = rebuild(released, answered(released, draft, final), LAB)
    assert answer(rebuilt).source == final[0] and len(pictures(answer(rebuilt))) == 1
    assert "is there 2 times" in rebuilt.problems[0]


def test_only_pictures_are_taken_and_what_is_left_out_is_named(released):
    bad = {
        "page": {"text/html": "<script>alert(1)</script>"},
        "list": {"image/png": [1, 2]},
        "text": "image/png",
        "damaged": {"image/png": "not base 64!"},
        "empty": {},
        "half\ud800": {"image/png": 7},
    }
    text = " ".join(f"![](attachment:{name})" for name in bad)
    rebuilt = rebuild(released, answered(released, (text, bad | {"unused": {"image/png": PNG}})), LAB)
    assert "attachments" not in answer(rebuilt)
    assert len([line for line in rebuilt.problems if "is left out: it is no picture" in line]) == len(bad)
    assert len(shown(answer(rebuilt))("mark")) == len(bad) and not shown(answer(rebuilt))("script")


def test_pictures_are_bounded_in_all(released):
    part = "A" * (MAX_PICTURE // 2 // 4 * 4 + 4)
    both = {name: {"image/png": [part]} for name in "ab"}
    rebuilt = rebuild(released, answered(released, ("![](attachment:a) ![](attachment:b)", both)), LAB)
    assert [*answer(rebuilt).attachments] == ["a"]
    assert "picture `b` is left out: the answer's pictures have more than 20 MB" in rebuilt.problems[0]


@pytest.mark.parametrize("attachments", [None, [], "x", 7, {"a.png": None}, {"": {"image/png": PNG}}, {"a.png": [PNG]}])
def test_attachments_of_any_kind_do_no_harm(released, attachments):
    rebuilt = rebuild(released, answered(released, ("See ![](attachment:a.png)", attachments)), LAB)
    assert answer(rebuilt).source == "See ![](attachment:a.png)"
    assert "a.png" in shown(answer(rebuilt)).find("mark").text


def test_two_notebooks_that_differ_in_a_picture_are_not_the_same(released):
    text = "See ![](attachment:a.png)"
    both = [answered(released, (text, {"a.png": {"image/png": data}})) for data in (PNG, OTHER)]
    others = tuple(Elsewhere(f"{number}.ipynb", raw) for number, raw in enumerate(both))
    assert "2 other notebooks were handed in" in with_work(released, HandedIn(None, others), LAB).manual
    assert with_work(released, HandedIn(None, others[:1]), LAB).manual is None


def test_answers_in_words_are_work_wherever_they_are(released):
    only = Elsewhere("copy.ipynb", answered(released, ("Only words.", None)))
    found = with_work(released, HandedIn(json.dumps(released).encode(), (only,)), LAB)
    assert answer(found).source == "Only words." and "`copy.ipynb` is graded in its place" in found.problems[0]


def test_an_answer_that_is_too_long_is_cut_off_and_not_lost(released):
    rebuilt = rebuild(released, answered(released, ("word " * MAX_SOURCE, None)), LAB)
    assert len(answer(rebuilt).source) == MAX_SOURCE and "it is cut off after 100,000" in rebuilt.problems[0]


def test_a_picture_beside_the_notebook_is_on_the_page_and_nothing_else_is_read(tmp_path):
    folder = tmp_path / "work"
    (folder / "my pictures").mkdir(parents=True)
    (folder / "my pictures" / "a.png").write_bytes(b"a picture")
    (folder / "notes.txt").write_text("notes")
    (tmp_path / "secret.png").write_bytes(b"secret")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    there = ["my%20pictures/a.png", "./my%20pictures/a.png", "<my pictures\\\\a.png>"]
    cell = written(" ".join(f"![]({address})" for address in there))
    data = f"data:image/png;base64,{base64.b64encode(b'a picture').decode()}"
    assert pictures(cell, folder) == [data] * len(there)
    others = ["../secret.png", "link.png", f"{tmp_path}/secret.png", "file:///etc/a.png", "gone.png", "notes.txt"]
    cell = written(" ".join(f"![]({address})" for address in [*others, "https://elsewhere.example/a.png", "//[a"]))
    assert len(shown(cell, folder)("mark")) == len(others) + 2 and "base64" not in str(shown(cell, folder))
    assert not shown(nbformat.v4.new_markdown_cell(cell.source), folder)("mark"), "it is the lab's own text"


MARKUP = [*"$\\[](){}<>!*_`~|#&;:\n", "attachment:", "<img src=", "\\begin{a}", "    "]
HOSTILE = [
    "![x](attachment:x.png)",
    "> " * MAX_SOURCE,
    '"' * MAX_SOURCE,
    "- " * 20_000,
    "\\\\[" * 10_000,
    "\\begin{a}" * 10_000,
    "$" + "{" * 40_000 + "$",
    f"${'x' * (LONGEST + 1)}$",
    '<img "' * 15_000,
    "<div>" * 10_000,
    "\ud800 ![](attachment:\ud800)",
    "![](http://[)",
    "```" + "a" * 500 + "\n" + "a." * 40_000 + "\n```",
    "\0\x01\x1b",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_is_written_there_is_a_page(text):
    page = markdown_to_html({"cell": written(text)}, text)
    assert page and (UNREAD not in page or "<pre>" in page)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.lists(st.one_of(st.sampled_from(MARKUP), st.text())).map("".join),
    st.one_of(st.none(), st.dictionaries(st.text(), st.dictionaries(st.text(), st.text()))),
)
def test_any_text_with_any_attachments_is_a_page(text, attachments):
    markdown_to_html({"cell": {"attachments": attachments, "metadata": {}}}, text)


def test_long_code_is_shown_without_colours():
    assert "<span" in code_to_html("import os") and "<span" not in code_to_html("a." * LONGEST_CODE)


def test_a_class_with_pictures_is_graded_and_who_has_no_page_is_named(tmp_path):
    room = Classroom(make_course(tmp_path / "course", LAB_PY + QUESTION), LAB)
    assert room.lockstep("build").exit_code == 0
    with_picture = answered(room.released(), ("![](attachment:a.png)", {"a.png": {"image/png": PNG}}))
    room.put("ada", with_picture)
    room.put("bob", answered(room.released(), ("![](attachment:gone.png) ![](beside.png)", None)))
    (room.root / "class" / "submitted" / "bob" / LAB / "beside.png").write_bytes(b"beside")
    result = room.grade()
    assert result.exit_code == 0, result.output
    config = FormgradeExtension().build_extra_config()
    configure(config, room.root)
    path = room.root / "class" / "autograded" / "ada" / LAB / f"{LAB}.ipynb"
    formgrader, _ = HTMLExporter(config=config).from_filename(str(path), {"base_url": "", "index": 0, "total": 1})
    for page in (formgrader, room.feedback("ada")):
        assert [image["src"] for image in BeautifulSoup(page, "html.parser")("img")] == [f"data:image/png;base64,{PNG}"]
    page = BeautifulSoup(room.feedback("bob"), "html.parser")
    assert "gone.png is not shown: it is not in the notebook" in page.find("mark").text
    assert page.img["src"] == f"data:image/png;base64,{base64.b64encode(b'beside').decode()}"

    with room.gradebook() as gradebook:
        grade = gradebook.find_grade("why", LAB, LAB, "ada")
        assert grade.needs_manual_grade
        grade.manual_score, grade.needs_manual_grade = 2, False
        gradebook.db.commit()
    room.put("ada", with_picture.replace(PNG.encode(), OTHER.encode()))
    assert room.grade().exit_code == 0
    assert f"data:image/png;base64,{OTHER}" in room.feedback("ada")
    with room.gradebook() as gradebook:
        assert gradebook.find_grade("why", LAB, LAB, "ada").needs_manual_grade, "the answer is another one"
    (room.root / "class" / "feedback" / "bob" / LAB / f"{LAB}.html").unlink()
    room.exchange.mkdir()
    said = room.nbgrader("release_feedback", LAB).stderr
    assert (
        f"bob: no feedback is released, as there is none of the last grading; `lockstep grade {LAB}` writes it" in said
    )
    assert "ada: no feedback" not in said
