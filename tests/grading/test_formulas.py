"""Formulas in feedback and in the formgrader are drawn, and need nothing from another host."""

from __future__ import annotations

import re

import nbformat
import pytest
from bs4 import BeautifulSoup
from classroom import Classroom
from labs_under_test import COURSE, LABS, OURS
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from nbgrader.server_extensions.formgrader.formgrader import FormgradeExtension
from small_course import LAB, LAB_PY, make_course

from autograde.classroom.configuration import configure
from autograde.classroom.texts.formulas import mathml
from autograde.labs.folder import Lab
from autograde.making.build import build

FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$]+\$", re.DOTALL)
TRACKER = "https://elsewhere.example/seen.png"


def formgrader_page(notebook: NotebookNode) -> BeautifulSoup:
    """The notebook as the formgrader shows it."""
    config = FormgradeExtension().build_extra_config()
    configure(config, COURSE)
    page, _ = HTMLExporter(config=config).from_notebook_node(notebook, {"base_url": "", "index": 0, "total": 1})
    return BeautifulSoup(page, "html.parser")


def text_of(page: BeautifulSoup) -> str:
    """The page's text, without code."""
    for part in page(["pre", "code", "script", "style"]):
        part.decompose()
    return page.get_text()


@pytest.mark.sample(3)
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_every_formula_of_a_lab_is_drawn(lab: Lab) -> None:
    notebook = nbformat.reads(build(lab).student[lab.notebook].content.decode(), as_version=4)
    prose = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    written = FORMULA.findall(prose)
    page = formgrader_page(notebook)
    assert len(page("math")) == len(written)
    assert written or lab not in OURS
    text = text_of(page)
    assert "$" not in text and not re.search(r"\\[a-zA-Z]", text)


@pytest.mark.parametrize("tex", [r"\frac{1}{", r"x_", "{" * 5000, ""])
def test_what_is_no_tex_is_shown_as_it_was_written(tex: str) -> None:
    assert mathml(tex, "inline") == f"<code>{tex}</code>"


@pytest.mark.parametrize("tex", [r"\text{<script>alert(1)</script>}", r"\text{&lt;script>alert(1)&lt;/script>}", "<b_"])
def test_a_formula_brings_no_html_of_its_own(tex: str) -> None:
    drawn = BeautifulSoup(mathml(tex, "block"), "html.parser")
    assert not drawn(["script", "b_"])


@pytest.mark.thorough
def test_feedback_asks_no_other_host(tmp_path) -> None:
    text = f"The mean is $\\bar g$:\n\n$$\\frac{{1}}{{N}} \\sum_r g_r$$\n\n![]({TRACKER})"
    room = Classroom(make_course(tmp_path / "course", LAB_PY.replace("# Now with ranks.", comment(text))), LAB)
    assert room.lockstep("build").exit_code == 0
    room.put("ada", room.released())
    assert room.grade().exit_code == 0
    page = BeautifulSoup(room.feedback("ada"), "html.parser")
    assert len(page("math")) == 2 and "$" not in text_of(page)
    assert not page.select("script[src], link[href]")
    assert [image["src"] for image in page("img")] == [TRACKER], "it is there, and the page keeps it from loading"
    (policy,) = page.select("meta[http-equiv=Content-Security-Policy]")
    assert "https:" not in policy["content"] and policy["content"].startswith("default-src 'self'")


def comment(text: str) -> str:
    """Lines of Markdown in a percent script."""
    return "\n".join(f"# {line}".rstrip() for line in text.splitlines())
